"""The town hall, the library and the school."""

from __future__ import annotations

from orienteer.fake_web.community import events
from orienteer.fake_web.community.addresses import (
    CAR_PARK,
    CLOSURES,
    COURIER,
    HALL,
    HALL_HOURS,
    HOME,
    LEXICON,
    LIBRARY,
    MARKET,
    MERIDIAN,
    MUSEUM,
    ROWING,
    SCHOOL,
    TOWN,
    TOWN_PAGES,
    VISIT,
    WAYFARER,
    at,
)  # fmt: skip
from orienteer.fake_web.community.page import WORDS, CommunityPage, Host, Link, Moved, Pages, pdf, slug

N_MEETINGS = 90
N_NOTICES = 6
BOOKS_PER_SHELF = 16
N_CLASSES, N_STAFF, N_LETTERS = 12, 24, 70

_SIGN_IN = CommunityPage("Please sign in", ("This page is not for everybody. Please sign in.",))

TOWN_FOOT = (Link("Town hall", HOME), Link("The Courier", at(COURIER)))
LOCAL_FOOT = (
    *TOWN_FOOT,
    Link("When the town hall is open", HALL_HOURS),
    Link("Where to park", CAR_PARK),
)


def write_hall(pages: Pages) -> None:
    menu = [("Home", "/"), ("Services", "/services"), ("Council", "/council"), ("Streets", "/streets"),
            ("Calendar", "/calendar/"), ("Contact", "/contact")]  # fmt: skip
    links = tuple(Link(text, at(HALL, path)) for text, path in menu)
    pages.hosts[HALL] = Host(HALL, "Quillhaven Town Hall", "#23405c", links, TOWN_FOOT[1:])
    pages.robots[HALL] = "User-agent: *\nDisallow: /internal/\n"
    services = _services(pages)
    meetings = _council(pages)
    streets = _streets(pages)
    departments = _departments(pages)
    _for_residents(pages)
    notices = _notices(pages)
    pages.at[HOME] = CommunityPage(
        "Quillhaven: the town on the tide",
        pages.writer(HOME).paragraphs(6, "services", "council"),
        (
            ("Notices", pages.links(notices)),
            ("Services", pages.links(services[:8])),
            ("The council", (pages.link(meetings[-1], "Latest meeting"), *pages.links(departments[:3]))),
            ("In town", _neighbours()),
        ),
    )
    pages.at[at(HALL, "/calendar/")] = Moved(events.first_month(HALL), 302)
    pages.at[at(HALL, "/index.html")] = Moved(HOME)
    pages.at[at(HALL, "/hours")] = Moved(HALL_HOURS)
    pages.at[at(TOWN)] = Moved(HOME)
    pages.at[at(HALL, "/streets")] = CommunityPage("Streets and roadworks", (), (("Streets", pages.links(streets)),))


def _neighbours() -> tuple[Link, ...]:
    return (
        Link("The Quillhaven Courier", at(COURIER)),
        Link("The Ferry at Night, a serial", at(COURIER, "/serial/1")),
        Link("Public library", at(LIBRARY)),
        Link("Harbour School", at(SCHOOL)),
        Link("Market traders", at(MARKET)),
        Link("Rowing club", at(ROWING)),
        Link("Town museum", at(MUSEUM)),
        Link("For visitors", at(VISIT, "/en/")),
        Link("Events this month", events.first_month(HALL)),
        Link("About Quillhaven", at(HALL, "/about")),
    )


def _services(pages: Pages) -> list[str]:
    urls = [at(HALL, f"/services/{slug(name)}") for name in WORDS["service"]]
    for k, (name, url) in enumerate(zip(WORDS["service"], urls, strict=True)):
        others = pages.writer(url, "links").draw.sample(urls[:k] or urls, min(2, max(k, 1)))
        more = [Link("Form to print (PDF)", f"{url}/form.pdf"), Link("Contact", at(HALL, "/contact"))]
        more += [Link(WORDS["service"][urls.index(other)], other) for other in others]
        pages.at[url] = CommunityPage(name, pages.writer(url).paragraphs(7, "services"), (("See also", tuple(more)),))
        pages.at[f"{url}/form.pdf"] = pdf(f"Quillhaven Town Hall: {name}")
    # The pool was closed years ago; nobody took the link away.
    gone = (
        Link("Swimming pool", at(HALL, "/services/swimming-pool")),
        Link("Ice rink", at(HALL, "/services/ice-rink")),
    )
    pages.at[at(HALL, "/services")] = CommunityPage(
        "Services from A to Z", (), (("Services", (*pages.links(urls), *gone)),)
    )
    return urls


def _council(pages: Pages) -> list[str]:
    """Write the meetings, each with a link to the previous one: one long chain."""
    urls: list[str] = []
    for number in range(N_MEETINGS):
        year, month = 2018 + (number + 10) // 12, (number + 10) % 12 + 1
        url = at(HALL, f"/council/{year}-{month:02}")
        minutes = f"{url}/minutes.pdf"
        onwards = [Link("Minutes (PDF)", minutes)] + [Link("Previous meeting", before) for before in urls[-1:]]
        if number % 6 == 0:
            onwards.append(Link("For councillors only", at(HALL, f"/internal/papers/{year}-{month:02}")))
            pages.at[onwards[-1].url] = _SIGN_IN
        title = f"Council meeting of {WORDS['month'][month - 1]} {year}"
        pages.at[url] = CommunityPage(title, pages.writer(url).paragraphs(9, "council"), (("Papers", tuple(onwards)),))
        pages.at[minutes] = pdf(title)
        urls.append(url)
    latest = tuple(pages.link(url) for url in reversed(urls[-4:]))
    text = pages.writer("council").paragraphs(4, "council")
    pages.at[at(HALL, "/council")] = CommunityPage("The town council", text, (("Latest meetings", latest),))
    return urls


def _streets(pages: Pages) -> list[str]:
    urls = []
    for name in WORDS["street"]:
        url = at(HALL, f"/streets/{slug(name)}")
        pages.at[url] = CommunityPage(f"{name}: roadworks", pages.writer(url).paragraphs(6, "streets"))
        urls.append(url)
    return urls


def _departments(pages: Pages) -> list[str]:
    urls = []
    for name in WORDS["department"]:
        url = at(HALL, f"/departments/{slug(name)}")
        writer = pages.writer(url)
        people = []
        for person in writer.draw.sample(WORDS["name"], 3):
            desk = f"{url}/{slug(person)}"
            pages.at[desk] = CommunityPage(
                person, pages.writer(desk).paragraphs(3, "services"), (("", (Link(name, url),)),)
            )
            people.append(Link(person, desk))
        pages.at[url] = CommunityPage(name, writer.paragraphs(5, "services", "council"), (("People", tuple(people)),))
        urls.append(url)
    rota = Link("Rota (staff only)", at(HALL, "/internal/rota"))
    pages.at[rota.url] = _SIGN_IN
    pages.at[at(HALL, "/departments")] = CommunityPage(
        "Departments", (), (("Departments", (*pages.links(urls), rota)),)
    )
    return urls


def _for_residents(pages: Pages) -> None:
    """Write the pages that all hosts of the town link to."""
    hours = (
        "Opening hours of the town hall: Monday to Friday from nine to four, on Thursday until half past six.",
        "The opening hours of the counter for passports and permits end an hour earlier. Closed on Saturday.",
    )
    pages.at[HALL_HOURS] = CommunityPage(
        "Opening hours of the town hall", hours + pages.writer(HALL_HOURS).paragraphs(6, "services")
    )
    parking = (
        "Bridge Street car park has ninety places, four of them for wheelchair users, five minutes from the bridge.",
        "Residents of Bridge Street pay half. On market days the Bridge Street car park is full before nine.",
    )
    roads = (Link("Roadworks in Bridge Street", at(HALL, "/streets/bridge-street")),)
    text = parking + pages.writer(CAR_PARK).paragraphs(6, "streets")
    pages.at[CAR_PARK] = CommunityPage("Bridge Street car park", text, (("On the way", roads),))
    closures = (
        "During the lantern festival Quay Street, Ropewalk and the east quay are closed to cars from noon.",
        "We look for volunteers who carry a lantern or a bucket. Residents may park in Bridge Street free of charge.",
    )
    helpers = (Link("Bridge Street car park", CAR_PARK), Link("Flood warnings", at(HALL, "/services/flood-warnings")))
    text = closures + pages.writer(CLOSURES).paragraphs(4, "streets", "services")
    pages.at[CLOSURES] = CommunityPage("Lantern festival: road closures", text, (("See also", helpers),))
    text = pages.writer("contact").paragraphs(4, "services")
    desks = (Link("Opening hours", HALL_HOURS), Link("Departments", at(HALL, "/departments")),
)  # fmt: skip
    pages.at[at(HALL, "/contact")] = CommunityPage("Contact", text, (("Where to turn", desks),))
    abroad = (
        Link("Quillhaven in the Open Lexicon", TOWN_PAGES[LEXICON]),
        Link("The Daily Meridian on Quillhaven", TOWN_PAGES[MERIDIAN]),
        Link("Wayfarer's guide to Quillhaven", TOWN_PAGES[WAYFARER]),
        Link("Harbour webcam", at(HALL, "/webcam")),  # 404
    )
    pages.at[at(HALL, "/about")] = CommunityPage(
        "About Quillhaven", pages.writer("about").paragraphs(8, "visit", "council"), (("What others say", abroad),)
    )


def _notices(pages: Pages) -> list[str]:
    """Write the page of this week; the previous one is deleted."""
    urls = []
    for number in range(pages.week, pages.week + N_NOTICES):
        url = at(HALL, f"/notices/{number + 211}")
        writer = pages.writer(url)
        pages.at[url] = CommunityPage(
            writer.headline("streets"), writer.paragraphs(5, "streets", "council"), by=f"No. {number + 211}"
        )
        urls.append(url)
    return [CLOSURES, *reversed(urls)]


def write_library(pages: Pages) -> None:
    menu = [("Library", "/"), ("Shelves", "/shelves"), ("Groups", "/groups"), ("Join", "/join")]
    links = tuple(Link(text, at(LIBRARY, path)) for text, path in menu)
    pages.hosts[LIBRARY] = Host(LIBRARY, "Quillhaven Public Library", "#6b3d2e", links, LOCAL_FOOT)
    pages.robots[LIBRARY] = "User-agent: *\nDisallow: /catalogue/\n"
    shelves = [_shelf(pages, number, name) for number, name in enumerate(WORDS["shelf"])]
    books = [url for url in pages.at if url.startswith(at(LIBRARY, "/book/"))]
    pages.at[at(LIBRARY, "/all")] = CommunityPage("All our books", (), (("Books", pages.links(books)),))
    pages.at[at(LIBRARY, "/shelves")] = CommunityPage("Our shelves", (), (("Shelves", pages.links(shelves)),))
    groups = []
    for name in WORDS["group"]:
        url = at(LIBRARY, f"/groups/{slug(name)}")
        text = pages.writer(url).paragraphs(6, "library")
        if name == "Bridge club":
            text = ("The bridge club plays bridge, the card game, on Thursday at seven. Beginners learn to bid.", *text)
        pages.at[url] = CommunityPage(name, text)
        groups.append(url)
    pages.at[at(LIBRARY, "/groups")] = CommunityPage("Groups that meet here", (), (("Groups", pages.links(groups)),))
    hours = at(LIBRARY, "/opening-hours")
    text = ("Opening hours of the library: Tuesday to Saturday from ten to six, on Wednesday until eight.",)
    pages.at[hours] = CommunityPage("Opening hours of the library", text + pages.writer(hours).paragraphs(3, "library"))
    text = pages.writer("join").paragraphs(4, "library")
    forms = (
        Link("Opening hours", hours),
        Link("Read the Courier here", at(COURIER, "/index.php")),
        Link("Library cards", at(HALL, "/services/library-cards")),
    )
    pages.at[at(LIBRARY, "/join")] = CommunityPage("Become a member", text, (("See also", forms),))
    lists = (("Visit us", (Link("Opening hours", hours), Link("All our books", at(LIBRARY, "/all")))),
             ("Shelves", pages.links(shelves[-4:])),
             ("Groups", pages.links(groups[:4])))  # fmt: skip
    pages.at[at(LIBRARY)] = CommunityPage(
        "Quillhaven Public Library", pages.writer(LIBRARY).paragraphs(7, "library"), lists
    )


def _shelf(pages: Pages, number: int, name: str) -> str:
    urls: list[str] = []
    for place in range(BOOKS_PER_SHELF):
        key = number * BOOKS_PER_SHELF + place
        url = at(LIBRARY, f"/book/{key + 1001}")
        writer = pages.writer(url)
        title = f"{writer.draw.choice(WORDS['book'])} ({writer.draw.choice(WORDS['year'])})"
        near = writer.draw.sample(urls, min(2, len(urls)))
        lists = (("On this shelf", (Link(name, at(LIBRARY, f"/shelf/{slug(name)}")), *pages.links(near))),)
        pages.at[url] = CommunityPage(title, writer.paragraphs(8, "books"), lists, by=writer.filled("by {name}"))
        urls.append(url)
    shelf = at(LIBRARY, f"/shelf/{slug(name)}")
    on_it = [("Books", pages.links(urls))]
    if name == "New this month":
        search = at(LIBRARY, "/catalogue/search?q=")
        pages.at[search] = CommunityPage("Catalogue search", ("Type a word.",))
        on_it.append(("Catalogue", (Link("Search the catalogue", search),)))
    pages.at[shelf] = CommunityPage(name, pages.writer(shelf).paragraphs(2, "library"), tuple(on_it))
    return shelf


def write_school(pages: Pages) -> None:
    menu = [("School", "/"), ("Classes", "/classes"), ("Staff", "/staff"), ("Letters home", "/letters")]
    links = tuple(Link(text, at(SCHOOL, path)) for text, path in menu)
    pages.hosts[SCHOOL] = Host(SCHOOL, "Harbour School", "#2f6b4f", links, LOCAL_FOOT)
    pages.robots[SCHOOL] = "User-agent: *\nDisallow: /marks/\n"
    classes, staff, letters = [], [], _letters(pages)
    for number in range(1, N_CLASSES + 1):
        url = at(SCHOOL, f"/class/{number}")
        text = pages.writer(url).paragraphs(7, "school")
        marks = at(SCHOOL, f"/marks/{number}")
        pages.at[marks] = _SIGN_IN
        links = (pages.link(letters[-number]), Link("Marks (pupils and parents)", marks))
        pages.at[url] = CommunityPage(f"Class {number}", text, (("News", links),))
        classes.append(url)
    names = pages.writer("staff").draw.sample(WORDS["name"], N_STAFF)
    for name in names:
        url = at(SCHOOL, f"/staff/{slug(name)}")
        pages.at[url] = CommunityPage(name, pages.writer(url).paragraphs(4, "school"))
        staff.append(url)
    pages.at[at(SCHOOL, "/classes")] = CommunityPage("Classes", (), (("Classes", pages.links(classes)),))
    pages.at[at(SCHOOL, "/staff")] = CommunityPage("Staff", (), (("Staff", pages.links(staff)),))
    office = at(SCHOOL, "/office")
    text = ("Opening hours of the school office: Monday to Friday from half past seven to one.",)
    pages.at[office] = CommunityPage(
        "Opening hours of the school office", text + pages.writer(office).paragraphs(3, "school")
    )
    lists = (
        ("Letters home", tuple(pages.link(url) for url in reversed(letters[-5:]))),
        ("For parents", (Link("Office", office), Link("School places", at(HALL, "/services/school-places")),
                         Link("Lantern festival: road closures", CLOSURES), Link("Our old site", at(SCHOOL, "/2011/")),
                         Link("Town hall", at(HALL, "/index.html")))),
    )  # fmt: skip
    pages.at[at(SCHOOL)] = CommunityPage("Harbour School", pages.writer(SCHOOL).paragraphs(6, "school"), lists)


def _letters(pages: Pages) -> list[str]:
    urls: list[str] = []
    for number in range(N_LETTERS + pages.week):
        url = at(SCHOOL, f"/letters/{number + 1}")
        writer = pages.writer(url)
        older = tuple(Link("Previous letter", before) for before in urls[-1:])
        pages.at[url] = CommunityPage(writer.headline("school"), writer.paragraphs(7, "school"), (("Letters", older),))
        urls.append(url)
    latest = tuple(pages.link(url) for url in reversed(urls[-8:]))
    pages.at[at(SCHOOL, "/letters")] = CommunityPage("Letters home", (), (("Latest", latest),))
    return urls
