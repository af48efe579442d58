"""Quillhaven as a site: the hosts of the town, and the external sites that link to it.

    site = TownSite()
    with TownServer(site) as web:
        ...                        # http://www.quillhaven.localhost:{web.port}/, in a crawler or in a browser
        site.pass_a_week()         # news and new ads; old ads are deleted

Everything is determined by `rng` and the number of weeks. The calendar of the town hall is endless; the library's
catalogue, the council's papers and the pupils' marks are disallowed by robots.txt; some links are broken.

The calendar has a page for every future month and day. Each month links to its days, to the months before and after,
and a year ahead; each day to the next. Few of them have anything to say. A crawler that follows every link stays there
for ever.
"""

from __future__ import annotations

import calendar
import re
from typing import NamedTuple
from urllib.parse import urlsplit

from orienteer.fake_web.page import PORT, Link, Moved, ProseWriter, SiteResponse, TownPage, rendered
from orienteer.fake_web.town import TOWN, TownPages, host_name, url_of

HOME = url_of("www/")

CALENDAR_PATH = "/calendar/"

_CALENDAR_HOST = host_name("www")
_FIRST_YEAR, _FIRST_MONTH = 2026, 5  # of the calendar
_DATE = re.compile(r"/calendar/(\d{4,6})-(\d\d)(?:-(\d\d))?")
_EVERY = 400  # years after which the calendar repeats itself
_SHARE_OF_DAYS_WITH_EVENTS = 0.04
_NOT_HERE = TownPage("Not found", ("There is no such page.",))


class SiteChanges(NamedTuple):
    """The changes of some time, by URL: the result of a perfect refresh."""

    new: frozenset[str]
    edited: frozenset[str]
    deleted: frozenset[str]


class TownSite:
    """The town of Quillhaven, and the sites that write about it."""

    def __init__(self, rng: int = 0, week: int = 0) -> None:
        self.rng = rng
        self._pages = TownPages(rng, week)

    @property
    def week(self) -> int:
        return self._pages.week

    def pass_a_week(self) -> SiteChanges:
        """Advance the web by a week; return the changes by URL."""
        before = self._pages.at
        self._pages = TownPages(self.rng, self.week + 1)
        now = {url: page for url, page in self._pages.at.items() if isinstance(page, TownPage)}
        edited = (url for url, page in now.items() if before.get(url, page) != page)
        deleted = (url for url, page in before.items() if isinstance(page, TownPage) and url not in now)
        return SiteChanges(frozenset(now.keys() - before.keys()), frozenset(edited), frozenset(deleted))

    def urls(self) -> list[str]:
        """Return the URLs of all pages, without files, redirects and the endless calendar."""
        return [url for url, page in self._pages.at.items() if isinstance(page, TownPage)]

    def town_urls(self) -> list[str]:
        """Return the URLs of the town's own pages."""
        return [url for url in self.urls() if is_of_town(url)]

    def response(self, host: str, target: str) -> SiteResponse:
        """Return the response to a request for `target`, the path and query of a URL."""
        name, colon, port = host.partition(":")
        pages = self._pages  # pass_a_week may replace it meanwhile
        if target == "/robots.txt" and name in pages.robots:
            return SiteResponse(pages.robots[name].encode(), "text/plain")
        url = f"http://{name}{target}"
        made = pages.at.get(url)
        if made is None and name == _CALENDAR_HOST and target.startswith(CALENDAR_PATH):
            made = calendar_page(self.rng, name, target)
        if isinstance(made, SiteResponse):
            return made
        if isinstance(made, Moved):
            return SiteResponse(b"", status=made.status, headers=(("Location", _with_port(made.url, colon + port)),))
        html = pages.html.get(url)
        if html is None:
            if name not in pages.hosts:
                return SiteResponse(b"<!DOCTYPE html><title>Not found</title><p>There is no such host.", status=404)
            html = rendered(made or _NOT_HERE, pages.hosts[name])
            if url in pages.at:
                pages.html[url] = html
        return SiteResponse(html.replace(PORT, colon + port).encode(), status=404 if made is None else 200)


def url_at_port(url: str, port: int) -> str:
    """Return the URL of a page when the web is served on this port, for browsers and crawls."""
    return _with_port(url, f":{port}")


def _with_port(url: str, port: str) -> str:
    name, slash, path = url.removeprefix("http://").partition("/")
    return f"http://{name}{port}{slash}{path}"


def is_of_town(url: str) -> bool:
    name = urlsplit(url).hostname or ""
    return name == TOWN or name.endswith("." + TOWN)


def calendar_page(rng: int, host: str, path: str) -> TownPage | None:
    """Return the page at this path of the calendar; None for an impossible date."""
    match = _DATE.fullmatch(path)
    if match is None:
        return None
    year, month, day = int(match[1]), int(match[2]), int(match[3] or 1)
    if not 1 <= month <= 12 or (year, month) < (_FIRST_YEAR, _FIRST_MONTH) or not 1 <= day <= _n_days(year, month):
        return None
    return _month(host, year, month) if match[3] is None else _day(rng, host, year, month, day)


def _month(host: str, year: int, month: int) -> TownPage:
    days = [Link(f"{day} {_name(month)}", _url(host, year, month, day)) for day in range(1, _n_days(year, month) + 1)]
    onwards = [
        Link("Next month", _url(host, *_after(year, month))),
        Link("The same month next year", _url(host, year + 1, month)),
    ]
    if (year, month) > (_FIRST_YEAR, _FIRST_MONTH):
        before = (year - 1, 12) if month == 1 else (year, month - 1)
        onwards.insert(0, Link("Previous month", _url(host, *before)))
    text = f"What is on in Quillhaven in {_name(month)} {year}. Choose a day to see its events."
    return TownPage(f"Events in {_name(month)} {year}", (text,), (("Days", tuple(days)), ("Onwards", tuple(onwards))))


def _day(rng: int, host: str, year: int, month: int, day: int) -> TownPage:
    writer = ProseWriter(rng, "calendar", year, month, day)
    text = "No events have been entered for this day."
    if writer.draw.random() < _SHARE_OF_DAYS_WITH_EVENTS:
        text = " ".join(writer.paragraphs(2, "culture", "town"))
    last = day == _n_days(year, month)
    after = (*_after(year, month), 1) if last else (year, month, day + 1)
    onwards = (Link("Next day", _url(host, *after)), Link(f"{_name(month)} {year}", _url(host, year, month)))
    return TownPage(f"Events on {day} {_name(month)} {year}", (text,), (("Onwards", onwards),))


def _url(host: str, year: int, month: int, day: int | None = None) -> str:
    return f"http://{host}{CALENDAR_PATH}{year:04}-{month:02}" + (f"-{day:02}" if day is not None else "")


def _after(year: int, month: int) -> tuple[int, int]:
    return (year + 1, 1) if month == 12 else (year, month + 1)


def _n_days(year: int, month: int) -> int:
    return calendar.monthrange(2000 + year % _EVERY, month)[1]


def _name(month: int) -> str:
    return calendar.month_name[month]
