"""A page as rendered by a browser: the final document, and facts that it does not contain.

The archive stores the document as plain HTML. The other facts are stored as JSON in a comment before the document, so
that they are never separated from it.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

_HEAD = b"<!--orienteer "
_COMMENT = re.compile(rb"<!--orienteer (\{[^\n]*\})-->\n")
_MAX_LINKS = 10_000


class RenderedDocument(NamedTuple):
    """A page rendered by a browser. The names of the fields are stored in archives (see `archived_document`).

    `url` is the final URL, `document` is HTML in UTF-8. `links` include client-side routes, links in frames, and
    windows that the page tried to open. `redirect` is the target of a redirect by script, or "". `n_clickable` elements
    are not links but may open other pages when clicked. `grows`: further scrolling would load more. `n_refused`
    requests of the page were not fetched. `trouble` is the error that made the rendering incomplete, or "".
    `named_routes`: fragments without a leading slash are routes, too. `only_routes`: there are routes, and no link to
    the page without a fragment. `anchors` are the fields of routes (`url.route_fields`) that only scroll the page.
    """

    url: str
    document: bytes = b""
    links: tuple[str, ...] = ()
    redirect: str = ""
    n_clickable: int = 0
    grows: bool = False
    n_refused: int = 0
    trouble: str = ""
    named_routes: bool = False
    only_routes: bool = False
    anchors: tuple[str, ...] = ()


def archived_document(rendered: RenderedDocument) -> bytes:
    """Serialize a rendered page for the archive.

    >>> archived_document(RenderedDocument("http://example.org/", b"<p>text"))
    b'<!--orienteer {"url": "http://example.org/"}-->\\n<p>text'
    """
    facts = {name: value for name, value in rendered._asdict().items() if value and name != "document"}
    text = json.dumps(facts).replace("--", "-\\u002d").replace(">", "\\u003e")  # which would end the comment
    return _HEAD + text.encode() + b"-->\n" + rendered.document


def rendered_document_of(document: bytes, url: str) -> RenderedDocument:
    """Parse an archived document of the page at `url`; documents of other programs have no comment.

    >>> page = RenderedDocument("http://example.org/", b"<p>text", n_clickable=3)
    >>> rendered_document_of(archived_document(page), "").n_clickable
    3
    >>> url = "http://example.org/"
    >>> rendered_document_of(b"<p>by others", url) == RenderedDocument(url, b"<p>by others")
    True
    """
    comment = _COMMENT.match(document)
    if comment is None:
        return RenderedDocument(url, document)
    try:
        facts = json.loads(comment[1])
    except (ValueError, RecursionError):
        return RenderedDocument(url, document)
    return RenderedDocument(
        url=_text(facts.get("url")) or url,
        document=document[comment.end() :],
        links=_texts(facts.get("links"))[:_MAX_LINKS],
        redirect=_text(facts.get("redirect")),
        n_clickable=_number(facts.get("n_clickable")),
        grows=bool(facts.get("grows")),
        n_refused=_number(facts.get("n_refused")),
        trouble=_text(facts.get("trouble")),
        named_routes=bool(facts.get("named_routes")),
        only_routes=bool(facts.get("only_routes")),
        anchors=_texts(facts.get("anchors")),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(filter(None, map(_text, value))) if isinstance(value, list) else ()


def _number(value: Any) -> int:
    return value if isinstance(value, int) and 0 <= value < 1 << 31 else 0
