"""The requests in flight in the figures: bounded, and without control characters."""

from __future__ import annotations

from orienteer.inspect.workers_text import MAX_LISTED, Fetching, describe_fetching, fetching_of
from orienteer.live.in_flight import InFlight


def test_the_longest_are_listed_and_no_more_than_a_few() -> None:
    in_flight = InFlight()
    for page in range(100):
        in_flight.started(page, f"http://a.test/{page}" + "x" * 5000, 100.0 - page)
    listed = in_flight.longest(200.0)
    assert len(listed) == MAX_LISTED
    assert listed[0].url.startswith("http://a.test/99x")
    assert listed[0].for_s == 199.0
    assert max(len(one.url) for one in listed) <= 300


def test_who_asks_again_at_once_is_not_dropped() -> None:
    """A host request took the slot of a page: it has ended, and the page itself is requested next."""
    in_flight = InFlight()
    in_flight.started(1, "http://a.test/robots.txt", 0.0)
    in_flight.ended(1)
    in_flight.drop_ended()
    in_flight.started(1, "http://a.test/", 1.0)
    assert [one.url for one in in_flight.longest(2.0)] == ["http://a.test/"]


def test_figures_of_others_are_read_with_care() -> None:
    assert fetching_of({}) == fetching_of({"fetching": None}) == ()
    listed = fetching_of({"fetching": [{"url": "http://a.test/\x1b[2J", "for_s": 1}] * 50})
    assert len(listed) == MAX_LISTED
    assert "\x1b" not in listed[0].url


def test_describe_fetching() -> None:
    assert describe_fetching((), 0) == ""
    one = Fetching("http://a.test/", 0.1)
    assert describe_fetching((one,), 1) == "http://a.test/"
    assert describe_fetching((one, one), 1_240) == "http://a.test/, http://a.test/ and 1,238 more"
