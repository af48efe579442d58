"""What a page says that a browser has shown: its links as sent and as shown together, and the text as shown.

A browser that has looked does not know all links of every page. Some need a click, some come with scrolling, some with
what the page was refused: then the page has links that are not known, and says why.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from orienteer.answers.shown import Shown
from orienteer.extract.links import COMES_WITH_SCROLLING, NEEDS_CLICK, SCRIPTED
from orienteer.extract.page import Page, extract_page
from orienteer.extract.script_signs import FEW_LINKS
from orienteer.url import canonical_url, route_url


def redirect_of(shown: Shown, url: str) -> str | None:
    """Where a script led away from the page at `url`; None where it did not, or only to the page itself."""
    target = canonical_url(shown.redirect, shown.url) if shown.redirect else None
    return None if target in (None, url.partition("#")[0]) else target


def page_as_shown(sent: Page, shown: Shown, url: str, **how: Any) -> Page:
    """The page at `url`: `sent` is what was read of it without a browser, `how` is how that was done."""
    if not shown.document:
        return sent
    page = extract_page(shown.document, canonical_url(shown.url) or url, "utf-8", **how)
    clicked = len(page.links)
    left_out = list(dict.fromkeys((*sent.nofollow_links, *page.nofollow_links)))
    seen_links = (route_url(link, shown.url) for link in shown.links)
    routes = [link for link in seen_links if link is not None and link != url and link not in left_out]
    links = list(dict.fromkeys((*sent.links, *page.links, *routes)))
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
        unknown_links=_unknown(sent, page, shown, clicked),
        nofollow_links=tuple(left_out),
        too_long=tuple(dict.fromkeys((*sent.too_long, *page.too_long))),
        noarchive=sent.noarchive or page.noarchive,
        feeds=tuple(dict.fromkeys((*sent.feeds, *page.feeds))),
        alternates=tuple(dict.fromkeys((*sent.alternates, *page.alternates))),
    )


def _unknown(sent: Page, page: Page, shown: Shown, n_links: int) -> tuple[str, ...]:
    """Why links are not known, though a browser has looked."""
    reasons = dict.fromkeys(why for why in (*sent.unknown_links, *page.unknown_links) if why != SCRIPTED)
    if sent.is_suspect and (shown.trouble or (shown.n_refused and page.is_suspect)):
        reasons[SCRIPTED] = None
    if shown.n_clickable and (sent.is_suspect or n_links < FEW_LINKS):
        reasons[NEEDS_CLICK] = None
    if shown.grows:
        reasons[COMES_WITH_SCROLLING] = None
    return tuple(reasons)
