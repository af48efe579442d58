"""Lives under way: scored in the order of beginning, and none depends on another or on when pages are told."""

from __future__ import annotations

import numpy as np
import pytest

from orienteer.graph.survey.lives import Lives
from orienteer.graph.survey.walking import NOT_TOLD, Rows
from tests.graph.survey.reference import OddWeb, odd_web


class Told:
    """A web that is told page by page to lives."""

    def __init__(self, web: OddWeb, known: np.ndarray, seed: str = "lives") -> None:
        self.web, self.links, self.lives = web, web.links(), Lives(seed, web.damping)
        self.rows: Rows = web.rows(known)
        self.rows.when[~known] = NOT_TOLD
        self.n_told = 1

    def begin(self, entry: int) -> None:
        self.lives.begin(self.n_told, entry, self.links, self.rows)

    def tell(self, page: int) -> None:
        self.n_told += 1
        self.rows.when[page] = self.n_told
        self.lives.told(page, self.links, self.rows)

    def finish(self, rng: np.random.Generator) -> None:
        while needed := self.lives.needed():
            self.tell(needed[int(rng.integers(len(needed)))][0])


@pytest.fixture
def told() -> Told:
    rng = np.random.default_rng(1)
    web = odd_web(rng, 80)
    return Told(web, rng.random(80) < 0.3)


def entries(told: Told) -> list[int]:
    return np.flatnonzero(told.rows.when == NOT_TOLD).tolist()


def test_scores_count_in_the_order_of_beginning(told: Told) -> None:
    first, second, third = entries(told)[:3]
    for entry in (first, second, third):
        told.begin(entry)
    lives = told.lives
    assert lives.needed() == [(first, 0), (second, 1), (third, 2)]
    while lives.n_under_way > 1 or not lives._waiting.get(first):
        told.tell(next(page for page, _ in reversed(lives.needed()) if page != first))
        assert lives.n_scored == 0, "the first is still under way"
    told.finish(np.random.default_rng(0))
    assert lives.n_scored == lives.n_begun == 3


def test_a_page_that_several_lives_need_is_needed_once(told: Told) -> None:
    entry = entries(told)[0]
    for _ in range(3):
        told.begin(entry)
    assert told.lives.needed() == [(entry, 0)]
    assert told.lives.n_under_way == 3
    assert told.lives.needs(entry)
    assert not told.lives.needs(entries(told)[1])
    told.tell(entry)
    assert not told.lives.needs(entry)


@pytest.mark.parametrize("number", range(4))
def test_a_score_depends_neither_on_the_order_of_answers_nor_on_what_is_fetched_besides(number: int) -> None:
    """K is what was known when the life began."""
    scores = []
    for order in range(3):
        rng = np.random.default_rng(number)
        web = odd_web(rng, 80)
        told = Told(web, rng.random(80) < 0.3)
        for entry in entries(told)[:12]:
            told.begin(entry)
        answers = np.random.default_rng(order)
        if order:  # a crawl that goes on beside
            for page in answers.permutation(entries(told))[:20].tolist():
                told.tell(page)
        told.finish(answers)
        scores.append(told.lives.scores[:12].tolist())
    assert scores[0] == scores[1] == scores[2]


def test_a_score_does_not_depend_on_other_lives() -> None:
    rng = np.random.default_rng(9)
    web = odd_web(rng, 80)
    known = rng.random(80) < 0.3
    many, few = Told(web, known), Told(web, known)
    wanted = entries(many)[:10]
    for entry in wanted:
        many.begin(entry)
    for entry in [*wanted[:3], wanted[5], wanted[5], wanted[5]]:
        few.begin(entry)
    for told in (many, few):
        told.finish(np.random.default_rng(2))
    assert many.lives.scores[:3].tolist() == few.lives.scores[:3].tolist()
    assert many.lives.scores[5].tolist() == few.lives.scores[5].tolist(), "its number says its random numbers"
