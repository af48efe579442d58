"""The score of a life: its mean equals dense linear algebra on webs with all special cases; and its range."""

from __future__ import annotations

import numpy as np
import pytest

from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.survey.walking import (
    DANGLING,
    NOT_RECORDED,
    OUTSIDE,
    UNKNOWN,
    Edge,
    continue_life,
    highest_score,
    random_start,
)
from orienteer.kernel import substituted
from tests.graph.survey.reference import OddWeb, odd_web, plain_web
from tests.tables import over_rows

WEBS = [("plain", plain_web), ("odd", odd_web)]


def scores_from(web: OddWeb, page: int, known: np.ndarray, n: int, seed: str = "s") -> np.ndarray:
    links, rows, scores = web.links(), web.rows(known), np.zeros((n, 3))
    for life in range(n):
        random = np.array([random_start(seed, life)], np.uint64)
        _, has_ended = continue_life(links, rows, 1, page, web.damping, random, scores[life])
        assert has_ended
    return scores


def halves(web: OddWeb, rng: np.random.Generator) -> np.ndarray:
    return rng.random(web.n_pages) < 0.5


@over_rows("make", [make for _, make in WEBS], ids=[name for name, _ in WEBS])
@over_rows("number", range(4))
def test_scores_have_the_mean_of_dense_algebra(make: object, number: int) -> None:
    rng = np.random.default_rng(number)
    web = make(rng)  # type: ignore[operator]
    known = halves(web, rng)
    exact = web.mean_scores(known)
    for page in np.flatnonzero(~known)[:8].tolist():
        n = 3000
        scores = scores_from(web, page, known, n, f"{number} {page}")
        error = scores.std(axis=0) / np.sqrt(n)
        assert (np.abs(scores.mean(axis=0) - exact[page]) <= 5 * error + 1e-9).all(), (number, page)


@pytest.mark.parametrize("make", [make for _, make in WEBS], ids=[name for name, _ in WEBS])
def test_a_simulated_surfer_has_the_same_mean(make: object) -> None:
    rng = np.random.default_rng(8)
    web = make(rng, 15)  # type: ignore[operator]
    known = halves(web, rng)
    exact = web.mean_scores(known)
    for page in np.flatnonzero(~known)[:3].tolist():
        scores = np.array([web.naive_score(page, known, rng) for _ in range(4000)])
        error = scores.std(axis=0) / np.sqrt(len(scores))
        assert (np.abs(scores.mean(axis=0) - exact[page]) <= 5 * error + 1e-9).all()


@over_rows("number", range(6))
def test_coverage_is_below_c_exactly_if_the_mean_is_above_the_threshold(number: int) -> None:
    """With exact means, for what is reachable, and for everything at worst."""
    rng = np.random.default_rng(100 + number)
    web = odd_web(rng) if number % 2 else plain_web(rng)
    known = halves(web, rng) | (web.trust > 0) & ~web.blocked
    coverage = web.settled(known)
    edge = Edge.of(coverage)
    free = np.where(known | (web.blocked & coverage.blocked), 0.0, coverage.p)
    assert edge.free == pytest.approx(free.sum())
    outside, unknown, dangling = free @ web.mean_scores(known)
    worst, _ = web.coverages(known & ~web.blocked)
    reachable = web.coverage_of_reachable(known & ~web.blocked)
    for c in np.linspace(0.01, 0.99, 99):
        mean = outside + unknown + (1 - c) * dangling
        assert (mean > edge.allowed(c)) == (worst < c), (c, worst)
        mean = outside + (1 - c) * (unknown + dangling)
        assert (mean > edge.allowed(c, of_reachable=True)) == (reachable < c), (c, reachable)


def test_scores_are_between_the_deterministic_bounds() -> None:
    for number in range(6):
        rng = np.random.default_rng(200 + number)
        web = plain_web(rng) if number % 2 else odd_web(rng)
        known = halves(web, rng)
        for page in np.flatnonzero(~known)[:6].tolist():
            scores = scores_from(web, page, known, 200)
            total = scores.sum(axis=1)
            assert total.max() <= highest_score(web.damping) < 1.002
            assert scores.min() >= 0
            if number % 2:
                assert total.min() >= 1 - web.damping - 1e-12


def web_of(n: int, links: dict[int, list[int]], **odd: list[int]) -> OddWeb:
    sources = [page for page, targets in links.items() for _ in targets]
    targets = [target for row in links.values() for target in row]
    web = OddWeb(LinkGraph.from_links(n, sources, targets), np.bincount([0], minlength=n).astype(float))
    for name, pages in odd.items():
        getattr(web, name)[pages] = True
    return web


def test_an_unknown_name_of_a_known_page_is_no_visit() -> None:
    """0 is known and has no links; 1 is another name of it, and 2 of that name."""
    web = web_of(3, {2: [1], 1: [0]}, alias=[1, 2])
    known = np.array([True, False, False])
    for page in (1, 2):
        (score,) = scores_from(web, page, known, 1)
        assert score.tolist() == [0.0, 0.0, pytest.approx(0.85)]


def test_a_known_name_passes_on_to_an_unknown_page_undamped() -> None:
    """1 (unknown) is a name of 2 (known), and that of 3 (unknown), which has no links."""
    web = web_of(4, {1: [2], 2: [3]}, alias=[1, 2])
    (score,) = scores_from(web, 1, np.array([True, False, True, False]), 1)
    assert score[OUTSIDE] == pytest.approx(0.15)
    assert score[DANGLING] == pytest.approx(0.85)


def test_a_life_at_a_blocked_page_has_an_unknown_end() -> None:
    web = web_of(3, {1: [2]}, blocked=[2])
    known = np.array([True, False, False])
    assert scores_from(web, 2, known, 1)[0].tolist() == [0.0, 1.0, 0.0]
    scores = scores_from(web, 1, known, 2000)
    assert scores[:, UNKNOWN].mean() == pytest.approx(0.85, abs=0.05)
    assert set(scores[:, UNKNOWN].tolist()) == {0.0, 1.0}


def test_it_waits_for_an_unrecorded_page_and_continues_as_if_it_had_not() -> None:
    rng = np.random.default_rng(3)
    web = odd_web(rng)
    known = halves(web, rng)
    links = web.links()
    for life, entry in enumerate(np.flatnonzero(~known)[:15].tolist()):
        at_once, bit_by_bit = np.zeros(3), np.zeros(3)
        random = np.array([random_start("w", life)], np.uint64)
        last, _ = continue_life(links, web.rows(known), 1, entry, web.damping, random.copy(), at_once)
        rows, page, has_ended = web.rows(known), entry, False
        rows.when[~known] = NOT_RECORDED
        while not has_ended:
            page, has_ended = continue_life(links, rows, 1, page, web.damping, random, bit_by_bit)
            if not has_ended:
                assert rows.when[page] == NOT_RECORDED
                rows.when[page] = 2
        assert page == last
        assert bit_by_bit.tolist() == at_once.tolist()


class _Never:
    def poll(self) -> None:
        return None

    def wait(self) -> None:
        raise AssertionError("plain Python was to do it")


def test_plain_python_equals_compiled_code_to_the_bit() -> None:
    rng = np.random.default_rng(4)
    web = odd_web(rng, 30)
    known = halves(web, rng)
    pages = np.flatnonzero(~known)[:5].tolist()
    compiled = [scores_from(web, page, known, 4) for page in pages]
    with substituted(_Never()):
        plain = [scores_from(web, page, known, 4) for page in pages]
    assert np.array_equal(compiled, plain)
