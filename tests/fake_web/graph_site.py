"""A link graph as a web of pages: a title, prose, and the links of the graph in its order.

A page has the canonical URL of the graph; https becomes http, since a fake web has no certificates. If the graph has no
URL for it, or one that cannot be fetched (`ftp:`, a title), it is `http://h{host}.test/p{page}`, and
`http://h{host}.test/` for the first page of a host. Two pages with the same URL in that sense (http and https) are
served as one: the first one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from html import escape

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph.link_graph import LinkGraph
from orienteer.url import canonical_url
from tests.fake_web import prose
from tests.fake_web.fake_response import NOT_FOUND, FakeResponse
from tests.fake_web.site import RequestHeaders, SiteWithRobots

MAX_PAGE_BYTES = 1 << 20  # of prose, without the links
_CACHED_LINKS = 1 << 16  # rendered links, since pages of a host mostly link to the same pages


class GraphSite(SiteWithRobots):
    """The pages of a graph, generated on request and cached up to `cache_bytes`.

    A page has about `page_bytes` bytes, more if its links alone take more. With `relative`, links within a host are
    relative. `url_of` and `page_of` convert between pages and URLs.
    """

    def __init__(
        self,
        graph: LinkGraph,
        page_bytes: int = 4000,
        relative: bool = False,
        robots: Mapping[str, str | bytes] | None = None,
        cache_bytes: int = 64 << 20,
    ) -> None:
        super().__init__(robots)
        if not 0 <= page_bytes <= MAX_PAGE_BYTES:
            raise InputError(f"page_bytes is {page_bytes}; it must be from 0 to {MAX_PAGE_BYTES:,}")
        self.graph = graph
        self.page_bytes = page_bytes
        self.relative = relative
        self.cache_bytes = cache_bytes
        self._cache: dict[int, FakeResponse] = {}
        self._cached_bytes = 0
        self._first = _first_pages(graph)
        self._link = lru_cache(_CACHED_LINKS)(self._render_link)
        if graph.urls is not None:
            graph.urls.find("")  # indexes the table now, not while the first client waits

    @property
    def hosts(self) -> list[str]:
        """Return the names of the hosts, in the order of their first pages."""
        names = (self.url_of(page).split("/", 3)[2] for page in range(self.graph.n_pages))
        return list(dict.fromkeys(names))

    def urls(self) -> list[str]:
        """Return the URL of every page."""
        return [self.url_of(page) for page in range(self.graph.n_pages)]

    def url_of(self, page: int) -> str:
        if self.graph.urls is not None:
            url = canonical_url(self.graph.urls[page])
            if url is not None:
                return _without_tls(url)
        host = 0 if self.graph.hosts is None else int(self.graph.hosts[page])
        return f"http://h{host}.test/" if self._first[host] == page else f"http://h{host}.test/p{page}"

    def page_of(self, url: str) -> int | None:
        """Return the page that is served at the URL; None if there is none."""
        url = _without_tls(url)
        page = self._in_table(url)
        if page is None:
            page = self._generated_page(url)
        if page is None and self.graph.urls is not None:
            page = self._non_canonical.get(url)
        return page

    def page_response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        page = self.page_of(f"http://{host}{target}")
        if page is None:
            return NOT_FOUND
        cached = self._cache.get(page)
        return self._make_response(page) if cached is None else cached

    def html(self, page: int) -> str:
        """Return the page as HTML."""
        topic = self._topic(page)
        title = prose.title(topic, page)
        prefix = self._own_prefix(page)
        links = "".join([self._link(target, prefix) for target in self.graph.links(page).tolist()])
        text = prose.text(topic, page, self.page_bytes - len(links) - 200)
        return (
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>\n'
            f"<body><h1>{title}</h1>\n<p>{text}</p>\n<ul>\n{links}</ul>\n</body></html>\n"
        )

    def _make_response(self, page: int) -> FakeResponse:
        response = FakeResponse(self.html(page).encode())
        n_bytes = len(response.body)
        if n_bytes <= self.cache_bytes:
            self._cache[page] = response
            self._cached_bytes += n_bytes
        while self._cached_bytes > self.cache_bytes:
            oldest = next(iter(self._cache))
            self._cached_bytes -= len(self._cache.pop(oldest).body)
        return response

    def _render_link(self, target: int, own_prefix: str) -> str:
        href = self.url_of(target)
        # A path that starts with two slashes would be parsed as a host.
        if own_prefix and href.startswith(own_prefix) and href[len(own_prefix) : len(own_prefix) + 2] != "//":
            href = href[len(own_prefix) :]
        return f'<li><a href="{escape(href)}">{prose.title(self._topic(target), target)}</a></li>\n'

    def _own_prefix(self, page: int) -> str:
        """Return the prefix that relative links omit: `http://name`, without the slash."""
        return "http://" + self.url_of(page).split("/", 3)[2] if self.relative else ""

    def _topic(self, page: int) -> int:
        """Return the topic of the host, except for every eighth page."""
        host = 0 if self.graph.hosts is None else int(self.graph.hosts[page])
        return (host + (page % 8 == 7) * (page // 8)) % len(prose.TOPICS)

    def _in_table(self, url: str) -> int | None:
        urls = self.graph.urls
        if urls is None:
            return None
        page = urls.find(url)
        return urls.find("https" + url[4:]) if page is None else page

    def _generated_page(self, url: str) -> int | None:
        """Parse a generated URL, http://h{host}.test/p{page}; None if there is no such page."""
        host, _, name = url.removeprefix("http://h").partition(".test/")
        if name:
            page = int(name[1:]) if name[1:].isdecimal() and len(name) < 12 else -1
        else:
            page = int(self._first[int(host)]) if host.isdecimal() and int(host) < len(self._first) else -1
        return page if 0 <= page < self.graph.n_pages and self.url_of(page) == url else None

    @cached_property
    def _non_canonical(self) -> dict[str, int]:
        """Pages whose URL in the graph is not canonical. Built only when needed, since it scans all pages."""
        found: dict[str, int] = {}
        for page, text in enumerate(self.graph.urls or ()):
            url = canonical_url(text)
            if url is not None and url != text:
                found.setdefault(_without_tls(url), page)
        return found


def _first_pages(graph: LinkGraph) -> NDArray[np.int64]:
    """Return the first page of each host; -1 for a host without pages."""
    if graph.hosts is None:
        return np.zeros(1, np.int64)
    hosts, pages = np.unique(graph.hosts, return_index=True)
    first = np.full(int(hosts.max(initial=-1)) + 1, -1, np.int64)
    first[hosts] = pages
    return first


def _without_tls(url: str) -> str:
    return "http" + url[5:] if url.startswith("https://") else url
