"""What is being fetched, as figures tell it: bounded, and nothing that a terminal would obey."""

from __future__ import annotations

from orienteer.inspect.fetching import MAX_SHOWN, Fetching, fetching_in_words, fetching_of
from orienteer.live.under_way import UnderWay


def test_the_longest_are_told_and_no_more_than_a_few() -> None:
    under_way = UnderWay()
    for page in range(100):
        under_way.started(page, f"http://a.test/{page}" + "x" * 5000, 100.0 - page)
    told = under_way.longest(200.0)
    assert len(told) == MAX_SHOWN
    assert told[0].url.startswith("http://a.test/99x")
    assert told[0].for_s == 199.0
    assert max(len(one.url) for one in told) <= 300


def test_who_asks_again_at_once_is_not_dropped() -> None:
    """An errand took the turn of a page: it has ended, and the page itself is asked for next."""
    under_way = UnderWay()
    under_way.started(1, "http://a.test/robots.txt", 0.0)
    under_way.ended(1)
    under_way.drop_ended()
    under_way.started(1, "http://a.test/", 1.0)
    assert [one.url for one in under_way.longest(2.0)] == ["http://a.test/"]


def test_figures_of_others_are_read_with_care() -> None:
    assert fetching_of({}) == fetching_of({"fetching": None}) == ()
    told = fetching_of({"fetching": [{"url": "http://a.test/\x1b[2J", "for_s": 1}] * 50})
    assert len(told) == MAX_SHOWN
    assert "\x1b" not in told[0].url


def test_in_words() -> None:
    assert fetching_in_words((), 0) == ""
    one = Fetching("http://a.test/", 0.1)
    assert fetching_in_words((one,), 1) == "http://a.test/"
    assert fetching_in_words((one, one), 1_240) == "http://a.test/, http://a.test/ and 1,238 more"
