"""A page as a browser has shown it: the document at the end, and what cannot be read from that.

In an archive the document stands by itself, as HTML that anybody can open. What else is known of it stands in a comment
in front, so that it goes wherever the document goes.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

_HEAD = b"<!--orienteer "
_COMMENT = re.compile(rb"<!--orienteer (\{[^\n]*\})-->\n")
_MAX_LINKS = 10_000


class Shown(NamedTuple):
    """What a browser made of a page.

    `url` is where the page was at the end, `document` is HTML in UTF-8. `links` are those that the browser saw, among
    them client-side routes, links in frames, and windows that the page wanted to open. `redirect` is where
    a script led away to, or "". `n_clickable` things may lead to other pages if they are clicked, and are no links.
    `grows`: there was more to come with scrolling. `n_refused` requests of the page were not answered. `trouble` says
    why it was not shown to the end, or is "".
    """

    url: str
    document: bytes = b""
    links: tuple[str, ...] = ()
    redirect: str = ""
    n_clickable: int = 0
    grows: bool = False
    n_refused: int = 0
    trouble: str = ""


def archived_document(shown: Shown) -> bytes:
    """The document as it stands in the archive.

    >>> archived_document(Shown("http://example.org/", b"<p>shown"))
    b'<!--orienteer {"url": "http://example.org/"}-->\\n<p>shown'
    """
    facts = {name: value for name, value in shown._asdict().items() if value and name != "document"}
    text = json.dumps(facts).replace("--", "-\\u002d").replace(">", "\\u003e")  # which would end the comment
    return _HEAD + text.encode() + b"-->\n" + shown.document


def shown_of(document: bytes, url: str) -> Shown:
    """What a document in an archive says of the page at `url`, whoever put it there.

    >>> shown_of(archived_document(Shown("http://example.org/", b"<p>shown", n_clickable=3)), "").n_clickable
    3
    >>> shown_of(b"<p>by others", "http://example.org/") == Shown("http://example.org/", b"<p>by others")
    True
    """
    comment = _COMMENT.match(document)
    if comment is None:
        return Shown(url, document)
    try:
        facts = json.loads(comment[1])
    except (ValueError, RecursionError):
        return Shown(url, document)
    return Shown(
        url=_text(facts.get("url")) or url,
        document=document[comment.end() :],
        links=tuple(filter(None, map(_text, _list(facts.get("links")))))[:_MAX_LINKS],
        redirect=_text(facts.get("redirect")),
        n_clickable=_number(facts.get("n_clickable")),
        grows=bool(facts.get("grows")),
        n_refused=_number(facts.get("n_refused")),
        trouble=_text(facts.get("trouble")),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: Any) -> int:
    return value if isinstance(value, int) and 0 <= value < 1 << 31 else 0
