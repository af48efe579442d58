"""How many URLs and hosts a crawl knows: those inside its scope, whatever became of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orienteer.inspect.crawl_status import CrawlStatus, FolderWatcher, crawl_status
from orienteer.inspect.run_report import Report
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import crawled

OUTSIDE_LINKS = "".join(f"<a href=http://out{k}.test/{k}>out</a>" for k in range(50))
INSIDE = ["http://b.test/", "http://b.test/one", "http://b.test/two", "http://b.test/closed", "http://b.test/gone"]
PAGES: dict[str, Any] = {
    "http://a.test/": FakeResponse(status=301, headers=[("Location", "http://b.test/")]),
    "http://b.test/": f"<a href=/one>1</a><a href=/two>2</a><a href=/closed>c</a><a href=/gone>g</a>{OUTSIDE_LINKS}",
    "http://b.test/one": f"<a href=/private/1>p</a><a href=/private/2>p</a>{OUTSIDE_LINKS}",
    "http://b.test/two": "two",
}
ROBOTS = {"b.test": "User-agent: *\nDisallow: /closed\n"}


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    with FakeWeb(MadeSite(PAGES, ROBOTS)) as web:
        yield web


def counts(found: CrawlStatus) -> tuple[int, int, int]:
    return found.n_urls, found.n_urls_outside, found.n_hosts_known


def run(web: FakeWeb, folder: Path, scope: dict[str, Any], **named: Any) -> Report:
    return crawled(web, "http://a.test/", folder, settings={"scope": scope, "crawl": {"robots": True}}, **named)


@pytest.mark.parametrize(
    ("scope", "n_more"),
    [({"kind": "host"}, 2), ({"kind": "host", "deny": ["/private/"]}, 0)],
    ids=["by host", "by URL"],
)
def test_only_what_is_in_scope_is_known(web: FakeWeb, tmp_path: Path, scope: dict[str, Any], n_more: int) -> None:
    """Also where the seed redirects to another host, page by page, and when the crawl is resumed."""
    watcher, n_inside = FolderWatcher(tmp_path / "c"), 1 + len(INSIDE) + n_more
    n_before = 0
    for budget in (2, 3, None):
        report = run(web, tmp_path / "c", scope, budget=budget)
        found = crawl_status(tmp_path / "c")
        assert (report.figures.n_known, report.figures.n_hosts) == (found.n_urls, found.n_hosts_known)
        assert counts(watcher.status()) == counts(found), "polled, or read for the first time"
        assert n_before <= found.n_urls <= n_inside
        n_before = found.n_urls
    assert counts(found) == (n_inside, 50 + 2 - n_more, 2)
    done = found.n_fetched + found.n_redirects + found.n_failed + found.n_blocked
    assert (done, report.figures.n_frontier) == (n_inside, 0), "of a finished crawl everything known is done"
    assert {host.host: host.n_known for host in found.hosts} == {"a.test": 1, "b.test": n_inside - 1}
    assert found.as_dict()["n_urls"] == n_inside
    assert found.as_dict()["n_urls"] == n_inside
