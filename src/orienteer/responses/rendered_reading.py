"""Parse a rendered page: the union of its links as sent and as rendered, and the text as rendered.

Rendering does not find all links of every page. Some need a click, some load on scrolling, some need a request that
was refused: then the page has unknown links, with the reason.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from orienteer.extract.links import COMES_WITH_SCROLLING, NEEDS_CLICK, SCRIPTED
from orienteer.extract.page import Page, extract_page
from orienteer.extract.script_signs import FEW_LINKS
from orienteer.responses.rendered import RenderedDocument
from orienteer.url import canonical_url, route_url, without_route_fields


def redirect_of(rendered: RenderedDocument, url: str) -> str | None:
    """Return the target of a redirect by script; None without one, or if it leads to the page at `url` itself."""
    target = canonical_url(rendered.redirect, rendered.url) if rendered.redirect else None
    return None if target in (None, url.partition("#")[0]) else target


def page_as_rendered(sent: Page, rendered: RenderedDocument, url: str, **how: Any) -> Page:
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


def _route(link: str, rendered: RenderedDocument) -> str | None:
    """Return the page of a link; routes of the same application lose the fields that are anchors."""
    here, anchors, is_named = rendered.url.partition("#")[0], rendered.anchors, rendered.named_routes
    url = route_url(link, here, is_named)
    if url is None or not anchors or link.partition("#")[0] != here:
        return url
    return without_route_fields(url, anchors)


def _unknown(sent: Page, page: Page, rendered: RenderedDocument, n_links: int) -> tuple[str, ...]:
    """Return why there may be unknown links although a browser rendered the page."""
    reasons = dict.fromkeys(why for why in (*sent.unknown_links, *page.unknown_links) if why != SCRIPTED)
    if sent.is_suspect and (rendered.trouble or (rendered.n_refused and page.is_suspect)):
        reasons[SCRIPTED] = None
    if rendered.n_clickable and (sent.is_suspect or n_links < FEW_LINKS):
        reasons[NEEDS_CLICK] = None
    if rendered.grows:
        reasons[COMES_WITH_SCROLLING] = None
    return tuple(reasons)
