from __future__ import annotations

import numpy as np
import pytest

import orienteer as ori
from orienteer.crawl.politeness import Politeness
from orienteer.crawl.simulate import Trace
from orienteer.graph import shapes
from orienteer.graph.coverage import certificate
from orienteer.graph.pagerank import pagerank
from orienteer.graph.synthetic import synthetic_web
from orienteer.policies.policy import Priorities
from tests.conftest import random_web, shared_file


@pytest.fixture(scope="module")
def web() -> ori.LinkGraph:
    return synthetic_web(2000, mean_degree=8, rng=2)


def homes(web: ori.LinkGraph) -> np.ndarray:
    return np.flatnonzero(np.diff(web.hosts, prepend=-1))[:12]


def test_politeness_keeps_its_distance(web: ori.LinkGraph) -> None:
    polite = Politeness(delay_s=3.0)
    trace = ori.simulate(web, "fractional", homes(web), budget=600, workers=50, politeness=polite, latency_s=0.5)
    for host in np.unique(web.hosts[trace.order]):
        times = trace.times_s[web.hosts[trace.order] == host]
        assert (np.diff(np.sort(times)) >= 3.5 - 1e-9).all()  # the delay, and the fetch itself


def test_without_delays_politeness_changes_nothing_for_one_worker(web: ori.LinkGraph) -> None:
    alone = ori.simulate(web, "fractional", homes(web), budget=300)
    polite = ori.simulate(web, "fractional", homes(web), budget=300, politeness=Politeness(delay_s=0.0))
    assert polite.order.tolist() == alone.order.tolist()


def test_a_longer_delay_costs_quality_or_time(web: ori.LinkGraph) -> None:
    truth = pagerank(web, homes(web))
    covered, hours = [], []
    for delay in (0.0, 5.0):
        polite = Politeness(delay_s=delay)
        trace = ori.simulate(web, "certified", homes(web), budget=150, workers=8, politeness=polite, latency_s=0.2)
        covered.append(truth[trace.order].sum())
        hours.append(trace.times_s[-1])
    assert hours[1] > hours[0]
    assert covered[1] < covered[0]


def test_the_same_rng_gives_the_same_times(web: ori.LinkGraph) -> None:
    def run(rng: int) -> Trace:
        return ori.simulate(web, "random", homes(web), budget=100, workers=4, rng=rng,
                            latency_s=lambda page, generator: generator.exponential())  # fmt: skip

    assert run(1).times_s.tolist() == run(1).times_s.tolist()
    assert run(1).times_s.tolist() != run(2).times_s.tolist()


def test_stopping_by_certificate_needs_no_more_than_the_own_guarantee(web: ori.LinkGraph) -> None:
    for name in ("rankmass", "windowed-rankmass", "l-neighbor"):
        own = ori.simulate(web, name, homes(web), until=0.9)
        tight = ori.simulate(web, name, homes(web), until=0.9, by_certificate=True)
        assert tight.n_fetched <= own.n_fetched
        assert tight.order.tolist() == own.order[: tight.n_fetched].tolist()
        assert tight.guarantee >= 0.9


def test_every_order_stops_at_its_tight_crossing(web: ori.LinkGraph) -> None:
    for name in ("breadth-first", "fractional", "opic", "random"):
        trace = ori.simulate(web, name, homes(web), until=0.9)
        assert certificate(web, trace.order, homes(web)).lower >= 0.9 - 1e-9
        assert certificate(web, trace.order[:-1], homes(web)).lower < 0.9


def test_progress_is_reported() -> None:
    seen: list[int] = []
    big = synthetic_web(60_000, mean_degree=4, rng=1)
    ori.simulate(big, "fractional", [0], progress=lambda stage, done, total: seen.append(done))
    assert seen == sorted(seen)
    assert seen


def test_a_policy_object_can_be_given() -> None:
    class Backwards(ori.policies.policy.Policy):
        name = "backwards"

        def begin(self, web, trusted) -> Priorities:
            return Priorities(trusted.pages, trusted.pages.astype(float))

        def fetched(self, page, web) -> Priorities:
            return Priorities(web.links(page), web.links(page).astype(float))

        def run(self, graph, trusted):
            raise NotImplementedError

    order = ori.simulate(shapes.clique(5), Backwards(), trust=[0], step_by_step=True).order.tolist()
    assert order == [0, 4, 3, 2, 1]


def test_explain_a_fetched_page_and_one_that_waits(rng: np.random.Generator) -> None:
    web = ori.LinkGraph.from_links(6, [0, 0, 1, 2, 2, 1], [1, 2, 3, 3, 4, 5])
    trace = ori.simulate(web, "certified", trust=[0], budget=3)
    assert trace.order.tolist() == [0, 1, 2]

    first = trace.explain(0)
    assert (first.position, first.trust, first.sources) == (0, 1.0, ())
    waiting = trace.explain(3)
    assert waiting.position is None
    assert waiting.frontier_position == 0
    assert waiting.mass == pytest.approx(2 * 0.85 * 0.425 / 2)
    assert [source for source, _ in waiting.sources] == [1, 2]
    assert [share for _, share in waiting.sources] == pytest.approx([0.5, 0.5])
    assert trace.explain(5).frontier_position == 2  # after 3, and after 4 by its id
    unknown = ori.simulate(web, "certified", trust=[0], budget=1).explain(5)
    assert (unknown.position, unknown.mass, unknown.frontier_position, unknown.sources) == (None, 0.0, None, ())
    with pytest.raises(ori.InputError, match="page 6 is not in the graph"):
        trace.explain(6)


def test_the_sources_of_a_page_account_for_its_mass(rng: np.random.Generator) -> None:
    web = random_web(rng, 120, 3.0)
    trace = ori.simulate(web, "fractional", trust=[1, 2], budget=30)
    for page in range(120):
        explained = trace.explain(page)
        if explained.position is None and explained.mass > 0:
            given = sum(share for _, share in explained.sources)
            total = explained.trust / explained.mass + given
            assert total == pytest.approx(1, abs=1e-4)


def test_the_repr_says_what_happened(web: ori.LinkGraph) -> None:
    text = repr(ori.simulate(web, "rankmass", homes(web), until=0.5))
    assert text.startswith("<Trace of rankmass: ")
    assert text.endswith(" proved, stopped by coverage>")


def test_a_guarantee_that_was_not_computed_is_that_of_the_certificate(web: ori.LinkGraph) -> None:
    trace = ori.simulate(web, "fractional", homes(web), budget=200)
    assert trace.proved is None
    assert trace.guarantee == trace.certificate.lower > 0


def test_weighing_hosts_needs_hosts() -> None:
    with pytest.raises(ori.InputError, match="inter_host_weight needs hosts"):
        ori.simulate(shapes.cycle(5), "fractional", [0], inter_host_weight=20)


@pytest.mark.parametrize("name", ["cnr-2000-nat"])
def test_the_figures_of_a_real_graph(name: str) -> None:
    """Fetches until 0.98 on the CNR crawl with the 160 pages of the highest PageRank trusted."""
    graph = ori.LinkGraph.load(shared_file(f"graphs/{name}.npz"))
    trusted = np.argsort(-pagerank(graph), kind="stable")[:160]
    assert ori.simulate(graph, "rankmass", trusted, until=0.98).n_fetched == 35_806
    assert ori.simulate(graph, "windowed-rankmass", trusted, until=0.98).n_fetched == 59_224
    certified = ori.simulate(graph, "certified", trusted, until=0.98)
    assert certified.n_fetched <= 0.83 * 35_806
    n_links = int(graph.out_degrees()[certified.order].sum())
    assert certified.n_links_read <= 60 * n_links
