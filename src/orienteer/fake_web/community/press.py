"""The town's newspaper, and three blogs."""

from __future__ import annotations

from datetime import date, timedelta

from orienteer.fake_web.community.addresses import (
    ATLAS,
    BIRDS,
    BLUE_CHEESE,
    CHEESE,
    CLOSURES,
    COURIER,
    GARDEN,
    HALL,
    KITCHEN,
    LIBRARY,
    MARKET,
    MERIDIAN,
    MUSEUM,
    ROWING,
    SCHOOL,
    SPOONBILLS,
    STARS,
    TOWN_PAGES,
    VISIT,
    at,
)  # fmt: skip
from orienteer.fake_web.community.civic import TOWN_FOOT
from orienteer.fake_web.community.page import CommunityPage, Host, Link, Moved, Pages, png, slug

TODAY = date(2026, 5, 4)
N_ARTICLES, ARTICLES_PER_WEEK = 520, 8
N_CHAPTERS = 20
_SECTIONS = ("town", "council", "streets", "culture", "sport", "weather")
_REPORTERS = ("Ada Marlow", "Hugh Pell", "Joan Ferris", "Samir Qureshi")
_PER_PAGE = 20
_PRINTED_EVERY = 7
_RECENT = 12  # articles back, of which an article links to some

_MENTIONED = (
    Link("The council's papers", at(HALL, "/council")), Link("All roadworks", at(HALL, "/streets")),
    Link("Library", at(LIBRARY)), Link("Harbour School", at(SCHOOL)), Link("Rowing club", at(ROWING)),
    Link("Town museum", at(MUSEUM)), Link("Small ads", at(MARKET)), Link("Observatory", at(STARS)),
    Link("Salt and Butter, a kitchen blog", at(KITCHEN)), Link("Marsh diary", at(BIRDS)),
    Link("Old petition", at(HALL, "/petitions/2019")),  # 404
    Link("Visitors' office", at(VISIT, "/en/")), Link("Allotment notes", at(GARDEN)),
)  # fmt: skip


def published(number: int) -> date:
    """Return the publication date of an article; those of week 0 end today."""
    return TODAY - timedelta(days=(N_ARTICLES - number) * 7 // ARTICLES_PER_WEEK)


def write_courier(pages: Pages) -> None:
    menu = [Link("Courier", at(COURIER))] + [Link(name.capitalize(), _section(name)) for name in _SECTIONS]
    menu += [Link("Our serial", _chapter(1)), Link("Archive", at(COURIER, "/archive"))]
    pages.hosts[COURIER] = Host(COURIER, "The Quillhaven Courier", "#7a1f2b", tuple(menu), TOWN_FOOT)
    articles: dict[str, list[str]] = {name: [] for name in _SECTIONS}
    urls: list[str] = []
    for number in range(N_ARTICLES + ARTICLES_PER_WEEK * pages.week):
        writer = pages.writer("courier", number)
        section = writer.draw.choices(_SECTIONS, (9, 4, 3, 4, 4, 2))[0]
        title = writer.headline(section)
        url = at(COURIER, f"/{published(number):%Y/%m}/{number}-{slug(title)}")
        _write_article(pages, url, number, section, title, articles[section])
        articles[section].append(url)
        urls.append(url)
    for name in _SECTIONS:
        pages.write_listing(_section(name), name.capitalize(), articles[name][::-1], _PER_PAGE)
    months = _write_archive(pages, urls)
    _write_serial(pages)
    front = tuple(pages.link(url) for url in reversed(urls[-14:]))
    service = (Link("Lantern festival: road closures", CLOSURES), pages.link(months[-1], "All articles of this month"))
    text = (f"Monday, {TODAY + timedelta(weeks=pages.week):%d %B %Y}. News from the harbour, the hill and the lanes.",)
    pages.at[at(COURIER)] = CommunityPage("The Quillhaven Courier", text, (("Today", front), ("Service", service)))
    pages.at[at(COURIER, "/index.php")] = Moved(at(COURIER))


def _chapter(number: int) -> str:
    return at(COURIER, f"/serial/{number}")


def _write_serial(pages: Pages) -> None:
    """Write a serial novel: a chain of chapters at increasing depth."""
    for number in range(1, N_CHAPTERS + 1):
        after = Link("Next chapter", _chapter(number + 1)) if number < N_CHAPTERS else Link("The Courier", at(COURIER))
        text = pages.writer("serial", number).paragraphs(10, "books", "weather")
        pages.at[_chapter(number)] = CommunityPage(
            f"The Ferry at Night, chapter {number}", text, (("", (after,)),), bare=True
        )


def _section(name: str) -> str:
    return at(COURIER, f"/section/{name}")


def _write_article(pages: Pages, url: str, number: int, section: str, title: str, earlier: list[str]) -> None:
    writer = pages.writer(url)
    by = f"{writer.draw.choice(_REPORTERS)}, {published(number):%d %B %Y}"
    text = writer.paragraphs(writer.draw.randrange(7, 12), section, "town")
    recent = earlier[-_RECENT:]
    links = [pages.link(before) for before in writer.draw.sample(recent, min(2, len(recent)))]
    if writer.draw.random() < 0.3:
        links.append(writer.draw.choice(_MENTIONED))
    if writer.draw.random() < 0.05:
        links.append(Link("The Daily Meridian on this", at(MERIDIAN, f"/{writer.draw.randrange(90)}")))
    if number % _PRINTED_EVERY == 0:
        printed = f"{url}?print=1"
        links.append(Link("Print version", printed))
        pages.at[printed] = CommunityPage(title, text, (("", (Link("Back to the article", url),)),), by, bare=True)
    picture = ""
    if number % 40 == 1:
        picture = f"/pictures/{number}.png"
        pages.at[at(COURIER, picture)] = png(pages.rng, picture)
    pages.at[url] = CommunityPage(title, text, (("More", tuple(links)),) if links else (), by, picture=picture)


def _write_archive(pages: Pages, urls: list[str]) -> list[str]:
    """Write the archive by month, each with a link to the previous one."""
    by_month: dict[str, list[str]] = {}
    for url in urls:
        by_month.setdefault("-".join(url.split("/")[3:5]), []).append(url)
    months: list[str] = []
    for month, articles in by_month.items():
        page = at(COURIER, f"/archive/{month}")
        before = tuple(Link("The month before", url) for url in months[-1:])
        pages.at[page] = CommunityPage(f"Archive: {month}", (), (("Articles", pages.links(articles)), ("", before)))
        months.append(page)
    pages.at[at(COURIER, "/archive")] = CommunityPage("Archive", (), (("Latest month", (pages.link(months[-1]),)),))
    return months


def write_blogs(pages: Pages) -> None:
    _write_blog(pages, KITCHEN, "Salt and Butter", "kitchen", 90, "#8a6d1f", BLUE_CHEESE, CHEESE)
    _write_blog(pages, BIRDS, "Marsh diary", "birds", 110, "#3b6e75", SPOONBILLS, ATLAS)
    _write_blog(pages, GARDEN, "Allotment notes", "garden", 60, "#4d6b2a", None, None)
    text = (
        "Quillhaven blue is a cheese made from the milk of cows that graze the saltmarsh. The blue cheese ripens for "
        "nine weeks in the cellar under the old tannery, and it is turned by hand.",
        "This is the recipe of the dairy for a cheese you can make at home: milk, rennet, salt, time, and a cellar.",
    )
    pages.at[BLUE_CHEESE] = CommunityPage(
        "Quillhaven blue: how the cheese is made", text + pages.writer(BLUE_CHEESE).paragraphs(5, "kitchen"),
        (("The cheese elsewhere", (Link("Cheese pages: Quillhaven blue", TOWN_PAGES[CHEESE]),)),),
    )  # fmt: skip
    text = (
        "A pair of spoonbills has bred behind the sluice since 2021, the first spoonbills on this coast for a century.",
        "The colony can be watched from the hide near the weir. Please stay on the path, or the spoonbills leave.",
    )
    pages.at[SPOONBILLS] = CommunityPage(
        "The spoonbills of Quillhaven", text + pages.writer(SPOONBILLS).paragraphs(5, "birds"),
        (("Counted here, too", (Link("Bird atlas: Quillhaven saltmarsh", TOWN_PAGES[ATLAS]),)),),
    )  # fmt: skip


def _write_blog(
    pages: Pages,
    host: str,
    title: str,
    topic: str,
    n_posts: int,
    colour: str,
    known_for: str | None,
    abroad: str | None,
) -> None:
    """Write the posts, each with a link to the previous one; the about page links to the well-known page."""
    about, home = at(host, "/about"), at(host)
    pages.hosts[host] = Host(host, title, colour, (Link(title, home), Link("About me", about)), TOWN_FOOT)
    urls: list[str] = []
    for number in range(n_posts + pages.week):
        url = at(host, f"/{number + 1}")
        writer = pages.writer(url)
        links = [Link("The post before", before) for before in urls[-1:]]
        links += [pages.link(other) for other in writer.draw.sample(urls[:5], min(2, len(urls[:5])))]
        pages.at[url] = CommunityPage(writer.headline(topic), writer.paragraphs(9, topic), (("More", tuple(links)),))
        urls.append(url)
    latest = tuple(pages.link(url) for url in reversed(urls[-8:]))
    pages.at[home] = CommunityPage(title, pages.writer(home).paragraphs(3, topic), (("Latest", latest),))
    friends = [Link("Market", at(MARKET)), Link("Stalls", at(MARKET, "/stalls.html")), Link("The Courier", at(COURIER))]
    if known_for is not None and abroad is not None:
        friends = [Link("What people ask me about", known_for), Link("Elsewhere", at(abroad)), *friends]
    pages.at[about] = CommunityPage(
        "About me", pages.writer(about).paragraphs(4, topic, "town"), (("Links", tuple(friends)),)
    )
