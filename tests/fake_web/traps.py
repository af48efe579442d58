"""Crawler traps on every host of a site; home pages link to them.

/traps                  links to all traps
/calendar/              every day links to the next day, month and year, endlessly
/session/               every response links to the same few pages with a new session id
/loop/a, /loop/b        redirect to each other
/hops/n                 redirects to /hops/n-1; /hops/0 is a page
/hops/endless/n         redirects to /hops/endless/n+1
/links                  a page with very many links, all of them 404
"""

from __future__ import annotations

import datetime
import re
from dataclasses import replace

from tests.fake_web.fake_response import NOT_FOUND, FakeResponse, redirect_to
from tests.fake_web.site import RequestHeaders, Site

ENTRANCE = "/traps"
_DAY = re.compile(r"/calendar/(\d{4,5})-(\d\d)-(\d\d)")
_HOP = re.compile(r"/hops/(endless/)?(\d{1,9})")
_SESSION = re.compile(r"/session/(\w*)")
_FIRST_DAY = "2026-01-01"


def with_traps(site: Site, n_hops: int = 20, n_links: int = 100_000) -> Site:
    """Add traps to every host of a site."""
    return _Trapped(site, n_hops, n_links)


class _Trapped(Site):
    def __init__(self, site: Site, n_hops: int, n_links: int) -> None:
        self._site = site
        self._n_hops = n_hops
        self._n_links = n_links
        self._n_sessions = 0

    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        path = target.partition("?")[0]
        trap = self._trap(path)
        if trap is not None:
            return trap
        response = self._site.response(host, target, headers)
        return _with_entrance(response) if path == "/" and response.status == 200 and response.raw is None else response

    def _trap(self, path: str) -> FakeResponse | None:
        if path == ENTRANCE:
            return self._entrance()
        if path in ("/loop/a", "/loop/b"):
            return redirect_to("/loop/b" if path == "/loop/a" else "/loop/a", 302)
        if path == "/links":
            return _page("Links", [f"/links/{k}" for k in range(self._n_links)])
        if path == "/calendar/":
            return _page("Calendar", [f"/calendar/{_FIRST_DAY}"])
        if match := _DAY.fullmatch(path):
            return _day(*map(int, match.groups()))
        if match := _HOP.fullmatch(path):
            return _hop(bool(match[1]), int(match[2]))
        if match := _SESSION.fullmatch(path):
            return self._session()
        return None

    def _entrance(self) -> FakeResponse:
        hops = [f"/hops/{self._n_hops}", "/hops/endless/0"]
        return _page("Traps", ["/calendar/", "/session/", "/loop/a", *hops, "/links"])

    def _session(self) -> FakeResponse:
        self._n_sessions += 1
        names = ("", "news", "products", "contact")
        return _page("Welcome", [f"/session/{name}?sid={self._n_sessions:08x}" for name in names])


def _page(title: str, links: list[str]) -> FakeResponse:
    items = "".join([f'<li><a href="{link}">{link}</a>\n' for link in links])
    return FakeResponse(f"<!DOCTYPE html><title>{title}</title>\n<h1>{title}</h1>\n<ul>{items}</ul>\n")


def _with_entrance(response: FakeResponse) -> FakeResponse:
    body = response.body.encode() if isinstance(response.body, str) else response.body
    return replace(response, body=body + f'<p><a href="{ENTRANCE}">More</a></p>\n'.encode())


def _day(year: int, month: int, day: int) -> FakeResponse:
    """Return the page of a day, with three links into the future, also after the year 9999."""
    try:
        weekday = datetime.date(2000 + year % 400, month, day).strftime("%A")  # the calendar repeats after 400 years
    except ValueError:
        return NOT_FOUND
    last_month = month == 12
    links = (
        _following(year, month, day),
        (year + last_month, 1 if last_month else month + 1, 1),
        (year + 1, month, 1),
    )
    return _page(f"{weekday}, {year}-{month:02}-{day:02}", [f"/calendar/{y:04}-{m:02}-{d:02}" for y, m, d in links])


def _following(year: int, month: int, day: int) -> tuple[int, int, int]:
    day_after = datetime.date(2000 + year % 400, month, day) + datetime.timedelta(1)
    return year + (day_after.year - 2000 - year % 400), day_after.month, day_after.day


def _hop(endless: bool, n: int) -> FakeResponse:
    if endless:
        return redirect_to(f"/hops/endless/{n + 1}", 302)
    return redirect_to(f"/hops/{n - 1}") if n else _page("The end of a long way", ["/"])
