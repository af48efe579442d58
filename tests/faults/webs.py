"""A web for crawls under bad conditions. Which pages there are, and what comes of each, does not depend on the order in
in which they are requested: whatever happens to a crawl, the result is the same."""

from __future__ import annotations

from html import escape

from orienteer.graph.synthetic import synthetic_web
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.faults import Faulty
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.site import RequestHeaders, Site

_DISALLOWED = "/p7"
_IN_SITEMAP = 10  # every so manyth page of a host


class RoughWeb(Site):
    """A generated web of several hosts: latencies, 404s, pages that have moved, errors that pass.

    Each host has a sitemap and closes a part of itself to crawlers, so that not all of the web can be fetched.
    """

    def __init__(
        self, n_pages: int = 300, latency_s: tuple[float, float] = (0.002, 0.02), errors: float = 0.03
    ) -> None:
        self.pages = GraphSite(synthetic_web(n_pages, mean_degree=8.0, rng=1), page_bytes=1500)
        self._faulty = Faulty(self.pages, 0, latency_s, not_found=0.03, server_error=errors, redirects=0.04)
        self._sitemaps: dict[str, list[str]] = {}
        for url in self.pages.urls()[::_IN_SITEMAP]:
            self._sitemaps.setdefault(url.split("/", 3)[2], []).append(url)

    @property
    def seeds(self) -> list[str]:
        """The home pages of the first hosts."""
        return [f"http://{host}/" for host in self.pages.hosts[:3]]

    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        if target == "/robots.txt":
            rules = f"User-agent: *\nDisallow: {_DISALLOWED}\nSitemap: http://{host}/sitemap.xml\n"
            return FakeResponse(rules, content_type="text/plain")
        if target == "/sitemap.xml":
            places = "".join(f"<url><loc>{escape(url)}</loc></url>\n" for url in self._sitemaps.get(host, ()))
            return FakeResponse(f"<urlset>{places}</urlset>", content_type="application/xml")
        return self._faulty.response(host, target, headers)
