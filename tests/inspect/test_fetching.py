"""The requests in flight in the figures: bounded, and without control characters."""

from __future__ import annotations

from orienteer.inspect.figures import MAX_LISTED, Fetching, describe_fetching, figures_of


def test_figures_of_others_are_read_with_care() -> None:
    proved = {"certificate": {"lower": 0.5, "upper": 1}}
    assert figures_of(proved | {"fetching": None}) == figures_of(proved | {"fetching": [{"url": 7}]})
    listed = [{"url": "http://a.test/\x1b[2J", "for_s": 1}] * 50
    worker = {"process": 7, "n_in_flight": 1, "n_responses": 9, "responses_per_s": 2.0, "busy": None}
    found = figures_of(proved | {"fetching": listed, "workers": [worker | {"where": "a\x1b[2J"}]})
    assert found is not None
    assert len(found.fetching) == MAX_LISTED
    assert "\x1b" not in found.fetching[0].url + found.workers[0].where


def test_describe_fetching() -> None:
    assert describe_fetching((), 0) == ""
    one = Fetching("http://a.test/", 0.1)
    assert describe_fetching((one,), 1) == "http://a.test/"
    assert describe_fetching((one, one), 1_240) == "http://a.test/, http://a.test/ and 1,238 more"
