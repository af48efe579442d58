"""A small town on the web: four hosts, and a neighborhood that ranks it differently; crawled, estimated and indexed.

www.harbour.test       the town: news, ferry, festival; everybody inside links here
museum.harbour.test    ships and rooms; a part that robots.txt forbids, two pages that say the same
library.harbour.test   old sea charts; hardly linked to inside, but known in the whole world
club.harbour.test      rowing and sailing; a dead link, a page that has moved
*.world.test           outside: they link to the library's charts, and to each other
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from orienteer.ledger.settings import EstimateSettings
from orienteer.search.indexing import update_index
from orienteer.side_crawls.estimate import live_estimate
from tests.fake_web.fake_response import redirect_to
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import Made, MadeSite
from tests.live.live_crawls import crawled

TOWN, MUSEUM = "http://www.harbour.test", "http://museum.harbour.test"
LIBRARY, CLUB = "http://library.harbour.test", "http://club.harbour.test"
WORLD = "http://www.world.test/"
SEEDS = [TOWN + "/", LIBRARY + "/"]
CHARTS = LIBRARY + "/charts/"  # worth much more outside than inside
FERRY = TOWN + "/ferry"  # worth much more inside than outside
FORBIDDEN = MUSEUM + "/store/inventory"
DEAD = CLUB + "/boathouse"
MOVED = CLUB + "/regatta"
REPEATED, REPETITION = MUSEUM + "/opening", MUSEUM + "/hours"

_OPENING = (
    "The museum of the harbour is open from Tuesday to Sunday, ten to five. Children are admitted free of charge. "
    "The last guided tour of the old ships begins at four, and the café closes with the museum itself."
)
_SHIPS = ("Albatross", "Brigantine Maria", "Cormorant", "Dolphin", "Esperance", "Fulmar", "Gannet", "Heron")
_SEAS = ("North Sea", "Baltic", "Channel", "Irish Sea", "Atlantic", "Kattegat", "Skagerrak", "Biscay", "White Sea")


def small_web() -> dict[str, Made]:
    """The pages by URL."""
    return {**_town(), **_museum(), **_library(), **_club(), **_world()}


def make_small_crawl(folder: Path, *, estimated: bool = True, indexed: bool = True) -> Path:
    """The town in a crawl folder, as it is after `crawl`, `estimate` and `index`."""
    site = MadeSite(small_web(), robots={"museum.harbour.test": "User-agent: *\nDisallow: /store/\n"})
    with FakeWeb(site) as web:
        # One page after the other: which of two that say the same comes first must not depend on the machine.
        crawled(web, SEEDS, folder, scope="site", until=0.99999, settings={"crawl": {"robots": True, "workers": 1}})
        if estimated:
            live_estimate(folder, EstimateSettings(budget=30, rounds=5))
    if indexed:
        update_index(folder)
    return folder


def html(title: str, text: str, links: Sequence[tuple[str, str]] = ()) -> str:
    listed = "".join(f'<li><a href="{url}">{words}</a></li>' for url, words in links)
    return f'<!DOCTYPE html><html lang="en"><title>{title}</title><h1>{title}</h1><p>{text}</p><ul>{listed}</ul></html>'


def _town() -> dict[str, Made]:
    home = (TOWN + "/", "Harbour town")
    ferry = (FERRY, "Ferry timetable")
    news = [(f"{TOWN}/news/{n}", f"News of week {n}") for n in range(1, 25)]
    text = "Welcome to the harbour: a small town by the sea, with a ferry, a museum, a library and a rowing club."
    pages: dict[str, Made] = {
        home[0]: html(
            "Harbour town",
            text,
            [ferry, (MUSEUM + "/", "Museum"), (CLUB + "/", "Club"), (TOWN + "/news/", "News"), (WORLD, "World")],
        ),
        ferry[0]: html("Ferry timetable", "The ferry leaves the harbour every hour, with charts on board.", [home]),
        TOWN + "/news/": html("News", "All news of the harbour.", [home, ferry, *news]),
    }
    for n, (url, title) in enumerate(news, 1):
        said = (
            f"Week {n} in the harbour: {n + 2} boats came in from the {_SEAS[n % len(_SEAS)]}, the ferry was late "
            f"{n % 4} times, and the festival committee met in room {n} of the town hall to speak about the fireworks."
        )
        pages[url] = html(title, said, [home, ferry])
    return pages


def _museum() -> dict[str, Made]:
    home, town = (MUSEUM + "/", "Museum of the harbour"), (TOWN + "/", "Harbour town")
    ships = [(f"{MUSEUM}/ships/{n}", f"The {name}") for n, name in enumerate(_SHIPS)]
    rest = [(REPEATED, "Opening hours"), (REPETITION, "Hours"), (FORBIDDEN, "Inventory"), (CHARTS, "Charts")]
    pages: dict[str, Made] = {
        home[0]: html(home[1], "Ships, charts and knots of four hundred years.", [town, *ships, *rest]),
        REPEATED: html("Opening hours of the museum", _OPENING, [home]),
        REPETITION: html("Opening hours of the museum", _OPENING, [home]),
        FORBIDDEN: html("Inventory", "Not for everybody.", [home]),
    }
    for (url, title), sea in zip(ships, _SEAS, strict=False):
        said = f"{title} sailed the {sea} with sea charts of the harbour, and lies in the great hall of the museum."
        pages[url] = html(f"{title}, a ship of the museum", said, [home, (FERRY, "Ferry timetable")])
    return pages


def _library() -> dict[str, Made]:
    home = (LIBRARY + "/", "Library of the harbour")
    charts = [(f"{LIBRARY}/charts/{n}", f"Chart of the {sea}") for n, sea in enumerate(_SEAS)]
    links = [(CHARTS, "Old charts"), (CLUB + "/", "Rowing club")]
    pages: dict[str, Made] = {
        home[0]: html(home[1], "Books about the sea, and a room with old charts.", links),
        CHARTS: html("Old sea charts", "Sea charts from four centuries, drawn by hand, for everybody to see.", charts),
    }
    for url, title in charts:
        said = f"{title}: a sea chart drawn by hand, with depths, wrecks and lights."
        pages[url] = html(title, said, [home])
    return pages


def _club() -> dict[str, Made]:
    home, town = (CLUB + "/", "Rowing club"), (TOWN + "/", "Harbour town")
    links = [town, (DEAD, "Boathouse"), (MOVED, "Regatta"), (CLUB + "/sailing", "Sailing"), (FERRY, "Ferry")]
    return {
        home[0]: html(home[1], "Rowing and sailing in the harbour, for all ages.", links),
        MOVED: redirect_to("/regatta-2025"),
        CLUB + "/regatta-2025": html("Regatta", "The regatta crosses the harbour every summer.", [home]),
        CLUB + "/sailing": html("Sailing", "Sailing by old sea charts, for beginners.", [home, (CHARTS, "Charts")]),
    }


def _world() -> dict[str, Made]:
    """Outside: hubs that everybody knows, with links to the charts."""
    topics = [f"http://{name}.world.test/" for name in ("maps", "history", "sailing", "schools", "news")]
    known = [(CHARTS, "The finest sea charts"), (f"{LIBRARY}/charts/4", "The Atlantic, drawn by hand")]
    pages: dict[str, Made] = {WORLD: html("The world", "Everything.", [(url, "a topic") for url in topics])}
    for url in topics:
        below = [(f"{url}{n}", "more") for n in range(4)]
        pages[url] = html("A topic", "About it.", [(WORLD, "The world"), *known, *below])
        for n, (page, _) in enumerate(below):
            links = [(url, "up"), *known] + ([(CLUB + "/", "the rowing club")] if n == 0 else [])
            pages[page] = html(f"Part {n}", "A part of a topic.", links)
    return pages
