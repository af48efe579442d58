"""A page as rendered by a browser: the final document, and facts that it does not contain.

The archive stores the document as plain HTML. The other facts are stored as JSON in a comment before the document, so
that they are never separated from it.

The page that is read from it has the union of the links as sent and as rendered, and the text as rendered. Rendering
does not find all links of every page. Some need a click, some load on scrolling, some need a request that was refused:
then the page has unknown links, with the reason.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any, NamedTuple

from orienteer.extract.links import COMES_WITH_SCROLLING, NEEDS_CLICK, SCRIPTED
from orienteer.extract.page import Page, extract_page
from orienteer.extract.script_signs import FEW_LINKS
from orienteer.url import canonical_url, route_url, without_route_fields

_HEAD = b"<!--orienteer "
_COMMENT = re.compile(rb"<!--orienteer (\{[^\n]*\})-->\n")
_MAX_LINKS = 10_000
_NO_FACTS = frozenset(("document", "screenshot", "n_requests", "cpu_s"))  # they are stored elsewhere


class RenderedPage(NamedTuple):
    """A page rendered by a browser. The names of its facts are stored in archives (see `archived_document`).

    `url` is the final URL, `document` is HTML in UTF-8. `links` include client-side routes, links in frames, and
    windows that the page tried to open. `redirect` is the target of a redirect by script, or "". `n_clickable` elements
    are not links but may open other pages when clicked. `grows`: further scrolling would load more. `n_refused`
    requests of the page were not fetched: refused by the owner or before (methods other than GET, event streams,
    workers that outlive a page, too many); unwanted pictures do not count. `trouble` is why the rendering is
    incomplete, or "": time, cpu, memory, crashed, too many requests, too large, not loaded (the browser shows an error
    page of its own), left (the page emptied itself), cancelled.
    `named_routes`: fragments without a leading slash are routes, too. `only_routes`: there are routes, and no link to
    the page without a fragment. `anchors` are the fields of routes (`url.route_fields`) that only scroll the page.

    `screenshot` is an image, or empty. `n_requests` were passed to the owner of the browser, which used `cpu_s`.
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
    screenshot: bytes = b""
    n_requests: int = 0
    cpu_s: float = 0.0


def archived_document(rendered: RenderedPage) -> bytes:
    """Serialize a rendered page for the archive.

    >>> archived_document(RenderedPage("http://example.org/", b"<p>text"))
    b'<!--orienteer {"url": "http://example.org/"}-->\\n<p>text'
    """
    facts = {name: value for name, value in rendered._asdict().items() if value and name not in _NO_FACTS}
    text = json.dumps(facts).replace("--", "-\\u002d").replace(">", "\\u003e")  # which would end the comment
    return _HEAD + text.encode() + b"-->\n" + rendered.document


def rendered_document_of(document: bytes, url: str) -> RenderedPage:
    """Parse an archived document of the page at `url`; documents of other programs have no comment.

    >>> page = RenderedPage("http://example.org/", b"<p>text", n_clickable=3)
    >>> rendered_document_of(archived_document(page), "").n_clickable
    3
    >>> url = "http://example.org/"
    >>> rendered_document_of(b"<p>by others", url) == RenderedPage(url, b"<p>by others")
    True
    """
    comment = _COMMENT.match(document)
    if comment is None:
        return RenderedPage(url, document)
    try:
        facts = json.loads(comment[1])
    except (ValueError, RecursionError):
        return RenderedPage(url, document)
    return RenderedPage(
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


def redirect_of(rendered: RenderedPage, url: str) -> str | None:
    """Return the target of a redirect by script; None without one, or if it leads to the page at `url` itself."""
    target = canonical_url(rendered.redirect, rendered.url) if rendered.redirect else None
    return None if target in (None, url.partition("#")[0]) else target


def page_as_rendered(sent: Page, rendered: RenderedPage, url: str, **how: Any) -> Page:
    """Return the page at `url`; `sent` is the page parsed without a browser, `how` are the arguments of that."""
    if not rendered.document:
        return sent
    page = extract_page(rendered.document, canonical_url(rendered.url) or url, "utf-8", **how)
    clicked = len(page.links)
    left_out = list(dict.fromkeys((*sent.nofollow_links, *page.nofollow_links)))
    home = canonical_url(rendered.url) if rendered.only_routes else None
    read_links = (*_without(home, sent), *_without(home, page))
    seen_links = (_route(link, rendered) for link in rendered.links)
    routes = [link for link in seen_links if link is not None and link != url and link not in left_out]
    links = list(dict.fromkeys((*read_links, *routes)))
    nofollow = sent.nofollow or page.nofollow
    if nofollow:
        links, left_out = [], list(dict.fromkeys((*links, *left_out)))
    seen = {link for link, _ in page.anchors}
    return replace(
        page,
        links=links,
        title=page.title or sent.title,
        anchors=page.anchors + [(link, text) for link, text in sent.anchors if link not in seen],
        description=page.description or sent.description,
        language=page.language or sent.language,
        canonical=page.canonical or sent.canonical,
        noindex=sent.noindex or page.noindex,
        nofollow=nofollow,
        unknown_links=_unknown(sent, page, rendered, clicked),
        nofollow_links=tuple(left_out),
        too_long=tuple(dict.fromkeys((*sent.too_long, *page.too_long))),
        noarchive=sent.noarchive or page.noarchive,
        feeds=tuple(dict.fromkeys((*sent.feeds, *page.feeds))),
        alternates=tuple(dict.fromkeys((*sent.alternates, *page.alternates))),
    )


def _without(home: str | None, page: Page) -> list[str]:
    """Return the parsed links, without `home`. If the browser found only routes, links to the application without a
    fragment (`home`) are routes whose fragment the parser dropped."""
    return page.links if page.canonical == home else [link for link in page.links if link != home]


def _route(link: str, rendered: RenderedPage) -> str | None:
    """Return the page of a link; routes of the same application lose the fields that are anchors."""
    here, anchors, is_named = rendered.url.partition("#")[0], rendered.anchors, rendered.named_routes
    url = route_url(link, here, is_named)
    if url is None or not anchors or link.partition("#")[0] != here:
        return url
    return without_route_fields(url, anchors)


def _unknown(sent: Page, page: Page, rendered: RenderedPage, n_links: int) -> tuple[str, ...]:
    """Return why there may be unknown links although a browser rendered the page."""
    reasons = dict.fromkeys(why for why in (*sent.unknown_links, *page.unknown_links) if why != SCRIPTED)
    if sent.is_suspect and (rendered.trouble or (rendered.n_refused and page.is_suspect)):
        reasons[SCRIPTED] = None
    if rendered.n_clickable and (sent.is_suspect or n_links < FEW_LINKS):
        reasons[NEEDS_CLICK] = None
    if rendered.grows:
        reasons[COMES_WITH_SCROLLING] = None
    return tuple(reasons)
