"""The whole hostile corpus crawled by the real command: every case ends in an outcome that it may have, in bounded time
and memory. One crawl, by several processes, is for hostile.test; another for the hosts with a hostile
robots.txt or sitemap."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from orienteer.ledger.plan import CrawlPlan
from orienteer.live.warm_up import warm_up
from orienteer.url import host_of
from tests.fake_web.hostile import HOME, HOSTILE, HostileCase, hostile_site
from tests.fake_web.process import FakeWebProcess
from tests.fake_web.site import Site, host_and_target
from tests.faults.crawl_process import CrawlCommand, CrawlProcess, check_archive, log_of
from tests.faults.kills import until
from tests.live.live_crawls import StoredCrawl
from tests.tables import over_rows

pytestmark = pytest.mark.slow

MAX_MEMORY_BYTES = 700 << 20
# Some never end; all others must come in this time, on a busy machine too, while pages are read that take long.
TIMEOUT_S = 20.0
TIMEOUT_OF_PLACES_S = 6.0

PAGES = [case for case in HOSTILE if not case.any_type]
PLACES = [case for case in HOSTILE if case.any_type and case.name != "robots-delay"]
SITEMAPS = [case for case in PLACES if case.name.startswith("sitemap-")]

UNREACHABLE = {"robots-error", "robots-reset", "robots-slow"}
CLOSED = {"robots-patterns", "robots-star-bomb", "robots-utf-16"}  # so many wildcards close what they begin with
X_CLOSED = {"robots-bom", "robots-carriage-returns"}

# How the ledger writes an outcome down.
WRITTEN = {
    "client error": r"http 4\d\d",
    "server error": r"http [5-9]\d\d",
    "slow down": "http (429|503)",
    "redirect": "redirect|redirect loop|redirect leaves the scope|too many redirects",
}


class Measured(CrawlProcess):
    """It knows the peak of its memory, or that of the one of its workers that had most, once it has ended."""

    memory_bytes = 0

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        process, status, used = os.wait4(self.pid, wait_flags)
        self.memory_bytes = used.ru_maxrss * 1024
        return process, status


@dataclass
class Crawled:
    """A crawl that has ended, and the peak of its memory."""

    folder: Path
    code: int
    said: str
    memory_bytes: int

    @cached_property
    def stored(self) -> StoredCrawl:
        return StoredCrawl(self.folder)


def hostile_web() -> Site:
    """The corpus; where a sitemap is hostile, the host's robots.txt names it."""
    site = hostile_site()
    site.robots = {host_and_target(case.url)[0]: f"Sitemap: {case.url}" for case in SITEMAPS}
    return site


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWebProcess]:
    """The corpus, served. All is compiled before: a compiler needs more memory than the pages may cost."""
    warm_up(CrawlPlan.of_tables({"crawl": {"seeds": [HOME]}}, "crawl"))
    with FakeWebProcess(hostile_web) as web:
        yield web


def crawled(command: CrawlCommand) -> Crawled:
    with Measured(command.arguments) as process:
        code, said = process.ended()
    return Crawled(command.folder, code, said, process.memory_bytes)


@pytest.fixture(scope="module")
def pages(web: FakeWebProcess, tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    """Crawl hostile.test. No page is retried, and the host is not abandoned."""
    folder = tmp_path_factory.mktemp("pages") / "crawl"
    many = "/many/|/l[0-9]+$"  # 20,000 pages that are not there
    robots_hosts = "^http://(robots|sitemap)-"
    retry = {"max_attempts": 1, "give_up_after": 200, "max_back_off_s": 0.02}
    options = (
        "--set",
        f"fetch.timeout_s={TIMEOUT_S}",
        "--connections",
        16,
        "--deny",
        many,
        "--deny",
        robots_hosts,
        "--processes",
        2,
    )
    return crawled(CrawlCommand(web.address, [HOME], folder, *options, retry=retry))


@pytest.fixture(scope="module")
def places(web: FakeWebProcess, tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    """The hosts with a robots.txt or a sitemap that is hostile."""
    folder = tmp_path_factory.mktemp("places") / "crawl"
    seeds = [home_of(case) for case in PLACES]
    retry = {"give_up_after": 2}
    return crawled(
        CrawlCommand(web.address, seeds, folder, "--set", f"fetch.timeout_s={TIMEOUT_OF_PLACES_S}", retry=retry)
    )


def home_of(case: HostileCase) -> str:
    return f"http://{host_and_target(case.url)[0]}/"


@over_rows("case", PAGES, ids=lambda case: case.name)
def test_every_page_has_an_outcome_that_it_may_have(case: HostileCase, pages: Crawled) -> None:
    allowed = "|".join(WRITTEN.get(outcome, outcome) for outcome in case.outcome)
    outcome = pages.stored.outcome(case.url)
    assert outcome is not None
    assert re.fullmatch(allowed, outcome), outcome


@pytest.mark.parametrize("which", ["pages", "places"])
def test_the_crawl_ends_by_itself(which: str, request: pytest.FixtureRequest) -> None:
    crawl: Crawled = request.getfixturevalue(which)
    assert crawl.said == ""
    assert crawl.code == (3 if which == "places" else 0)  # some of the places lose their host


@pytest.mark.parametrize("which", ["pages", "places"])
def test_memory_is_bounded(which: str, request: pytest.FixtureRequest) -> None:
    crawl: Crawled = request.getfixturevalue(which)
    assert 50 << 20 < crawl.memory_bytes < MAX_MEMORY_BYTES


@pytest.mark.parametrize("which", ["pages", "places"])
def test_the_archive_can_be_read_to_its_end(which: str, request: pytest.FixtureRequest) -> None:
    crawl: Crawled = request.getfixturevalue(which)
    check_archive(crawl.folder)


@over_rows("case", PLACES, ids=lambda case: case.name)
def test_every_host_is_crawled_or_closed(case: HostileCase, places: Crawled) -> None:
    home = places.stored.outcome(home_of(case))
    if case.name in UNREACHABLE:
        assert home == "host given up"
    elif case.name in CLOSED:
        assert home == "robots.txt"
    else:
        assert home == "ok"
        x_outcome = "robots.txt" if case.name in X_CLOSED else "http 404"
        assert places.stored.outcome(f"{home_of(case)}x") == x_outcome


def n_errands(folder: Path) -> Counter[str]:
    """Count the requests for robots.txt and sitemaps by host."""
    events = [event for event in log_of(folder) if event["event"] in ("robots", "sitemap")]
    return Counter(host_of(event["url"]) for event in events)


def test_a_sitemap_speaks_for_its_own_site(places: Crawled) -> None:
    known = {host_of(url) for url in places.stored.urls}
    assert known == {host_of(home_of(case)) for case in PLACES}


def test_the_errands_to_a_host_are_bounded(places: Crawled) -> None:
    assert max(n_errands(places.folder).values()) <= 60
    requested = {event["url"] for event in log_of(places.folder) if event["event"] == "sitemap"}
    assert {case.url for case in SITEMAPS} <= requested


def test_a_delay_of_years_can_be_interrupted(web: FakeWebProcess, tmp_path: Path) -> None:
    command = CrawlCommand(web.address, ["http://robots-delay.test/"], tmp_path / "crawl")
    with command.started() as process:
        assert until(process, lambda: n_errands(command.folder), look_every_s=0.05)
        process.terminate()
        assert process.ended() == (143, "")
    assert StoredCrawl(command.folder).rows == {"http://robots-delay.test/": None}
