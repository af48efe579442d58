"""Quillhaven as a site of a fake web: the hosts of the town, and the external sites that link to it.

    site = CommunitySite()
    with FakeWeb(TaggedSite(site)) as web:
        ...                        # http://www.quillhaven.localhost:{web.port}/, in a crawler or in a browser
        site.pass_a_week()         # news and new ads; old ads are deleted

Everything is determined by `rng` and the number of weeks. The calendar of the town hall is endless; the library's
catalogue, the council's papers and the pupils' marks are disallowed by robots.txt; some links are broken.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from orienteer.fake_web.community import civic, events, external_sites, leisure, press
from orienteer.fake_web.community.addresses import HALL, TOWN
from orienteer.fake_web.community.page import PORT, CommunityPage, Moved, Pages, rendered
from orienteer.fake_web.fake_response import FakeResponse, redirect_to
from orienteer.fake_web.site import RequestHeaders, Site

_NOT_HERE = CommunityPage("Not found", ("There is no such page.",))


class SiteChanges(NamedTuple):
    """The changes of some time, by URL: the result of a perfect refresh."""

    new: frozenset[str]
    edited: frozenset[str]
    deleted: frozenset[str]


class CommunitySite(Site):
    """The town of Quillhaven, and the sites that write about it."""

    def __init__(self, rng: int = 0, week: int = 0) -> None:
        self.rng = rng
        self._write(week)

    def _write(self, week: int) -> None:
        pages = Pages(self.rng, week)
        for write in (
            civic.write_hall, civic.write_library, civic.write_school, press.write_courier, press.write_blogs,
            leisure.write_museum, leisure.write_rowing, leisure.write_market, leisure.write_visit, leisure.write_stars,
            external_sites.write_external_sites,
        ):  # fmt: skip
            write(pages)
        self._pages = pages

    @property
    def week(self) -> int:
        return self._pages.week

    def pass_a_week(self) -> SiteChanges:
        """Advance the web by a week; return the changes by URL."""
        before = self._pages.at
        self._write(self.week + 1)
        now = {url: page for url, page in self._pages.at.items() if isinstance(page, CommunityPage)}
        edited = (url for url, page in now.items() if before.get(url, page) != page)
        deleted = (url for url, page in before.items() if isinstance(page, CommunityPage) and url not in now)
        return SiteChanges(frozenset(now.keys() - before.keys()), frozenset(edited), frozenset(deleted))

    def urls(self) -> list[str]:
        """Return the URLs of all pages, without files, redirects and the endless calendar."""
        return [url for url, page in self._pages.at.items() if isinstance(page, CommunityPage)]

    def town_urls(self) -> list[str]:
        """Return the URLs of the town's own pages."""
        return [url for url in self.urls() if is_of_town(url)]

    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        name, colon, port = host.partition(":")
        pages = self._pages  # pass_a_week may replace it meanwhile
        if target == "/robots.txt" and name in pages.robots:
            return FakeResponse(pages.robots[name], content_type="text/plain")
        url = f"http://{name}{target}"
        made = pages.at.get(url)
        if made is None and name == HALL and target.startswith(events.PATH):
            made = events.calendar_page(self.rng, HALL, target)
        if isinstance(made, FakeResponse):
            return made
        if isinstance(made, Moved):
            return redirect_to(_with_port(made.url, colon + port), made.status)
        html = pages.html.get(url)
        if html is None:
            if name not in pages.hosts:
                return FakeResponse("<!DOCTYPE html><title>Not found</title><p>There is no such host.", 404)
            html = rendered(made or _NOT_HERE, pages.hosts[name])
            if url in pages.at:
                pages.html[url] = html
        return FakeResponse(html.replace(PORT, colon + port), 404 if made is None else 200)


def url_at_port(url: str, port: int) -> str:
    """Return the URL of a page when the web is served on this port, for browsers and crawls."""
    return _with_port(url, f":{port}")


def _with_port(url: str, port: str) -> str:
    name, slash, path = url.removeprefix("http://").partition("/")
    return f"http://{name}{port}{slash}{path}"


def is_of_town(url: str) -> bool:
    name = urlsplit(url).hostname or ""
    return name == TOWN or name.endswith("." + TOWN)
