"""RankMass's tables and figures on webs small enough to check by hand, and the whole run at a reduced size."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import rankmass, rankmass_orders, rankmass_seeds
from experiments.papers import experiments_named
from experiments.rankmass_orders import LEVEL, Ordered
from experiments.verdict import VERDICTS
from experiments.webs import Webs
from orienteer.crawl.simulate import simulate
from orienteer.evaluate.metrics import Curve
from orienteer.graph.pagerank import pagerank
from orienteer.progress import silent
from tests.conftest import random_web

NO_CURVE = Curve(np.array([1]), np.array([1.0]))


def test_a_quick_run_of_a_small_web_tries_every_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rankmass, "QUICK", rankmass.Sizes((4000,), 8000, 2.0, 1000))
    (experiment,) = experiments_named("rankmass")
    results = rankmass.run(experiment, Webs(None, quick=True))
    tried = [claim.name for claim in experiment.claims if results.finding_of(claim) is not None]
    assert tried == [claim.name for claim in experiment.claims]
    assert len(results.findings) == len(experiment.claims)
    for finding in results.findings:
        assert finding.verdict in VERDICTS
        assert np.isfinite(finding.value)
    assert [plot.name for plot in results.plots] == ["figure-7", "figure-8", "table-3", "figure-9", "figure-10"]
    for table in results.tables:
        assert {len(row) for row in table.rows} == {len(table.headings)}


def test_fetches_are_counted_until_it_is_there_and_until_it_is_proved(rng: np.random.Generator) -> None:
    web = random_web(rng, 600)
    rank = pagerank(web, tolerance=1e-10)
    trusted = rankmass_orders.top_pages(rank)
    assert set(trusted) == set(np.argsort(-rank, kind="stable")[:160])
    truth = pagerank(web, trusted, tolerance=1e-10)
    found = rankmass_orders.orders_on(web, rank, silent)
    best_first = np.cumsum(np.sort(truth)[::-1])
    assert found["optimal"].actual == int(np.argmax(best_first >= LEVEL)) + 1
    for label, one in found.items():
        assert one.actual >= found["optimal"].actual
        if one.guaranteed is not None:
            assert one.certified is not None
            assert one.actual <= one.certified <= one.guaranteed, label
    order = simulate(web, "rankmass", trusted, until=LEVEL).order
    assert found["RankMass"].guaranteed == len(order)
    assert truth[order[: found["RankMass"].actual]].sum() >= LEVEL > truth[order[: found["RankMass"].actual - 1]].sum()


def counts(**actual_and_guaranteed: tuple[int, int]) -> dict[str, Ordered]:
    names = {"levels": "L-Neighbor", "w20": "20 % windowed", "w10": "10 % windowed", "w5": "5 % windowed",
             "rankmass": "RankMass", "optimal": "optimal"}  # fmt: skip
    return {
        names[key]: Ordered(guaranteed, actual, None, NO_CURVE, NO_CURVE)
        for key, (actual, guaranteed) in actual_and_guaranteed.items()
    }


def test_the_published_counts_would_hold() -> None:
    published = counts(
        levels=(65_000, 7_000_000), w20=(30_700, 300_000), w10=(30_500, 217_918), w5=(29_000, 150_000),
        rankmass=(27_939, 131_072), optimal=(27_101, 27_101),
    )  # fmt: skip
    verdicts = {finding.claim: finding.verdict for finding in rankmass_orders.findings({"paper": published})}
    assert set(verdicts.values()) == {"holds"}


def test_where_rankmass_is_last_the_order_does_not_hold() -> None:
    other = counts(
        levels=(20, 20), w20=(20, 20), w10=(20, 20), w5=(20, 20), rankmass=(30, 30), optimal=(10, 10)
    )  # fmt: skip
    verdicts = {finding.claim: finding.verdict for finding in rankmass_orders.findings({"web": other})}
    assert verdicts["near-optimal"] == "does not hold"
    assert verdicts["actual-order"] == "does not hold"
    assert verdicts["guarantee-order"] == "does not hold"


def test_a_crawl_from_some_of_the_trusted_pages_proves_their_part_only(rng: np.random.Generator) -> None:
    """Theorem 3: (1 - delta) (1 - d^(L+1)) after level L, and never more than there is."""
    web = random_web(rng, 4000)
    rank = pagerank(web, tolerance=1e-10)
    found = rankmass_seeds.study(web, rank, silent)
    assert [crawl.n_seeds for crawl in found.crawls] == [160, 1600]
    for crawl in found.crawls:
        trust = np.sort(rank)[::-1][: crawl.n_seeds].sum()
        assert crawl.trust == pytest.approx(trust)
        assert (crawl.guarantee.values <= crawl.mass.values + 1e-9).all()
        at = int(np.searchsorted(crawl.guarantee.positions, crawl.n_seeds))
        assert crawl.guarantee.values[at] >= trust * (1 - 0.85) - 1e-12  # level 0 is complete
        assert crawl.guarantee.values[0] == 0
    assert found.trust.values[-1] == pytest.approx(1)
