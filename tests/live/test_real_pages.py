"""Documentation hosts, crawled through real sockets until 98 % is proved, and then to the end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import orienteer as ori
from orienteer.fake_web.page_site import PageSite
from orienteer.fake_web.server import FakeWeb
from orienteer.fake_web.site import RequestHeaders, place_of
from orienteer.graph.reach import UNREACHED, distances
from orienteer.live.session import Report
from orienteer.pages.states import PageState
from orienteer.store.folder_view import FolderView
from orienteer.url import host_of
from tests.conftest import SHARED_DATA
from tests.live.live_crawls import Told, crawled, true_rank

pytestmark = pytest.mark.slow

ARCHIVE = SHARED_DATA / "dev-docs-web.tar.zst"
# Of 36 hosts; they hold the most, and the others are enough for every kind of page.
LEFT_OUT = {
    "docs.celeryq.dev", "docs.djangoproject.com", "docs.python.org", "docs.sqlalchemy.org", "git-scm.com",
    "kombu.readthedocs.io", "pillow.readthedocs.io", "www.debian.org", "www.gevent.org", "www.postgresql.org",
    "www.sqlite.org",
}  # fmt: skip

# The makers of the graph took these for the targets of links that are written otherwise: without .html, below /latest/
# instead of /stable/, at www.xmlsoft.org, or as the folder whose index they are.
NAMED_OTHERWISE = {
    "http://docs.pytest.org/en/stable/yieldfixture.html",
    "http://docs.scrapy.org/en/stable/_static/selectors-sample1.html",
    "http://tomcat.apache.org/tomcat-10.0-doc/appdev/sample/index.html",
    "http://xmlsoft.org/xmlcatalog_man.html",
}


class Crawled:
    """The site, the crawl that was certified, and the same crawl gone on to the end."""

    def __init__(self, folder: Path) -> None:
        self.site = PageSite(ARCHIVE)
        self.folder = folder
        self.seeds = [f"http://{host}/" for host in self.site.hosts if host not in LEFT_OUT]
        settings = {"crawl": {"workers": 16, "near_duplicates": "off"}}
        with FakeWeb(self.site) as web:
            self.certified: Report = crawled(web, self.seeds, folder, scope="host", until=0.98, settings=settings)
            self.fetched = Told(folder).order
            self.complete: Report = crawled(web, self.seeds, folder, scope="host", settings=settings)
            self.requests = [f"http://{host}{target}" for _, host, target in web.requests]
        self.told = Told(folder)


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    if not ARCHIVE.exists():
        pytest.skip(f"the real pages are not here: {ARCHIVE}")
    return Crawled(tmp_path_factory.mktemp("docs") / "crawl")


def true_coverage(docs: Crawled) -> float:
    """The rank of the pages that were fetched when 98 % was claimed, in the web as it turned out to be in the end."""
    rank = true_rank(docs.told, [1.0] * len(docs.seeds))
    return float(rank[docs.fetched].sum())


def test_98_percent_are_certified_and_true(docs: Crawled) -> None:
    bounds = docs.certified.figures.certificate
    assert docs.certified.stopped_because == "coverage"
    assert docs.certified.goal_reached
    truth = true_coverage(docs)
    assert 0.98 <= bounds.lower <= truth + 1e-9
    assert truth <= bounds.upper + 1e-9
    assert len(docs.fetched) < 0.75 * len(docs.told.order), "and it took far fewer pages than there are"


def test_in_the_end_everything_is_covered(docs: Crawled) -> None:
    assert docs.complete.stopped_because == "frontier empty"
    certificate = docs.complete.figures.certificate
    assert certificate.unknown < 0.001, "a page or two may be made by scripts"
    assert certificate.lower + certificate.unknown == pytest.approx(1, abs=1e-6)


def test_no_page_is_asked_for_twice(docs: Crawled) -> None:
    assert len(docs.requests) == len(set(docs.requests))


def test_every_page_that_the_graph_reaches_is_stored(docs: Crawled) -> None:
    """The graph was made by others from the same pages."""
    graph = ori.LinkGraph.load(SHARED_DATA / "graphs" / "docs-web-dev.npz")
    assert graph.urls is not None
    urls = list(graph.urls)
    is_here = np.array([host_of(url) not in LEFT_OUT for url in urls])
    kept = is_here[graph.sources()] & is_here[graph.targets]
    graph = ori.LinkGraph.from_links(len(urls), graph.sources()[kept], graph.targets[kept])
    stored = {url for url, row in docs.told.rows.items() if row is not None and row.outcome == "ok"}
    starts = [page for page, url in enumerate(urls) if url in stored and docs.told.rows[url].depth <= 1]
    reached = np.flatnonzero(distances(graph, np.array(starts, np.uint32)) != UNREACHED)
    should_be_there = {urls[page] for page in reached}
    assert len(should_be_there) > 800
    assert should_be_there - stored == NAMED_OTHERWISE


def test_what_is_stored_is_what_is_served(docs: Crawled) -> None:
    with FolderView.open(docs.folder) as folder:
        for url, row in docs.told.rows.items():
            if row is None or row.outcome != "ok":
                continue
            assert row.archived is not None
            page = folder.archive.read(row.archived)
            answer = docs.site.answer(*place_of(url), RequestHeaders(b""))
            assert (page.url, page.status, page.body) == (url, answer.status, answer.body)


def test_what_is_not_served_is_not_there(docs: Crawled) -> None:
    failed = [url for url, row in docs.told.rows.items() if row is not None and row.state == PageState.FAILED]
    for url in failed:
        assert docs.site.answer(*place_of(url), RequestHeaders(b"")).status in (404, 301, 302)
