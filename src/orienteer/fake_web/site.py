"""Quillhaven as a site: the hosts of the town, and the external sites that link to it.

    site = TownSite()
    with TownServer(site) as web:
        ...                        # http://www.quillhaven.localhost:{web.port}/, in a crawler or in a browser
        site.pass_a_week()         # news and new ads; old ads are deleted

Everything is determined by `rng` and the number of weeks. The calendar of the town hall is endless; the library's
catalogue, the council's papers and the pupils' marks are disallowed by robots.txt; some links are broken.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from orienteer.fake_web import town_calendar
from orienteer.fake_web.page import PORT, Moved, SiteResponse, TownPage, rendered
from orienteer.fake_web.town import TOWN, TownPages, host_name, url_of

HOME = url_of("www/")

_CALENDAR_HOST = host_name("www")
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
        if made is None and name == _CALENDAR_HOST and target.startswith(town_calendar.PATH):
            made = town_calendar.calendar_page(self.rng, name, target)
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
