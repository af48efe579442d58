"""Who writes about Quillhaven from elsewhere: newspapers, guides and societies with their own pages.

They are linked among each other, and some of their pages are known to many. Each has one page about the town, and
mentions here and there what the town is known for. How the town governs itself they do not mention.
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
    TOWN_ABROAD,
    VISIT,
    WANDERN,
    WAYFARER,
    at,
)  # fmt: skip
from orienteer.fake_web.community.page import Host, Link, Page, Pages

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


class _Stranger(NamedTuple):
    host: str
    title: str
    topic: str
    n_pages: int
    colour: str
    town: str  # title of the page about the town
    mentions: tuple[str, ...]  # what it tells of the town; the first is featured on all its pages
    share: float  # of its pages that mention something of it
    language: str = "en"


_STRANGERS = (
    _Stranger(LEXICON, "Open Lexicon", "lexicon", 110, "#333333", "Quillhaven",
              (IRON_BRIDGE, LANTERNS, DOME, HOME), 0.35),
    _Stranger(MERIDIAN, "The Daily Meridian", "nation", 120, "#111133", "Quillhaven, the town that carries lanterns",
              (LANTERNS, IRON_BRIDGE, SPOONBILLS), 0.25),
    _Stranger(WAYFARER, "Wayfarer", "travel", 90, "#0b6e4f", "A weekend in Quillhaven",
              (DOME, LANTERNS, IRON_BRIDGE, BLUE_CHEESE), 0.5),
    _Stranger(BRIDGES, "Bridge Spotters", "engineering", 60, "#5a4a42", "The iron bridge at Quillhaven",
              (IRON_BRIDGE,), 0.8),
    _Stranger(SKY, "Sky Watchers", "stars", 50, "#10102a", "Beacon Hill Observatory, Quillhaven", (DOME,), 0.8),
    _Stranger(LEAGUE, "Rowing League", "rowing", 40, "#1b4d6b", "Quillhaven Rowing Club", (at(ROWING),), 0.2),
    _Stranger(CHEESE, "Cheese Pages", "kitchen", 40, "#b58900", "Quillhaven blue", (BLUE_CHEESE,), 0.7),
    _Stranger(ATLAS, "Bird Atlas", "birds", 40, "#2e5e4e", "Quillhaven saltmarsh", (SPOONBILLS,), 0.6),
    _Stranger(WANDERN, "Wanderwege", "visit-de", 40, "#556b2f", "Rundweg Quillhaven",
              (IRON_BRIDGE, at(VISIT, "/de/"), LANTERNS), 0.6, "de"),
    _Stranger(CARNET, "Carnet de route", "visit-fr", 30, "#8b3a3a", "Quillhaven en automne",
              (LANTERNS, at(VISIT, "/fr/"), BLUE_CHEESE), 0.5, "fr"),
)  # fmt: skip


def write_abroad(pages: Pages) -> None:
    for stranger in _STRANGERS:
        _write_stranger(pages, stranger)


def _write_stranger(pages: Pages, stranger: _Stranger) -> None:
    host, home, town = stranger.host, at(stranger.host), TOWN_ABROAD[stranger.host]
    featured = stranger.mentions[0]
    menu = (Link(stranger.title, home), Link(_KNOWN_FOR[featured], featured))
    pages.hosts[host] = Host(host, stranger.title, stranger.colour, menu)
    urls = [at(host, f"/{number}") for number in range(stranger.n_pages)]
    titles = [pages.writer(url).headline(stranger.topic) for url in urls]
    for number, url in enumerate(urls):
        links = _links(pages, stranger, number, urls, titles)
        text = pages.writer(url, "text").paragraphs(8, stranger.topic)
        pages.at[url] = Page(titles[number], text, (("→", links),), language=stranger.language)
    known = tuple(Link(_KNOWN_FOR[url], url) for url in stranger.mentions)
    text = pages.writer(town).paragraphs(8, stranger.topic)
    pages.at[town] = Page(stranger.town, text, (("→", known),), language=stranger.language)
    friends = (Link(other.title, at(other.host)) for other in _STRANGERS[:3] if other.host != host)
    latest = (*pages.links(urls[:12]), Link(stranger.town, town), *friends)
    text = pages.writer(home).paragraphs(4, stranger.topic)
    pages.at[home] = Page(stranger.title, text, (("→", latest),), language=stranger.language)


def _links(pages: Pages, stranger: _Stranger, number: int, urls: list[str], titles: list[str]) -> tuple[Link, ...]:
    """To pages of its own, the first ones more often; to some of the others'; and now and then to Quillhaven."""
    draw = pages.writer(urls[number], "links").draw
    own = {int(len(urls) * draw.random() ** 2) for _ in range(2)} | {(number + 1) % len(urls)}
    links = [Link(titles[k], urls[k]) for k in sorted(own - {number})]
    other = draw.choice(_STRANGERS)
    if other.host != stranger.host:
        links.append(Link(other.title, at(other.host, f"/{int(other.n_pages * draw.random() ** 2)}")))
    if draw.random() < stranger.share:
        url = draw.choice(stranger.mentions)
        links.append(Link(_KNOWN_FOR[url], url))
    return tuple(links)
