"""External sites that write about Quillhaven: newspapers, guides and societies.

They link to each other, and some of their pages have many in-links. Each has one page about the town, and some of its
pages link to sights of the town, but never to its administration.
"""

from __future__ import annotations

from typing import NamedTuple

from orienteer.fake_web.community.addresses import (
    ATLAS,
    BLUE_CHEESE,
    BRIDGES,
    CARNET,
    CHEESE,
    DOME,
    HOME,
    IRON_BRIDGE,
    LANTERNS,
    LEAGUE,
    LEXICON,
    MERIDIAN,
    ROWING,
    SKY,
    SPOONBILLS,
    TOWN_PAGES,
    VISIT,
    WANDERN,
    WAYFARER,
    at,
)  # fmt: skip
from orienteer.fake_web.community.page import CommunityPage, Host, Link, Pages

_KNOWN_FOR = {
    IRON_BRIDGE: "the iron bridge of 1794",
    DOME: "the observatory on Beacon Hill, with opening hours",
    LANTERNS: "the lantern festival of Quillhaven",
    BLUE_CHEESE: "Quillhaven blue, the cheese",
    SPOONBILLS: "the spoonbills of Quillhaven",
    at(ROWING): "Quillhaven Rowing Club",
    HOME: "Quillhaven",
    at(VISIT, "/de/"): "Quillhaven",
    at(VISIT, "/fr/"): "Quillhaven",
}


class _ExternalSite(NamedTuple):
    host: str
    title: str
    topic: str
    n_pages: int
    colour: str
    town: str  # title of the page about the town
    mentions: tuple[str, ...]  # pages of the town that it links to; the first one from all its pages
    share: float  # of its pages that link to the town
    language: str = "en"


_EXTERNAL_SITES = (
    _ExternalSite(LEXICON, "Open Lexicon", "lexicon", 110, "#333333", "Quillhaven",
                  (IRON_BRIDGE, LANTERNS, DOME, HOME), 0.35),
    _ExternalSite(MERIDIAN, "The Daily Meridian", "nation", 120, "#111133",
              "Quillhaven, the town that carries lanterns",
                  (LANTERNS, IRON_BRIDGE, SPOONBILLS), 0.25),
    _ExternalSite(WAYFARER, "Wayfarer", "travel", 90, "#0b6e4f", "A weekend in Quillhaven",
                  (DOME, LANTERNS, IRON_BRIDGE, BLUE_CHEESE), 0.5),
    _ExternalSite(BRIDGES, "Bridge Spotters", "engineering", 60, "#5a4a42", "The iron bridge at Quillhaven",
                  (IRON_BRIDGE,), 0.8),
    _ExternalSite(SKY, "Sky Watchers", "stars", 50, "#10102a", "Beacon Hill Observatory, Quillhaven", (DOME,), 0.8),
    _ExternalSite(LEAGUE, "Rowing League", "rowing", 40, "#1b4d6b", "Quillhaven Rowing Club", (at(ROWING),), 0.2),
    _ExternalSite(CHEESE, "Cheese Pages", "kitchen", 40, "#b58900", "Quillhaven blue", (BLUE_CHEESE,), 0.7),
    _ExternalSite(ATLAS, "Bird Atlas", "birds", 40, "#2e5e4e", "Quillhaven saltmarsh", (SPOONBILLS,), 0.6),
    _ExternalSite(WANDERN, "Wanderwege", "visit-de", 40, "#556b2f", "Rundweg Quillhaven",
                  (IRON_BRIDGE, at(VISIT, "/de/"), LANTERNS), 0.6, "de"),
    _ExternalSite(CARNET, "Carnet de route", "visit-fr", 30, "#8b3a3a", "Quillhaven en automne",
                  (LANTERNS, at(VISIT, "/fr/"), BLUE_CHEESE), 0.5, "fr"),
)  # fmt: skip


def write_external_sites(pages: Pages) -> None:
    for site in _EXTERNAL_SITES:
        _write_site(pages, site)


def _write_site(pages: Pages, site: _ExternalSite) -> None:
    host, home, town = site.host, at(site.host), TOWN_PAGES[site.host]
    featured = site.mentions[0]
    menu = (Link(site.title, home), Link(_KNOWN_FOR[featured], featured))
    pages.hosts[host] = Host(host, site.title, site.colour, menu)
    urls = [at(host, f"/{number}") for number in range(site.n_pages)]
    titles = [pages.writer(url).headline(site.topic) for url in urls]
    for number, url in enumerate(urls):
        links = _links(pages, site, number, urls, titles)
        text = pages.writer(url, "text").paragraphs(8, site.topic)
        pages.at[url] = CommunityPage(titles[number], text, (("→", links),), language=site.language)
    known = tuple(Link(_KNOWN_FOR[url], url) for url in site.mentions)
    text = pages.writer(town).paragraphs(8, site.topic)
    pages.at[town] = CommunityPage(site.town, text, (("→", known),), language=site.language)
    friends = (Link(other.title, at(other.host)) for other in _EXTERNAL_SITES[:3] if other.host != host)
    latest = (*pages.links(urls[:12]), Link(site.town, town), *friends)
    text = pages.writer(home).paragraphs(4, site.topic)
    pages.at[home] = CommunityPage(site.title, text, (("→", latest),), language=site.language)


def _links(pages: Pages, site: _ExternalSite, number: int, urls: list[str], titles: list[str]) -> tuple[Link, ...]:
    """Return links to pages of the site (earlier ones more often), to other sites, and sometimes to Quillhaven."""
    draw = pages.writer(urls[number], "links").draw
    own = {int(len(urls) * draw.random() ** 2) for _ in range(2)} | {(number + 1) % len(urls)}
    links = [Link(titles[k], urls[k]) for k in sorted(own - {number})]
    other = draw.choice(_EXTERNAL_SITES)
    if other.host != site.host:
        links.append(Link(other.title, at(other.host, f"/{int(other.n_pages * draw.random() ** 2)}")))
    if draw.random() < site.share:
        url = draw.choice(site.mentions)
        links.append(Link(_KNOWN_FOR[url], url))
    return tuple(links)
