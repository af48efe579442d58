"""The requests in flight in the figures: bounded, and without control characters."""

from __future__ import annotations

from orienteer.inspect.workers_text import MAX_LISTED, Fetching, describe_fetching, fetching_of


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
