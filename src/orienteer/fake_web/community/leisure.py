"""Museum, rowing club, market, visitors' office and observatory."""

from __future__ import annotations

from orienteer.fake_web.community.addresses import (
    BLUE_CHEESE,
    BRIDGES,
    CARNET,
    CLOSURES,
    DOME,
    HALL,
    IRON_BRIDGE,
    LANTERNS,
    LEAGUE,
    MARKET,
    MUSEUM,
    ROWING,
    SKY,
    SPOONBILLS,
    STARS,
    TOWN_PAGES,
    VISIT,
    WANDERN,
    WAYFARER,
    at,
)  # fmt: skip
from orienteer.fake_web.community.civic import LOCAL_FOOT, TOWN_FOOT
from orienteer.fake_web.community.page import WORDS, CommunityPage, Host, Link, Moved, Pages, png, slug

N_ROOMS, CASES_PER_ROOM, OBJECTS_PER_CASE = 10, 5, 4
N_STATIONS = 12
FIRST_SEASON, LAST_SEASON, RACES_PER_SEASON = 1992, 2025, 3
N_TRADERS, N_ADS, ADS_PER_WEEK = 36, 210, 9
_ADS_PER_PAGE = 10
_SOLD_IN_WEEKS = 21  # or withdrawn
N_NIGHTS, N_DOUBLE_STARS = 60, 24

_AD_KINDS = ("boats", "furniture", "plants", "lessons", "rooms", "lost and found")
_LANGUAGES = (("en", "visit", "English"), ("de", "visit-de", "Deutsch"), ("fr", "visit-fr", "Français"))
_WELCOME = {"en": "Welcome to Quillhaven", "de": "Willkommen in Quillhaven", "fr": "Bienvenue à Quillhaven"}
_WALK = {"en": "Walk", "de": "Wanderung", "fr": "Promenade"}
_IN = {"en": "{}", "de": "{} in Quillhaven: Hinweise für Besucher", "fr": "{} à Quillhaven : le guide du visiteur"}
N_WALKS = 10


def write_museum(pages: Pages) -> None:
    menu = tuple(
        Link(text, at(MUSEUM, path)) for text, path in (("Museum", "/"), ("Rooms", "/rooms"), ("Tour", "/tour/1"))
    )
    pages.hosts[MUSEUM] = Host(MUSEUM, "Quillhaven Town Museum", "#54436b", menu, TOWN_FOOT)
    hours = at(MUSEUM, "/opening-hours")
    text: tuple[str, ...] = (
        "Opening hours of the museum: Wednesday to Sunday from eleven to five. The tower is closed in winter.",
    )
    pages.at[hours] = CommunityPage("Opening hours of the museum", text + pages.writer(hours).paragraphs(3, "museum"))
    rooms = [_room(pages, number) for number in range(1, N_ROOMS + 1)]
    text = (
        "The iron bridge of 1794 crosses the river at Quillhaven in a single arch. It is the oldest bridge with ribs "
        "of cast iron that still carries a road, and engineers come from far to see it.",
        "The museum keeps the model of the bridge, the drawings, and the letter in which its builder, a carpenter, "
        "asks whether iron can be joined like wood. The bridge answers the question.",
    )
    more = (Link("Bridge spotters: Quillhaven", TOWN_PAGES[BRIDGES]),)
    text += pages.writer(IRON_BRIDGE).paragraphs(2, "engineering")
    pages.at[IRON_BRIDGE] = CommunityPage("The iron bridge", text, (("Read more", more),), picture="/iron-bridge.png")
    pages.at[at(MUSEUM, "/iron-bridge.png")] = png(pages.rng, "iron-bridge")
    objects = [url for url in pages.at if url.startswith(at(MUSEUM, "/room/")) and url.count("/") == 7]
    pages.at[at(MUSEUM, "/inventory")] = CommunityPage("Inventory", (), (("All objects", pages.links(objects)),))
    _write_tour(pages)
    pages.at[at(MUSEUM, "/rooms")] = CommunityPage("Rooms", (), (("Rooms", pages.links(rooms)),))
    text = pages.writer(MUSEUM).paragraphs(6, "museum")
    lists = (("Visit", (Link("Opening hours", hours), Link("Inventory", at(MUSEUM, "/inventory")))),
             ("Rooms", pages.links(rooms[:3])))  # fmt: skip
    pages.at[at(MUSEUM)] = CommunityPage("Quillhaven Town Museum", text, lists)


def _write_tour(pages: Pages) -> None:
    """Write a tour: a chain of pages, each with a link to the next."""
    for number in range(1, N_STATIONS + 1):
        url = at(MUSEUM, f"/tour/{number}")
        after = at(MUSEUM, f"/tour/{number + 1}") if number < N_STATIONS else at(MUSEUM)
        text = pages.writer(url).paragraphs(5, "museum")
        pages.at[url] = CommunityPage(f"Tour, station {number}", text, (("", (Link("Go on", after),)),), bare=True)


def _room(pages: Pages, number: int) -> str:
    """Write a room with cases with objects: pages at increasing depth."""
    room = at(MUSEUM, f"/room/{number}")
    cases = []
    for k in range(1, CASES_PER_ROOM + 1):
        case = f"{room}/case/{k}"
        things = []
        for n in range(1, OBJECTS_PER_CASE + 1):
            url = f"{case}/{n}"
            writer = pages.writer(url)
            title = f"{writer.draw.choice(WORDS['object']).capitalize()}, {writer.draw.choice(WORDS['year'])}"
            pages.at[url] = CommunityPage(
                title, writer.paragraphs(7, "museum"), (("", (Link("Back to the case", case),)),)
            )
            things.append(url)
        pages.at[case] = CommunityPage(f"Room {number}, case {k}", (), (("Objects", pages.links(things)),))
        cases.append(case)
    lists = [("Cases", pages.links(cases))]
    if number == 3:
        lists.append(("Model", (Link("The iron bridge", IRON_BRIDGE),)))
    pages.at[room] = CommunityPage(f"Room {number}", pages.writer(room).paragraphs(3, "museum"), tuple(lists))
    return room


def write_rowing(pages: Pages) -> None:
    menu = [("Club", "/"), ("Results", "/results"), ("Boats", "/boats"), ("Training", "/training")]
    links = tuple(Link(text, at(ROWING, path)) for text, path in menu)
    pages.hosts[ROWING] = Host(ROWING, "Quillhaven Rowing Club", "#1f5f8b", links, LOCAL_FOOT)
    seasons: list[str] = []
    for year in range(FIRST_SEASON, LAST_SEASON + 1):
        season = at(ROWING, f"/results/{year}")
        races = []
        for k in range(1, RACES_PER_SEASON + 1):
            url = f"{season}/{k}"
            writer = pages.writer(url)
            pages.at[url] = CommunityPage(
                writer.headline("rowing"), writer.paragraphs(6, "rowing"), by=f"Season {year}"
            )
            races.append(url)
        before = tuple(Link("The season before", url) for url in seasons[-1:])
        pages.at[season] = CommunityPage(f"Season {year}", (), (("Races", pages.links(races)), ("", before)))
        seasons.append(season)
    boats = []
    for name in WORDS["boat"]:
        url = at(ROWING, f"/boats/{slug(name)}")
        pages.at[url] = CommunityPage(name, pages.writer(url).paragraphs(5, "rowing"))
        boats.append(url)
    latest = pages.links(seasons[-1:])
    pages.at[at(ROWING, "/results")] = CommunityPage("Results", (), (("Latest season", latest),))
    pages.at[at(ROWING, "/boats")] = CommunityPage("Our boats", (), (("Boats", pages.links(boats)),))
    pages.at[at(ROWING, "/training")] = CommunityPage("Training", pages.writer("training").paragraphs(5, "rowing"))
    friends = (
        Link("Rowing league", TOWN_PAGES[LEAGUE]),
        Link("Moorings", at(HALL, "/services/harbour-moorings")),
        Link("Town hall", at(HALL, "/hours")),
    )
    lists = (("Results", latest), ("Elsewhere", friends))
    pages.at[at(ROWING)] = CommunityPage("Quillhaven Rowing Club", pages.writer(ROWING).paragraphs(6, "rowing"), lists)


def write_market(pages: Pages) -> None:
    """Write traders and small ads: each week some are new, and some are deleted but still linked to."""
    menu = [("Market", "/"), ("Traders", "/traders"), ("Small ads", "/ads")]
    links = tuple(Link(text, at(MARKET, path)) for text, path in menu)
    pages.hosts[MARKET] = Host(MARKET, "Quillhaven Market", "#a14d1a", links, LOCAL_FOOT)
    by_kind: dict[str, list[str]] = {kind: [] for kind in _AD_KINDS}
    ads: list[str] = []
    for number in range(N_ADS + ADS_PER_WEEK * pages.week):
        if 0 < number % _SOLD_IN_WEEKS <= pages.week:
            continue
        url = _ad(number)
        writer = pages.writer(url)
        kind = writer.draw.choice(_AD_KINDS)
        onwards = (("See also", (Link("A similar ad", _ad(max(number - 1, 0))), Link(kind.capitalize(), _kind(kind)))),)
        pages.at[url] = CommunityPage(
            writer.headline("market"), writer.paragraphs(5, "market"), onwards, by=f"No. {number + 5000}"
        )
        by_kind[kind].append(url)
        ads.append(url)
    for kind, urls in by_kind.items():
        pages.write_listing(_kind(kind), kind.capitalize(), urls[::-1], _ADS_PER_PAGE)
    kinds = [_kind(kind) for kind in _AD_KINDS]
    pages.at[at(MARKET, "/ads")] = CommunityPage("Small ads", (), (("Kinds", pages.links(kinds)),))
    traders = []
    for number in range(N_TRADERS):
        name = pages.writer("traders").draw.sample(WORDS["name"] * 2, N_TRADERS)[number]
        url = at(MARKET, f"/traders/{number + 1}")
        pages.at[url] = CommunityPage(f"{name}: stall {number + 1}", pages.writer(url).paragraphs(6, "market"))
        traders.append(url)
    pages.at[at(MARKET, "/traders")] = CommunityPage("Traders", (), (("Traders", pages.links(traders)),))
    newest = pages.links(ads[:-7:-1])
    rules = (Link("Street trading", at(HALL, "/services/street-trading")), Link("Stalls at the festival", CLOSURES))
    lists = (("New ads", newest), ("Traders", pages.links(traders[:4])), ("Rules", rules))
    pages.at[at(MARKET)] = CommunityPage("Quillhaven Market", pages.writer(MARKET).paragraphs(5, "market"), lists)
    pages.at[at(MARKET, "/stalls.html")] = Moved(at(MARKET, "/traders"))


def _ad(number: int) -> str:
    return at(MARKET, f"/ad/{number + 5000}")


def _kind(kind: str) -> str:
    return at(MARKET, f"/ads/{slug(kind)}")


def write_visit(pages: Pages) -> None:
    """Write the pages for visitors, in three languages."""
    menu = tuple(Link(name, at(VISIT, f"/{language}/")) for language, _, name in _LANGUAGES)
    pages.hosts[VISIT] = Host(VISIT, "Visit Quillhaven", "#b0553a", menu, TOWN_FOOT)
    pages.at[at(VISIT)] = Moved(at(VISIT, "/en/"), 302)
    for language, topic, _ in _LANGUAGES:
        _write_guide(pages, language, topic)
    text: tuple[str, ...] = (
        "On the last night of November the lantern festival fills the harbour with nine hundred paper boats, each with "
        "a lantern. The festival has been held since 1816, when the fleet came home in fog.",
        "Programme of the lantern festival: at five the children's lantern walk, at seven the boats, at nine silence. "
        "Rooms for the festival should be booked by August.",
    )
    more = (Link("Where to stay", at(VISIT, "/en/ropewalk")), Link("Wayfarer on the festival", TOWN_PAGES[WAYFARER]))
    text += pages.writer(LANTERNS).paragraphs(4, "visit")
    pages.at[LANTERNS] = CommunityPage("The lantern festival", text, (("See also", more),), picture="/lanterns.png")
    pages.at[at(VISIT, "/lanterns.png")] = png(pages.rng, "lanterns")


def _write_guide(pages: Pages, language: str, topic: str) -> None:
    sights, walks = [], []
    for name in WORDS["attraction"]:
        url = at(VISIT, f"/{language}/{slug(name).removeprefix('the-')}")
        title = _IN[language].format(name)
        pages.at[url] = CommunityPage(title, pages.writer(url).paragraphs(8, topic), language=language)
        sights.append(url)
    for number in range(1, N_WALKS + 1):
        url = at(VISIT, f"/{language}/walks/{number}")
        title = f"{_WALK[language]} {number}"
        pages.at[url] = CommunityPage(title, pages.writer(url).paragraphs(8, topic), language=language)
        walks.append(url)
    home = at(VISIT, f"/{language}/")
    known = {
        "en": (Link("The lantern festival", LANTERNS), Link("The iron bridge", IRON_BRIDGE),
               Link("An evening at the observatory", DOME)),
        "de": (Link("Wanderwege: Rundweg Quillhaven", TOWN_PAGES[WANDERN]), Link("Eisenbrücke", IRON_BRIDGE)),
        "fr": (Link("Carnet de route : Quillhaven en automne", TOWN_PAGES[CARNET]), Link("Fromage bleu", BLUE_CHEESE),
               Link("Les spatules", SPOONBILLS)),
    }[language]  # fmt: skip
    lists = (("★", known), ("●", pages.links(sights)), ("▲", pages.links(walks)))
    pages.at[home] = CommunityPage(
        _WELCOME[language], pages.writer(home).paragraphs(6, topic), lists, language=language
    )


def write_stars(pages: Pages) -> None:
    menu = [("Observatory", "/"), ("Observing log", "/log"), ("Double stars", "/doubles")]
    links = tuple(Link(text, at(STARS, path)) for text, path in menu)
    pages.hosts[STARS] = Host(STARS, "Beacon Hill Observatory", "#1b1f3b", links, TOWN_FOOT)
    text: tuple[str, ...] = (
        "Opening hours of the observatory: on clear evenings from Wednesday to Saturday, from dusk to midnight. In "
        "June and July the opening hours are shorter, for it does not get dark.",
        "The dome holds fifteen guests. The great refractor of 1891 is one of the last anybody may look through.",
    )
    text += pages.writer(DOME).paragraphs(2, "stars")
    more = (Link("Sky watchers: Beacon Hill", TOWN_PAGES[SKY]),)
    pages.at[DOME] = CommunityPage("Opening hours of the observatory", text, (("Elsewhere", more),))
    nights: list[str] = []
    for number in range(N_NIGHTS + pages.week):
        url = at(STARS, f"/log/{number + 1}")
        writer = pages.writer(url)
        before = tuple(Link("The night before", night) for night in nights[-1:])
        pages.at[url] = CommunityPage(writer.headline("stars"), writer.paragraphs(6, "stars"), (("", before),))
        nights.append(url)
    doubles = []
    for number in range(1, N_DOUBLE_STARS + 1):
        url = at(STARS, f"/doubles/{number}")
        pages.at[url] = CommunityPage(f"Double star BH {number}", pages.writer(url).paragraphs(5, "stars"))
        doubles.append(url)
    latest = tuple(pages.link(url) for url in reversed(nights[-6:]))
    pages.at[at(STARS, "/log")] = CommunityPage("Observing log", (), (("Latest nights", latest),))
    pages.at[at(STARS, "/doubles")] = CommunityPage("Double stars", (), (("Stars", pages.links(doubles)),))
    lists = (("Come and look", (Link("Opening hours", DOME),)), ("Log", latest[:3]))
    pages.at[at(STARS)] = CommunityPage("Beacon Hill Observatory", pages.writer(STARS).paragraphs(6, "stars"), lists)
