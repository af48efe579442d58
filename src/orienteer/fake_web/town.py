"""The pages of Quillhaven and of the sites that write about it, as town.toml describes them.

Each page has a random generator of its own, determined by `rng` and its key (by default its URL), so that a change of
one page changes no other. Articles and small ads, whose links depend on chance, and the external sites have functions
of their own here; all other pages are series in town.toml, written in its order.
"""

from __future__ import annotations

import re
import tomllib
from calendar import month_name
from collections import defaultdict
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple

from orienteer.fake_web.page import WORDS, Host, Link, Moved, ProseWriter, SiteResponse, TownPage, pdf, png, slug

TOWN = "quillhaven.localhost"
TODAY = date(2026, 5, 4)

_DATA: dict[str, Any] = tomllib.loads((Path(__file__).parent / "town.toml").read_text("utf-8"))
SIZES: dict[str, int] = _DATA["sizes"]
_EXTERNAL: dict[str, dict[str, Any]] = _DATA["external"]
_SERIES_ITEM = re.compile(r"(\d*)\*(\w+)(?: by ([\w ]+))?(?:\[([-:\d]*)\])?")
_LISTED_PER_PAGE = {"courier": 20, "market": 10}
_SOLD_IN_WEEKS = 21  # or withdrawn
_PRINTED_EVERY, _PICTURE_EVERY = 7, 40  # articles
_RECENT = 12  # articles back, of which an article links to some


class _Item(NamedTuple):
    """A page of a series, with the values of its variables."""

    url: str
    values: dict[str, Any]


def url_of(place: str) -> str:
    """Return the URL of a place, such as `www/contact`; the host of an empty name is the town itself."""
    name, _, path = place.partition("/")
    host = _EXTERNAL[name]["address"] if name in _EXTERNAL else f"{name}.{TOWN}".removeprefix(".")
    return f"http://{host}/{path}"


def host_name(name: str) -> str:
    return url_of(f"{name}/").split("/")[2]


class TownPages:
    """All pages by URL, `week` weeks after the town was founded, with redirects and files."""

    def __init__(self, rng: int, week: int) -> None:
        self.rng = rng
        self.week = week
        self.at: dict[str, TownPage | Moved | SiteResponse] = {}
        self.hosts: dict[str, Host] = {}
        self.robots: dict[str, str] = {}
        self.html: dict[str, str] = {}  # cache of requested pages
        self._series: dict[str, list[_Item]] = defaultdict(list)
        for name, about in _DATA["hosts"].items():
            self._add_host(name, about["title"], about["colour"], about["menu"], _DATA["feet"][about["foot"]])
            if "forbidden" in about:
                self.robots[host_name(name)] = f"User-agent: *\nDisallow: {about['forbidden']}\n"
        for table, status in (("moved", 301), ("moved_for_now", 302)):
            self.at |= {url_of(old): Moved(url_of(new), status) for old, new in _DATA[table].items()}
        self._write_ads()
        for spec in _DATA["series"]:
            self._write_series(spec)
        self._write_articles()
        for name, site in _EXTERNAL.items():
            self._write_external(name, site)

    def _add_host(self, name: str, title: str, colour: str, menu: list[str], foot: list[str]) -> None:
        host = host_name(name)
        home = TownPage("", url=url_of(f"{name}/"))
        menu_links, foot_links = (tuple(self._links(items, home, {})) for items in (menu, foot))
        self.hosts[host] = Host(host, title, colour, menu_links, foot_links)

    def _writer(self, *key: object) -> ProseWriter:
        return ProseWriter(self.rng, *key)

    # -- series ----------------------------------------------------------------------------------------------------

    def _write_series(self, spec: dict[str, Any]) -> None:
        for values in islice(self._values(spec), SIZES[spec["most"]] if "most" in spec else None):
            url = self._write_page(spec, values)
            self._series[spec.get("name", "")].append(_Item(url, values))

    def _values(self, spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the values of the variables of each page of a series."""
        each = spec.get("each", {})
        rows = list(product(*map(self._domain, each.values())))
        first = spec.get("first", 1) + self.week * spec.get("moving", False)
        for n, row in enumerate(reversed(rows) if spec.get("backwards") else rows, first):
            values: dict[str, Any] = {"n": n, **dict(zip(each, row, strict=True))}
            values["slug"] = next((slug(word) for word in reversed(row) if isinstance(word, str)), "")
            if "months" in spec:
                year, month = map(int, spec["months"].split("-"))
                years, month = divmod(month + n - 2, 12)
                values["year"], values["month_name"] = year + years, month_name[month + 1]
                values["month"] = f"{year + years}-{month + 1:02}"
            yield values

    def _domain(self, given: Any) -> list[Any]:
        """Return the values of a variable: words of a kind, or the numbers up to a size or between two."""
        if isinstance(given, str) and given in WORDS:
            return list(WORDS[given])
        first, last = given if isinstance(given, list) else (1, given)
        return list(range(self._size(first), self._size(last) + 1))

    def _size(self, given: int | str) -> int:
        if isinstance(given, int):
            return given
        return SIZES[given.removesuffix("+")] + self.week * given.endswith("+")

    def _write_page(self, spec: dict[str, Any], values: dict[str, Any]) -> str:
        if "{title_slug}" not in spec["url"]:
            spec = spec | _DATA["extra"].get(spec["url"].format_map(values), {})
        key = spec.get("key", "").format_map(values)
        writer = self._writer(key or url_of(spec["url"].format_map(values)))
        title = (
            writer.headline(spec["headline"]) if "headline" in spec else writer.filled(spec["title"].format_map(values))
        )
        url = url_of(spec["url"].format_map(values | {"title_slug": slug(title)}))
        page = TownPage(
            title,
            (*spec.get("text", ()), *writer.about(spec.get("prose", ""))),
            by=writer.filled(spec.get("by", "").format_map(values)),
            language=spec.get("language", "en"),
            picture=spec.get("picture", ""),
            bare=spec.get("bare", False),
            url=url,
        )
        lists = [(heading, tuple(self._links(items, page, values))) for heading, items in spec.get("links", {}).items()]
        self._add(page, lists)
        for place, text in spec.get("pdf", {}).items():
            self.at[_absolute(place.format_map(values), url)] = pdf(text.format_map(values))
        return url

    def _add(self, page: TownPage, lists: list[tuple[str, tuple[Link, ...]]]) -> None:
        self.at[page.url] = page.with_lists(lists)
        if page.picture:
            self.at[_absolute(page.picture, page.url)] = png(self.rng, page.picture)

    def _links(self, items: list[str], page: TownPage, values: dict[str, Any]) -> Iterator[Link]:
        """Yield the links of a page that its items name."""
        for item in items:
            text, _, place = item.format_map(values).rpartition(" > ")
            if match := _SERIES_ITEM.fullmatch(place):
                urls = self._of_series(match, page, values)
            else:
                urls = [_absolute(place, page.url)]
            yield from (self._link(url, text) for url in urls)

    def _of_series(self, match: re.Match[str], page: TownPage, values: dict[str, Any]) -> list[str]:
        n_drawn, name, shared, bounds = match.groups()
        names = (shared or "").split()
        urls = [item.url for item in self._series[name] if all(item.values[one] == values[one] for one in names)]
        if bounds and ":" in bounds:
            urls = urls[slice(*(int(bound) if bound else None for bound in bounds.split(":")))]
        elif bounds:
            at = int(bounds)
            urls = urls[at:][:1] if -at <= len(urls) else []
        if n_drawn:
            urls = self._writer(page.url, "links").draw.sample(urls, min(int(n_drawn), len(urls)))
        return urls

    def _link(self, url: str, text: str = "") -> Link:
        """Return a link, by default with the title of the page, which must have been written before."""
        page = self.at.get(url)
        return Link(text or (page.title if isinstance(page, TownPage) else ""), url)

    def _write_listing(self, url: str, title: str, urls: list[str], per_page: int) -> None:
        """Write a list as several pages, each with a link to the next."""
        n_pages = -(-len(urls) // per_page)
        for k in range(n_pages):
            lists = [("", tuple(map(self._link, urls[k * per_page : (k + 1) * per_page])))]
            if k + 1 < n_pages:
                lists.append(("", (Link("Older ones", f"{url}/{k + 2}"),)))
            number = f", page {k + 1}" if k else ""
            self._add(TownPage(title + number, url=url + (f"/{k + 1}" if k else "")), lists)

    # -- pages whose links depend on chance ------------------------------------------------------------------------

    def _write_ads(self) -> None:
        """Write small ads: each week some are new, and some are deleted but still linked to."""
        kinds: dict[str, list[str]] = {kind: [] for kind in _DATA["market"]["kinds"]}
        for number in range(SIZES["ads"] + SIZES["ads_per_week"] * self.week):
            if 0 < number % _SOLD_IN_WEEKS <= self.week:
                continue
            url = url_of(f"market/ad/{number + 5000}")
            writer = self._writer(url)
            kind = writer.draw.choice(list(kinds))
            page = TownPage(writer.headline("market"), writer.about("5 market"), by=f"No. {number + 5000}", url=url)
            similar = Link("A similar ad", url_of(f"market/ad/{max(number - 1, 0) + 5000}"))
            self._add(page, [("See also", (similar, Link(kind.capitalize(), url_of(f"market/ads/{slug(kind)}"))))])
            kinds[kind].append(url)
            self._series["ads"].append(_Item(url, {}))
        for kind, urls in kinds.items():
            self._write_listing(
                url_of(f"market/ads/{slug(kind)}"), kind.capitalize(), urls[::-1], _LISTED_PER_PAGE["market"]
            )
        links = tuple(self._link(url_of(f"market/ads/{slug(kind)}")) for kind in kinds)
        self._add(TownPage("Small ads", url=url_of("market/ads")), [("Kinds", links)])

    def _write_articles(self) -> None:
        """Write the newspaper: its articles, with sections and an archive of months that lead to them."""
        weights: dict[str, int] = _DATA["courier"]["sections"]
        of_section: dict[str, list[str]] = {name: [] for name in weights}
        of_month: dict[str, list[str]] = defaultdict(list)
        for number in range(SIZES["articles"] + SIZES["articles_per_week"] * self.week):
            writer = self._writer("courier", number)
            section = writer.draw.choices(list(weights), list(weights.values()))[0]
            title = writer.headline(section)
            published = TODAY - timedelta(days=(SIZES["articles"] - number) * 7 // SIZES["articles_per_week"])
            url = url_of(f"courier/{published:%Y/%m}/{number}-{slug(title)}")
            self._write_article(url, number, title, section, of_section[section][-_RECENT:], published)
            of_section[section].append(url)
            of_month[f"{published:%Y-%m}"].append(url)
        for name, urls in of_section.items():
            section_url = url_of(f"courier/section/{name}")
            self._write_listing(section_url, name.capitalize(), urls[::-1], _LISTED_PER_PAGE["courier"])
        month: tuple[Link, ...] = ()
        for name, urls in of_month.items():
            page = TownPage(f"Archive: {name}", url=url_of(f"courier/archive/{name}"))
            before = tuple(Link("The month before", link.url) for link in month)
            self._add(page, [("Articles", tuple(map(self._link, urls))), ("", before)])
            month = (self._link(page.url),)
        self._add(TownPage("Archive", url=url_of("courier/archive")), [("Latest month", month)])
        text = f"Monday, {TODAY + timedelta(weeks=self.week):%d %B %Y}. News from the harbour, the hill and the lanes."
        latest = [url for urls in of_month.values() for url in urls][:-15:-1]
        service = (
            Link("Lantern festival: road closures", url_of("www/lantern-festival")),
            Link("All articles of this month", month[0].url),
        )
        page = TownPage("The Quillhaven Courier", (text,), url=url_of("courier/"))
        self._add(page, [("Today", tuple(map(self._link, latest))), ("Service", service)])

    def _write_article(
        self, url: str, number: int, title: str, section: str, recent: list[str], published: date
    ) -> None:
        writer, about = self._writer(url), _DATA["courier"]
        by = f"{writer.draw.choice(about['reporters'])}, {published:%d %B %Y}"
        text = writer.paragraphs(writer.draw.randrange(7, 12), section, "town")
        picture = f"/pictures/{number}.png" if number % _PICTURE_EVERY == 1 else ""
        page = TownPage(title, text, by=by, picture=picture, url=url)
        links = [self._link(earlier) for earlier in writer.draw.sample(recent, min(2, len(recent)))]
        if writer.draw.random() < 0.3:
            links += self._links([writer.draw.choice(about["mentions"])], page, {})
        if writer.draw.random() < 0.05:
            links.append(Link("The Daily Meridian on this", url_of(f"meridian/{writer.draw.randrange(90)}")))
        if number % _PRINTED_EVERY == 0:
            printed = f"{url}?print=1"
            links.append(Link("Print version", printed))
            back = (Link("Back to the article", url),)
            self._add(TownPage(title, text, by=by, bare=True, url=printed), [("", back)])
        self._add(page, [("More", tuple(links))] if links else [])

    def _write_external(self, name: str, site: dict[str, Any]) -> None:
        """Write a site that has one page about the town, and pages that link to each other and to the town."""
        topic, language, known_for = site["topic"], site.get("language", "en"), _DATA["known_for"]
        known = [f"{known_for[place]} > {place}" for place in site["mentions"]]
        self._add_host(name, site["title"], site["colour"], [f"{site['title']} > /", known[0]], [])
        urls = [url_of(f"{name}/{number}") for number in range(site["n_pages"])]
        titles = [self._writer(url).headline(topic) for url in urls]
        for number, url in enumerate(urls):
            text = self._writer(url, "text").about(f"8 {topic}")
            page = TownPage(titles[number], text, language=language, url=url)
            draw = self._writer(url, "links").draw
            # Earlier pages have more in-links.
            own = {int(len(urls) * draw.random() ** 2) for _ in range(2)} | {(number + 1) % len(urls)}
            links = [Link(titles[k], urls[k]) for k in sorted(own - {number})]
            other, about = draw.choice(list(_EXTERNAL.items()))
            if other != name:
                links.append(Link(about["title"], url_of(f"{other}/{int(about['n_pages'] * draw.random() ** 2)}")))
            if draw.random() < site["share"]:
                links += self._links([draw.choice(known)], page, {})
            self._add(page, [("→", tuple(links))])
        home = TownPage(
            site["title"],
            self._writer(url_of(f"{name}/")).about(f"4 {topic}"),
            language=language,
            url=url_of(f"{name}/"),
        )
        town = next(self._links([site["town"]], home, {}))
        text = self._writer(town.url).about(f"8 {topic}")
        page = TownPage(town.text, text, language=language, url=town.url)
        self._add(page, [("→", tuple(self._links(known, page, {})))])
        friends = [f"{_EXTERNAL[other]['title']} > {other}/" for other in list(_EXTERNAL)[:3] if other != name]
        self._add(home, [("→", (*map(self._link, urls[:12]), town, *self._links(friends, home, {})))])


def _absolute(place: str, base: str) -> str:
    return "/".join(base.split("/")[:3]) + place if place.startswith("/") else url_of(place)
