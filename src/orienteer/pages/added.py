"""What page hooks add to a page: links to follow, fields with values, tags.

`Added` is what one hook returns. `Additions` is what all hooks of a crawl made of a page, checked and put together;
fields and tags are kept with the page.
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

    `links` are canonical URLs. `is_whole`: no hook failed, so nothing is missing.
    """

    links: tuple[str, ...] = ()
    fields: dict[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    is_whole: bool = True

    def __bool__(self) -> bool:
        """Whether there is anything to keep besides the links, which are kept with the page's own."""
        return bool(self.fields or self.tags)

    def to_json(self) -> str:
        """Fields and tags as they are kept: the same text for the same additions."""
        return json.dumps({"fields": self.fields, "tags": self.tags}, separators=(",", ":"))

    @classmethod
    def of_json(cls, text: str) -> Additions:
        """ValueError, KeyError or TypeError where it is something else."""
        kept = json.loads(text)
        return cls(fields=dict(kept["fields"]), tags=tuple(map(str, kept["tags"])))
