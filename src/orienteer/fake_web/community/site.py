"""Quillhaven as a site of a fake web: it answers for the hosts of the town and for those elsewhere that know it.

    site = CommunitySite()
    with FakeWeb(ChangingSite(site, "etag")) as web:
        ...                        # http://www.quillhaven.localhost:{web.port}/, in a crawler or in a browser
        site.pass_a_week()         # news, new ads; old ones are gone

Everything follows from `rng` and the number of weeks. The calendar of the town hall has no end; the library's
catalogue, the council's papers and the pupils' marks are not for robots; some links lead nowhere.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from orienteer.fake_web.answers import Answer, redirect_to
from orienteer.fake_web.changing import Changes
from orienteer.fake_web.community import abroad, civic, events, leisure, press
from orienteer.fake_web.community.addresses import HALL, TOWN
from orienteer.fake_web.community.page import PORT, Moved, Page, Pages, rendered
from orienteer.fake_web.site import RequestHeaders, Site

_NOT_HERE = Page("Not found", ("There is no such page.",))


class CommunitySite(Site):
    """The town of Quillhaven, and who writes about it."""

    def __init__(self, rng: int = 0, week: int = 0) -> None:
        self.rng = rng
        self._write(week)

    def _write(self, week: int) -> None:
        pages = Pages(self.rng, week)
        for write in (
            civic.write_hall, civic.write_library, civic.write_school, press.write_courier, press.write_blogs,
            leisure.write_museum, leisure.write_rowing, leisure.write_market, leisure.write_visit, leisure.write_stars,
            abroad.write_abroad,
        ):  # fmt: skip
            write(pages)
        self._pages = pages

    @property
    def week(self) -> int:
        return self._pages.week

    def pass_a_week(self) -> Changes:
        """The web of a week later; what has changed, by URL."""
        before = self._pages.at
        self._write(self.week + 1)
        now = {url: page for url, page in self._pages.at.items() if isinstance(page, Page)}
        edited = (url for url, page in now.items() if before.get(url, page) != page)
        deleted = (url for url, page in before.items() if isinstance(page, Page) and url not in now)
        return Changes(frozenset(now.keys() - before.keys()), frozenset(edited), frozenset(deleted))

    def urls(self) -> list[str]:
        """Of all pages, without files, redirects and the endless calendar."""
        return [url for url, page in self._pages.at.items() if isinstance(page, Page)]

    def town_urls(self) -> list[str]:
        """Those of the town itself."""
        return [url for url in self.urls() if is_of_town(url)]

    def answer(self, host: str, target: str, headers: RequestHeaders) -> Answer:
        name, colon, port = host.partition(":")
        pages = self._pages  # a week may pass meanwhile
        if target == "/robots.txt" and name in pages.robots:
            return Answer(pages.robots[name], content_type="text/plain")
        url = f"http://{name}{target}"
        made = pages.at.get(url)
        if made is None and name == HALL and target.startswith(events.PATH):
            made = events.calendar_page(self.rng, HALL, target)
        if isinstance(made, Answer):
            return made
        if isinstance(made, Moved):
            return redirect_to(_with_port(made.url, colon + port), made.status)
        html = pages.html.get(url)
        if html is None:
            if name not in pages.hosts:
                return Answer("<!DOCTYPE html><title>Not found</title><p>There is no such host.", 404)
            html = rendered(made or _NOT_HERE, pages.hosts[name])
            if url in pages.at:
                pages.html[url] = html
        return Answer(html.replace(PORT, colon + port), 404 if made is None else 200)


def seen_at(url: str, port: int) -> str:
    """The address of a page where the web is served on this port: for a browser, and for a crawl of what it shows."""
    return _with_port(url, f":{port}")


def _with_port(url: str, port: str) -> str:
    name, slash, path = url.removeprefix("http://").partition("/")
    return f"http://{name}{port}{slash}{path}"


def is_of_town(url: str) -> bool:
    name = urlsplit(url).hostname or ""
    return name == TOWN or name.endswith("." + TOWN)
