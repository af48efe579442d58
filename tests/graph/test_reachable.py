"""The coverage of what is reachable, and goals that are impossible, against dense linear algebra."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest

import orienteer as ori
from orienteer.graph.coverage import Coverage, certificate
from orienteer.graph.coverage_push import ProofTarget
from orienteer.graph.push import LinkRows
from orienteer.pages.unknown import UNKNOWN_COUNT
from tests.conftest import random_web
from tests.graph.reference import dense_links

TOO_CLOSE = 1e-9  # to say which side of a bound it is on


class Case(NamedTuple):
    """A web, its trust, what becomes of its pages in which order, and their links that are not known."""

    web: ori.LinkGraph
    trust: np.ndarray
    order: np.ndarray
    can_be_fetched: np.ndarray
    n_unknown: np.ndarray
    damping: float


def cases(rng: np.random.Generator, n_cases: int = 60) -> Iterator[Case]:
    for k in range(n_cases):
        n = int(rng.integers(3, 50))
        web = random_web(rng, n, float(rng.choice([1.5, 4.0])))
        trust = rng.random(n) * (rng.random(n) < 0.3)
        trust[rng.integers(n)] += 0.5
        open_share = rng.choice([0.5, 0.8, 0.95])
        n_unknown = np.where(rng.random(n) < 0.05 * (k % 3), rng.integers(1, 4, n), 0).astype(np.int32)
        n_unknown[rng.random(n) < 0.02 * (k % 3)] = UNKNOWN_COUNT
        yield Case(
            web, trust / trust.sum(), rng.permutation(n), rng.random(n) < open_share, n_unknown,
            float(rng.choice([0.5, 0.85])),
        )  # fmt: skip


class ExactMasses(NamedTuple):
    """The figures of a certificate, pushed to convergence."""

    lower: float
    lost: float  # blocked and unknown

    @property
    def of_reachable(self) -> float:
        return self.lower / (1 - self.lost) if self.lost < 1 - 1e-12 else 0.0

    def proves(self, target: ProofTarget) -> bool | None:
        """Whether the target is proved; None where rounding decides."""
        margins = [self.lower - target.until, self.of_reachable - target.of_reachable]
        margins.append(min(self.of_reachable - target.last_resort, self.lost - (1 - target.last_resort)))
        best = max(margins)
        return None if abs(best) < TOO_CLOSE else best > 0


def dense_masses(case: Case, fetched: np.ndarray, blocked: np.ndarray) -> ExactMasses:
    """By solving the system restricted to the fetched pages."""
    links = dense_links(case.web).astype(float)
    count_unknown = case.n_unknown == UNKNOWN_COUNT
    n_known = links.sum(axis=1)
    n_links = n_known + np.where(count_unknown, 0, case.n_unknown)
    passes_on = fetched & ((n_links > 0) | count_unknown)
    step = case.damping * links / np.maximum(n_links, 1)[:, None]
    step[~fetched | count_unknown] = 0
    visits = np.linalg.solve(np.eye(case.web.n_pages) - step.T * fetched[:, None], case.trust * fetched)
    left = case.trust + step.T @ visits
    unknown = (case.damping * visits * passes_on).sum() - (visits @ step).sum()
    total = 1 - case.damping * visits[fetched & ~passes_on].sum()
    return ExactMasses(1 - (left[~fetched].sum() + unknown) / total, (left[blocked].sum() + unknown) / total)


def targets(until: float) -> list[ProofTarget]:
    return [
        ProofTarget(until),
        ProofTarget(of_reachable=until),
        ProofTarget(last_resort=until),
        ProofTarget(until, last_resort=until),
    ]


@pytest.mark.parametrize("until", [0.3, 0.8, 0.95])
def test_it_is_decided_at_the_very_page(rng: np.random.Generator, until: float) -> None:
    """Whatever is asked for is said to be proved as soon as it is, and never before."""
    n_said, n_impossible = [0] * 4, 0
    for case in cases(rng):
        links = LinkRows.of(case.web)
        watched = [(target, Coverage(case.trust, case.damping)) for target in targets(until)]
        for _, coverage in watched:
            coverage.set_all_unknown(case.n_unknown)
        fetched, blocked = np.zeros((2, case.web.n_pages), bool)
        for page in case.order:
            (fetched if case.can_be_fetched[page] else blocked)[page] = True
            masses = dense_masses(case, fetched, blocked)
            for k, (target, coverage) in enumerate(watched):
                pages = np.array([page], np.uint32)
                if case.can_be_fetched[page]:
                    said = coverage.fetch(pages, links, target) > 0
                else:
                    coverage.block(pages)
                    said = coverage.proves(links, target)
                truth = masses.proves(target)
                assert truth is None or said == truth, (target, masses)
                n_said[k] += said
                if coverage.is_impossible(until):
                    assert masses.lost > 1 - until - TOO_CLOSE
        for _, coverage in watched:
            coverage.settle(links, 1e-13)
            assert abs(masses.lost - (1 - until)) < TOO_CLOSE or coverage.is_impossible(until) == (
                masses.lost > 1 - until
            )
            n_impossible += coverage.is_impossible(until)
    assert min(n_said) > 0, "each was to be seen"
    assert n_impossible > 0


def test_the_certificate_reports_the_masses(rng: np.random.Generator) -> None:
    for case in cases(rng):
        cut = int(rng.integers(1, case.web.n_pages + 1))
        done = np.isin(np.arange(case.web.n_pages), case.order[:cut])
        fetched, blocked = done & case.can_be_fetched, done & ~case.can_be_fetched
        found = certificate(
            case.web, fetched, case.trust, damping=case.damping, blocked=np.flatnonzero(blocked),
            n_unknown=case.n_unknown, tolerance=1e-13,
        )  # fmt: skip
        masses = dense_masses(case, fetched, blocked)
        assert found.lower == pytest.approx(masses.lower, abs=1e-9)
        assert found.blocked + found.unknown == pytest.approx(masses.lost, abs=1e-9)
        assert found.of_reachable == pytest.approx(masses.of_reachable, abs=1e-6)
        assert found.lower + found.frontier + found.blocked + found.unknown + found.unsettled == pytest.approx(1)
        assert found.as_dict()["of_reachable"] == found.of_reachable


def test_it_is_the_coverage_seen_by_a_surfer_who_turns_back_or_less(rng: np.random.Generator) -> None:
    """Where a page is blocked, or a link is not known, she starts again. This holds whatever else is blocked later."""
    for case in cases(rng):
        links = dense_links(case.web).astype(float)
        count_unknown = case.n_unknown == UNKNOWN_COUNT
        n_links = links.sum(axis=1) + np.where(count_unknown, 0, case.n_unknown)
        step = case.damping * links / np.maximum(n_links, 1)[:, None]
        step[count_unknown] = 0
        step[~case.can_be_fetched] = 0
        step[:, ~case.can_be_fetched] = 0
        visits = np.linalg.solve(np.eye(case.web.n_pages) - step.T, case.trust * case.can_be_fetched)
        for cut in rng.integers(1, case.web.n_pages + 1, 5):
            done = np.isin(np.arange(case.web.n_pages), case.order[:cut])
            fetched = done & case.can_be_fetched
            claimed = certificate(
                case.web, fetched, case.trust, damping=case.damping, n_unknown=case.n_unknown,
                blocked=np.flatnonzero(done & ~case.can_be_fetched),
            ).of_reachable  # fmt: skip
            assert claimed * visits.sum() <= visits[fetched].sum() + 1e-9


def test_reached_and_impossible_targets_stay_so(rng: np.random.Generator) -> None:
    for case in cases(rng):
        fetched, blocked = np.zeros((2, case.web.n_pages), bool)
        before = ExactMasses(0.0, 0.0)
        for page in case.order:
            (fetched if case.can_be_fetched[page] else blocked)[page] = True
            masses = dense_masses(case, fetched, blocked)
            assert masses.lost >= before.lost - 1e-9
            assert masses.of_reachable >= before.of_reachable - 1e-9 or masses.lost > 1 - 1e-6
            before = masses


def test_where_nothing_is_reachable_nothing_is_covered() -> None:
    web = ori.LinkGraph.from_links(2, [0], [1])
    coverage = Coverage(np.array([1.0, 0.0]))
    coverage.block(np.array([0], np.uint32))
    for target in targets(0.5):
        assert not coverage.proves(LinkRows.of(web), target)
    assert coverage.is_impossible(0.5)
    assert coverage.certificate().of_reachable == 0


def test_a_blocked_page_that_is_fetched_is_blocked_no_more() -> None:
    web = ori.LinkGraph.from_links(3, [0, 0], [1, 2])
    coverage, links = Coverage(np.array([1.0, 0.0, 0.0])), LinkRows.of(web)
    coverage.fetch(np.array([0], np.uint32), links)
    coverage.block(np.array([1, 1, 2], np.uint32))
    both = coverage.certificate().blocked
    coverage.block(np.array([0, 1], np.uint32))  # fetched, and blocked before
    assert coverage.certificate().blocked == both == pytest.approx(0.85)
    coverage.fetch(np.array([1], np.uint32), links)
    assert coverage.mass[4] == pytest.approx(0.425)
    assert coverage.certificate().blocked == pytest.approx(0.425 / (1 - 0.85 * 0.425))
