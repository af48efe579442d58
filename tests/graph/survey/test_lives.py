"""Lives in flight: scored in the order of beginning, independent of each other and of the order of recorded pages."""

from __future__ import annotations

import numpy as np
import pytest

from orienteer.graph.survey.walking import NOT_RECORDED, Lives, Rows
from tests.graph.survey.reference import OddWeb, odd_web


class RecordedWeb:
    """A web whose pages are recorded one by one for lives."""

    def __init__(self, web: OddWeb, known: np.ndarray, seed: str = "lives") -> None:
        self.web, self.links, self.lives = web, web.links(), Lives(seed, web.damping)
        self.rows: Rows = web.rows(known)
        self.rows.when[~known] = NOT_RECORDED
        self.n_events = 1

    def begin(self, entry: int) -> None:
        self.lives.begin(self.n_events, entry, self.links, self.rows)

    def record(self, page: int) -> None:
        self.n_events += 1
        self.rows.when[page] = self.n_events
        self.lives.resume(page, self.links, self.rows)

    def finish(self, rng: np.random.Generator) -> None:
        while needed := self.lives.needed():
            self.record(needed[int(rng.integers(len(needed)))][0])


@pytest.fixture
def web_of_lives() -> RecordedWeb:
    rng = np.random.default_rng(1)
    web = odd_web(rng, 80)
    return RecordedWeb(web, rng.random(80) < 0.3)


def entries(web_of_lives: RecordedWeb) -> list[int]:
    return np.flatnonzero(web_of_lives.rows.when == NOT_RECORDED).tolist()


def test_scores_count_in_the_order_of_beginning(web_of_lives: RecordedWeb) -> None:
    first, second, third = entries(web_of_lives)[:3]
    for entry in (first, second, third):
        web_of_lives.begin(entry)
    lives = web_of_lives.lives
    assert lives.needed() == [(first, 0), (second, 1), (third, 2)]
    while lives.n_in_flight > 1 or not lives._waiting.get(first):
        web_of_lives.record(next(page for page, _ in reversed(lives.needed()) if page != first))
        assert lives.n_scored == 0, "the first is still in flight"
    web_of_lives.finish(np.random.default_rng(0))
    assert lives.n_scored == lives.n_begun == 3


def test_a_page_that_several_lives_need_is_needed_once(web_of_lives: RecordedWeb) -> None:
    entry = entries(web_of_lives)[0]
    for _ in range(3):
        web_of_lives.begin(entry)
    assert web_of_lives.lives.needed() == [(entry, 0)]
    assert web_of_lives.lives.n_in_flight == 3
    assert web_of_lives.lives.needs(entry)
    assert not web_of_lives.lives.needs(entries(web_of_lives)[1])
    web_of_lives.record(entry)
    assert not web_of_lives.lives.needs(entry)


@pytest.mark.parametrize("number", range(4))
def test_a_score_depends_neither_on_the_order_of_responses_nor_on_other_fetches(number: int) -> None:
    """K is what was known when the life began."""
    scores = []
    for order in range(3):
        rng = np.random.default_rng(number)
        web = odd_web(rng, 80)
        web_of_lives = RecordedWeb(web, rng.random(80) < 0.3)
        for entry in entries(web_of_lives)[:12]:
            web_of_lives.begin(entry)
        responses = np.random.default_rng(order)
        if order:  # a crawl that continues at the same time
            for page in responses.permutation(entries(web_of_lives))[:20].tolist():
                web_of_lives.record(page)
        web_of_lives.finish(responses)
        scores.append(web_of_lives.lives.scores[:12].tolist())
    assert scores[0] == scores[1] == scores[2]


def test_a_score_does_not_depend_on_other_lives() -> None:
    rng = np.random.default_rng(9)
    web = odd_web(rng, 80)
    known = rng.random(80) < 0.3
    many, few = RecordedWeb(web, known), RecordedWeb(web, known)
    wanted = entries(many)[:10]
    for entry in wanted:
        many.begin(entry)
    for entry in [*wanted[:3], wanted[5], wanted[5], wanted[5]]:
        few.begin(entry)
    for web_of_lives in (many, few):
        web_of_lives.finish(np.random.default_rng(2))
    assert many.lives.scores[:3].tolist() == few.lives.scores[:3].tolist()
    assert many.lives.scores[5].tolist() == few.lives.scores[5].tolist(), "its number says its random numbers"
