"""Seeds that lead nowhere are found out within seconds of a clock that is told what time it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orienteer.answers.answer import Fetched, Request
from orienteer.errors import SeedError
from orienteer.ledger.ledger import Ledger
from orienteer.ledger.plan import CrawlPlan
from orienteer.live.seed_check import SeedCheck, failure_in_words
from orienteer.pages.outcome import Outcome
from orienteer.store.folder import CrawlFolder

SEEDS = ["http://a.test/", "http://b.test/x"]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    plan = CrawlPlan.of_tables({"crawl": {"seeds": SEEDS}}, "the test")
    with CrawlFolder.create(tmp_path / "c", plan.to_toml()) as folder:
        yield Ledger(folder, plan)


def failed(seed: int, outcome: Outcome = Outcome.NO_ADDRESS, detail: str = "", status: int = 0) -> Fetched:
    """An answer to the robots.txt of a seed's host."""
    host = SEEDS[seed].split("/")[2]
    return Fetched(Request(f"http://{host}/robots.txt", seed, any_type=True), outcome, status, detail=detail)


def page(seed: int) -> Fetched:
    return Fetched(Request(SEEDS[seed], seed), Outcome.OK, 200)


def test_it_waits_some_seconds_and_ends_when_all_seeds_are_lost(ledger: Ledger) -> None:
    check = SeedCheck(ledger)
    check.hear(failed(0), 10.0)
    check.expect_a_page(100.0)  # nothing is known of the other one yet
    check.hear(failed(1, Outcome.NO_CONNECTION, "Connection refused"), 11.0)
    check.expect_a_page(11.5)
    with pytest.raises(SeedError) as caught:
        check.expect_a_page(13.0)
    assert str(caught.value) == (
        "nothing was crawled: no address found for a.test: is the name right?; "
        "http://b.test/x: b.test refused the connection"
    )


def test_a_host_that_answers_after_all_is_forgiven(ledger: Ledger) -> None:
    check = SeedCheck(ledger)
    check.hear(failed(0), 10.0)
    check.hear(failed(1), 10.0)
    check.hear(failed(0, Outcome.CLIENT_ERROR, status=404), 12.0)  # it has no robots.txt
    check.expect_a_page(100.0)
    assert list(check.lost()) == [SEEDS[1]]


def test_a_server_with_an_error_gets_more_time(ledger: Ledger) -> None:
    check = SeedCheck(ledger)
    check.hear(failed(0), 10.0)
    check.hear(failed(1, Outcome.SERVER_ERROR, status=500), 10.0)
    check.expect_a_page(20.0)
    with pytest.raises(SeedError, match=r"robots.txt of b.test cannot be read: the server answered 500"):
        check.expect_a_page(31.0)


def test_one_page_is_enough_to_go_on_and_what_is_lost_is_told_once(ledger: Ledger) -> None:
    check = SeedCheck(ledger)
    check.hear(failed(1), 10.0)
    assert check.newly_lost(10.0) == {}
    assert check.newly_lost(100.0) == {}, "nothing works yet"
    check.hear(page(0), 110.0)
    check.expect_a_page(1000.0)
    assert check.newly_lost(111.0) == {SEEDS[1]: "no address found for b.test: is the name right?"}
    assert check.newly_lost(200.0) == {}
    assert list(check.lost()) == [SEEDS[1]]


def test_a_crawl_with_pages_is_patient(ledger: Ledger) -> None:
    ledger.crawl.take(0)
    ledger.crawl.fetched(0, [])
    check = SeedCheck(ledger)
    check.hear(failed(0), 10.0)
    check.hear(failed(1), 10.0)
    check.expect_a_page(1000.0)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (failed(0, Outcome.NO_CONNECTION, "Failed to connect to a.test port 80"), "a.test refused the connection"),
        (failed(0, Outcome.NO_CONNECTION, "No route to host"), "no connection to a.test (No route to host)"),
        (failed(0, Outcome.NO_CONNECTION), "no connection to a.test"),
        (failed(0, Outcome.TIMED_OUT), "a.test did not answer in time"),
        (failed(0, Outcome.BROKEN), "robots.txt of a.test cannot be read: a.test broke off its answer"),
    ],
)
def test_every_failure_has_its_words(answer: Fetched, words: str) -> None:
    assert failure_in_words(answer) == words
