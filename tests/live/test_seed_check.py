"""Failed seeds are detected within seconds of a simulated clock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orienteer.errors import SeedError
from orienteer.ledger.ledger import Ledger
from orienteer.ledger.plan import CrawlPlan
from orienteer.live.seed_check import SeedCheck, describe_failure
from orienteer.pages.outcome import Outcome
from orienteer.responses.response import HostRequest, HostRequestKind, PageRequest, Response
from orienteer.store.folder import CrawlFolder
from tests.tables import over_rows

SEEDS = ["http://a.test/", "http://b.test/x"]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    plan = CrawlPlan.of_tables({"crawl": {"seeds": SEEDS}}, "the test")
    with CrawlFolder.create(tmp_path / "c", plan.to_toml()) as folder:
        yield Ledger(folder, plan)


def failed(seed: int, outcome: Outcome = Outcome.NO_ADDRESS, detail: str = "", status: int = 0) -> Response:
    """A failed response for the robots.txt of a seed's host."""
    host = SEEDS[seed].split("/")[2]
    return Response(HostRequest(f"http://{host}/robots.txt", HostRequestKind.ROBOTS), outcome, status, detail=detail)


def page(seed: int) -> Response:
    return Response(PageRequest(SEEDS[seed], seed), Outcome.OK, 200)


def test_a_crawl_ends_some_seconds_after_all_seeds_failed(ledger: Ledger) -> None:
    check = SeedCheck(ledger)
    check.on_response(0, failed(0), 10.0)
    check.check_reachable(100.0)  # the other seed has no response yet
    check.on_response(1, failed(1, Outcome.NO_CONNECTION, "Connection refused"), 11.0)
    check.check_reachable(11.5)
    with pytest.raises(SeedError) as caught:
        check.check_reachable(13.0)
    assert str(caught.value) == (
        "nothing was crawled: no address found for a.test: is the name right?; "
        "http://b.test/x: b.test refused the connection"
    )


def test_a_host_that_responds_after_failures_is_reachable(ledger: Ledger) -> None:
    check = SeedCheck(ledger)
    check.on_response(0, failed(0), 10.0)
    check.on_response(1, failed(1), 10.0)
    check.on_response(0, failed(0, Outcome.CLIENT_ERROR, status=404), 12.0)  # it has no robots.txt
    check.check_reachable(100.0)
    assert list(check.failed()) == [SEEDS[1]]


def test_a_server_with_an_error_gets_more_time(ledger: Ledger) -> None:
    check = SeedCheck(ledger)
    check.on_response(0, failed(0), 10.0)
    check.on_response(1, failed(1, Outcome.SERVER_ERROR, status=500), 10.0)
    check.check_reachable(20.0)
    with pytest.raises(SeedError, match=r"robots.txt of b.test cannot be read: the server answered 500"):
        check.check_reachable(31.0)


def test_a_crawl_with_one_page_goes_on_and_reports_failed_seeds_once(ledger: Ledger) -> None:
    check = SeedCheck(ledger)
    check.on_response(1, failed(1), 10.0)
    assert check.newly_failed(10.0) == {}
    assert check.newly_failed(100.0) == {}, "nothing works yet"
    check.on_response(0, page(0), 110.0)
    check.check_reachable(1000.0)
    assert check.newly_failed(111.0) == {SEEDS[1]: "no address found for b.test: is the name right?"}
    assert check.newly_failed(200.0) == {}
    assert list(check.failed()) == [SEEDS[1]]


def test_a_crawl_with_pages_does_not_end(ledger: Ledger) -> None:
    ledger.crawl.take(0)
    ledger.crawl.fetched(0, [])
    check = SeedCheck(ledger)
    check.on_response(0, failed(0), 10.0)
    check.on_response(1, failed(1), 10.0)
    check.check_reachable(1000.0)


@over_rows(
    ("response", "text"),
    [
        (failed(0, Outcome.NO_CONNECTION, "Failed to connect to a.test port 80"), "a.test refused the connection"),
        (failed(0, Outcome.NO_CONNECTION, "No route to host"), "no connection to a.test (No route to host)"),
        (failed(0, Outcome.NO_CONNECTION), "no connection to a.test"),
        (failed(0, Outcome.TIMED_OUT), "a.test did not answer in time"),
        (failed(0, Outcome.BROKEN), "robots.txt of a.test cannot be read: a.test broke off its response"),
    ],
)
def test_every_failure_has_a_description(response: Response, text: str) -> None:
    assert describe_failure(response) == text
