"""What page hooks add to a page: links to follow, fields with values, tags.

`Added` is what one hook returns. `Additions` is the checked union of what all hooks of a crawl returned for a page;
fields and tags are stored with the page.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Value = str | int | float | bool | Sequence[str]


@dataclass(frozen=True, slots=True)
class Added:
    """What a page hook adds to a page.

    `links` are URLs, which may be relative to the page. `fields` have names in lower case, such as `price`, and are
    texts, numbers, truth values or lists of texts. `tags` are short texts.
    """

    links: Sequence[str] = ()
    fields: Mapping[str, Value] = field(default_factory=dict)
    tags: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Additions:
    """What the hooks of a crawl added to a page, one after the other.

    `links` are canonical URLs. `is_complete`: no hook failed, so nothing is missing.
    """

    links: tuple[str, ...] = ()
    fields: dict[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    is_complete: bool = True

    def __bool__(self) -> bool:
        """Whether there are fields or tags to store; links are stored with the page's own."""
        return bool(self.fields or self.tags)

    def to_json(self) -> str:
        """Return fields and tags as they are stored: the same text for the same additions."""
        return json.dumps({"fields": self.fields, "tags": self.tags}, separators=(",", ":"))

    @classmethod
    def of_json(cls, text: str) -> Additions:
        """Parse stored fields and tags; a ValueError, KeyError or TypeError if they are invalid."""
        stored = json.loads(text)
        return cls(fields=dict(stored["fields"]), tags=tuple(map(str, stored["tags"])))
