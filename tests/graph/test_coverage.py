from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import orienteer as ori
from orienteer.graph import shapes
from orienteer.graph.coverage import Coverage, certificate
from orienteer.graph.proved import Certificate
from orienteer.graph.push import LinkRows
from orienteer.graph.synthetic import synthetic_web
from tests.conftest import random_web
from tests.graph.reference import dense_links, dense_pagerank
from tests.tables import over_rows


def dense_bounds(
    web: ori.LinkGraph, fetched: np.ndarray, trust: np.ndarray, d: float, alias: np.ndarray, hidden: float = 0.0
) -> tuple[float, float]:
    """The tight bounds, by solving the system restricted to the fetched pages."""
    links = dense_links(web).astype(float)
    degrees = links.sum(axis=1)
    step = np.where(alias, 1.0, d)[:, None] * links / np.maximum(degrees, 1)[:, None]
    step[~fetched] = 0
    inside = np.linalg.solve(np.eye(web.n_pages) - step.T * fetched[:, None], trust * fetched)
    left = (trust + step.T @ inside)[~fetched].sum() + hidden
    dangling = inside[fetched & (degrees == 0)].sum()
    return 1 - left / (1 - d * dangling), 1 - (1 - d) * left / (1 - d * dangling)


def cases(rng: np.random.Generator):
    for n in (1, 2, 8, 40, 120):
        for degree in (1.0, 4.0):
            web = random_web(rng, n, degree)
            fetched = rng.random(n) < rng.random()
            trust = rng.random(n) * (rng.random(n) < 0.3)
            trust[rng.integers(n)] += 0.5
            yield web, fetched, trust / trust.sum()


@pytest.mark.parametrize("damping", [0.3, 0.85, 0.99])
def test_the_certificate_is_the_tight_bound_and_true(rng: np.random.Generator, damping: float) -> None:
    for web, fetched, trust in cases(rng):
        truth = dense_pagerank(web, trust, trust, damping)[fetched].sum()
        found = certificate(web, fetched, trust, damping=damping, tolerance=1e-12)
        lower, upper = dense_bounds(web, fetched, trust, damping, np.zeros(web.n_pages, bool))
        assert found.lower == pytest.approx(lower, abs=1e-9)
        assert found.upper == pytest.approx(upper, abs=1e-9)
        assert found.lower - 1e-12 <= truth <= found.upper + 1e-12


@pytest.mark.parametrize("tolerance", [0.5, 1e-1, 1e-3, 1e-6])
def test_an_unfinished_certificate_is_true_and_says_how_far_it_may_be_off(
    rng: np.random.Generator, tolerance: float
) -> None:
    for web, fetched, trust in cases(rng):
        truth = dense_pagerank(web, trust, trust, 0.85)[fetched].sum()
        found = certificate(web, fetched, trust, tolerance=tolerance)
        lower, _ = dense_bounds(web, fetched, trust, 0.85, np.zeros(web.n_pages, bool))
        assert found.lower - 1e-12 <= truth <= found.upper + 1e-12
        assert found.unsettled <= tolerance + 1e-12
        assert lower <= found.lower + found.unsettled + 1e-9


def test_the_order_of_fetching_and_settling_does_not_matter(rng: np.random.Generator) -> None:
    for web, fetched, trust in cases(rng):
        whole = certificate(web, fetched, trust)
        links = LinkRows.of(web)
        coverage = Coverage(trust)
        for page in rng.permutation(np.flatnonzero(fetched)):
            coverage.fetch(np.array([page], np.uint32), links)
            if rng.random() < 0.3:
                coverage.settle(links, 1e-3)
        coverage.settle(links)
        assert coverage.certificate().lower == pytest.approx(whole.lower, abs=1e-8)
        assert coverage.certificate().upper == pytest.approx(whole.upper, abs=1e-8)


def test_it_grows_with_the_crawl(rng: np.random.Generator) -> None:
    """Pages are discovered over time; the ring of queued pages is reallocated."""
    web = random_web(rng, 200, 4.0)
    links = LinkRows.of(web)
    coverage = Coverage(np.array([1.0, 0, 0]))
    for page in range(200):
        coverage.grow_to(int(max(page, web.links(page).max(initial=0))) + 1)
        coverage.fetch(np.array([page], np.uint32), links)
    coverage.settle(links)
    assert coverage.certificate().lower == pytest.approx(1, abs=1e-8)


def test_fetching_until_a_target_stops_at_the_first_page_that_suffices(rng: np.random.Generator) -> None:
    for web, _, trust in cases(rng):
        order = rng.permutation(web.n_pages).astype(np.uint32)
        links = LinkRows.of(web)
        none = np.zeros(web.n_pages, bool)
        fetched = [np.isin(np.arange(web.n_pages), order[:k]) for k in range(1, web.n_pages + 1)]
        tight = np.array([dense_bounds(web, done, trust, 0.85, none)[0] for done in fetched])
        for until in (0.2, 0.7, 0.95):
            n = Coverage(trust).fetch(order, links, until)
            assert n == int(np.argmax(tight >= until - 1e-10)) + 1


def test_blocked_mass_is_reported_separately(rng: np.random.Generator) -> None:
    for web, fetched, trust in cases(rng):
        blocked = np.flatnonzero(~fetched)[::2]
        plain, with_blocked = certificate(web, fetched, trust), certificate(web, fetched, trust, blocked=blocked)
        assert (with_blocked.lower, with_blocked.upper) == (plain.lower, plain.upper)
        assert with_blocked.blocked + with_blocked.frontier == pytest.approx(plain.frontier)
        rest = fetched.copy()
        rest[np.setdiff1d(np.arange(web.n_pages), blocked)] = True  # fetch all that can be
        assert certificate(web, rest, trust, blocked=blocked).frontier == pytest.approx(0, abs=1e-12)


def test_a_redirect_is_one_page_with_two_names(rng: np.random.Generator) -> None:
    """The certificate equals that of the web in which the alias is replaced by its target."""
    for _ in range(20):
        n = 30
        base = random_web(rng, n, 3.0)
        alias, target = 4, 9
        sources = base.sources().astype(int)
        keep = sources != alias
        web = ori.LinkGraph.from_links(n, np.append(sources[keep], alias), np.append(base.targets[keep], target))
        fetched = rng.random(n) < 0.6
        fetched[[alias, target]] = True
        trust = rng.random(n)
        trust /= trust.sum()
        found = certificate(web, fetched, trust, aliases=[alias], tolerance=1e-13)
        is_alias = np.arange(n) == alias
        lower, upper = dense_bounds(web, fetched, trust, 0.85, is_alias)
        assert (found.lower, found.upper) == (pytest.approx(lower, abs=1e-9), pytest.approx(upper, abs=1e-9))

        # the truth: links to the alias are links to the target
        links = dense_links(web).astype(float)
        links[:, target] += links[:, alias]
        links[:, alias] = 0
        links[alias] = 0
        merged = trust + np.where(np.arange(n) == target, trust[alias], 0)
        merged[alias] = 0
        degrees = links.sum(axis=1)
        step = np.where(degrees[:, None] > 0, links / np.maximum(degrees, 1)[:, None], merged[None, :]).T
        rank = np.linalg.solve(np.eye(n) - 0.85 * step, 0.15 * merged)
        assert found.lower - 1e-12 <= rank[fetched].sum() <= found.upper + 1e-12


def test_unknown_trust_bounds_the_provable_coverage(rng: np.random.Generator) -> None:
    """Theorem 3: with 1 - δ of the trust known, everything fetched proves 1 - δ of the coverage times what it would."""
    for web, _, trust in cases(rng):
        everything = np.ones(web.n_pages, bool)
        found = certificate(web, everything, trust, known_trust=0.9)
        assert found.lower <= 0.9 + 1e-9 or web.n_links < web.n_pages
        assert found.upper < 1
        # the same as a page of that much trust that is never fetched
        larger = ori.LinkGraph.from_links(web.n_pages + 1, web.sources(), web.targets)
        same = certificate(larger, np.append(everything, False), np.append(0.9 * trust, 0.1))
        assert (found.lower, found.upper) == (pytest.approx(same.lower, abs=1e-8), pytest.approx(same.upper, abs=1e-8))


def test_nothing_fetched_proves_nothing_and_everything_proves_all() -> None:
    web = shapes.clique_and_cycle(4, 5)
    assert certificate(web, []).lower == 0
    assert certificate(web, np.arange(9)).lower == pytest.approx(1, abs=1e-8)
    assert certificate(web, np.arange(9)).upper == 1
    assert certificate(shapes.disconnected(4), [0, 1], trust=[0, 1]).lower == pytest.approx(1)


def test_it_prints_a_statement_that_stays_true_when_rounded() -> None:
    text = str(Certificate(lower=0.97119, upper=0.99391, blocked=0.00601))
    assert text == "at least 97.11 %, at most 99.40 %; 0.61 % blocked"


@over_rows(
    ("arguments", "message"),
    [
        ({"fetched": [5]}, "fetched: page 5 is not in the graph"),
        ({"fetched": [0], "known_trust": 0}, "known_trust is 0"),
        ({"fetched": [0], "known_trust": 1.5}, "known_trust is 1.5"),
        ({"fetched": [0], "damping": 1}, "damping is 1"),
        ({"fetched": [0], "trust": [0.0, 0, 0]}, "zero on every page"),
        ({"fetched": [0], "blocked": [7]}, "blocked: page 7"),
    ],
)
def test_unusable_arguments_are_one_clear_line(arguments: dict, message: str) -> None:
    with pytest.raises(ori.InputError, match=message):
        certificate(shapes.cycle(3), **arguments)


def test_long_rounds_in_the_order_of_pages_give_the_same_bounds() -> None:
    """Enough fetched pages that the kernel asks for its ring to be sorted; against a sparse solve."""
    web = synthetic_web(60_000, mean_degree=6, rng=4)
    fetched = np.random.default_rng(1).random(60_000) < 0.8
    trust = np.full(60_000, 1 / 60_000)
    found = certificate(web, fetched, trust)
    step = 0.85 * scipy.sparse.diags_array(fetched / np.maximum(web.out_degrees(), 1)) @ web.to_scipy()
    into = scipy.sparse.diags_array(fetched.astype(float)) @ step.T
    inside = trust * fetched
    for _ in range(200):
        inside = trust * fetched + into @ inside
    left = (trust + step.T @ inside)[~fetched].sum()
    total = 1 - 0.85 * inside[web.out_degrees() == 0].sum()
    assert found.lower == pytest.approx(1 - left / total, abs=1e-8)
    assert found.upper == pytest.approx(1 - 0.15 * left / total, abs=1e-8)
