from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import orienteer as ori
from orienteer.evaluate.seed_compare import (
    PlotRow,
    SeedComparison,
    SeedSeries,
    Web,
    compare_seeds,
    compare_seeds_on,
    figure_of_rows,
    seed_figure,
    write_seed_plot,
)
from orienteer.graph.link_graph import LinkGraph
from orienteer.seeds import all_methods, settings_of
from orienteer.seeds.select import seed_selection
from tests.conftest import random_web


def test_series_equal_the_cover_of_the_selections(rng: np.random.Generator) -> None:
    web = random_web(rng, 200, 2.0)
    value = rng.integers(0, 5, 200).astype(float)
    found = compare_seeds(web, 6, 3, value)
    assert found.measures == ("pages", "value")
    for label, name, depth in (("greedy", "greedy", 2), ("max-weight(3)", "max-weight", 3), ("max-out", "max-out", 2)):
        for k in range(1, 7):
            alone = seed_selection(web, k, 3, name, value, depth)
            assert found.by_seeds[label].pages[k - 1] == pytest.approx(alone.n_covered / 200)
            assert found.by_seeds[label].value[k - 1] == pytest.approx(alone.value / value.sum())
        for hops in range(1, 4):
            alone = seed_selection(web, 5, hops, name, value, depth)
            assert found.by_hops[label].value[hops - 1] == pytest.approx(alone.value / value.sum())
    draws = [seed_selection(web, 6, 3, "random", value, rng=draw).value for draw in range(20)]
    assert found.by_seeds["random"].value[-1] == pytest.approx(np.mean(draws) / value.sum())
    gain = found.improvement(found.by_seeds, "greedy", "value")[-1]
    assert gain == pytest.approx(found.by_seeds["greedy"].value[-1] / found.by_seeds["random"].value[-1] - 1)
    assert found.of_reference(found.by_seeds, "greedy", "value").tolist() == [1.0] * 6


def test_fewer_seeds_are_the_first_of_more(rng: np.random.Generator) -> None:
    web = random_web(rng, 300, 2.0)
    found = compare_seeds(web, 8, 2)
    for name, depth in [(name, 2) for name in all_methods()] + [("max-weight", 3)]:
        label = f"{name}({depth})" if "depth" in settings_of(all_methods()[name]) else name
        draws = range(20) if name == "random" else [0]
        alone = [seed_selection(web, 5, 2, name, depth=depth, rng=draw).n_covered for draw in draws]
        assert found.by_hops[label].pages[-1] == found.by_seeds[label].pages[4]
        assert found.by_seeds[label].pages[4] == pytest.approx(np.mean(alone) / 300)


def test_several_webs_count_the_same_whatever_their_size(rng: np.random.Generator) -> None:
    webs = [Web(random_web(rng, n_pages, 2.0), rng.integers(1, 5, n_pages).astype(float)) for n_pages in (60, 200)]
    found = compare_seeds_on(webs, 4, 2, n_draws=3)
    each = [compare_seeds_on([web], 4, 2, n_draws=3) for web in webs]
    assert (found.n_webs, found.n_pages) == (2, 260)
    for name in found.by_seeds:
        for measure in ("pages", "value"):
            apart = [one.by_hops[name].of(measure) for one in each]
            assert found.by_hops[name].of(measure) == pytest.approx(np.mean(apart, axis=0))
    draws = [seed_selection(webs[0].graph, 4, 2, "random", rng=draw).n_covered for draw in range(3)]
    assert each[0].by_seeds["random"].pages[-1] == pytest.approx(np.mean(draws) / 60)


def test_hosts_are_compared_separately_and_small_ones_left_out(rng: np.random.Generator) -> None:
    web = random_web(rng, 250, 3.0)
    hosts = np.repeat([0, 1, 2], [120, 110, 20])
    found = compare_seeds(LinkGraph(web.offsets, web.targets, hosts), 3, 2, per="host")
    assert found.n_webs == 2
    assert found.measures == ("pages",)
    assert set(found.by_seeds) == set(found.by_hops) >= {"random", "greedy", "max-weight(2)", "max-weight(3)"}


def test_values_that_are_nothing_worth() -> None:
    web = LinkGraph.from_links(3, [0], [1])
    with pytest.raises(ori.InputError, match="no page has a positive value"):
        compare_seeds(web, 1, 1, [-1, 0, -1])
    # Random seeds cover less than nothing here: there is no improvement to speak of.
    found = compare_seeds(web, 2, 1, [1, 0, -99])
    assert found.as_dict()["by_seeds"]["greedy"]["value"]["improvement"][-1] is None


def test_the_plot(tmp_path: Path, rng: np.random.Generator) -> None:
    found = compare_seeds(random_web(rng, 100, 2.0), 4, 3, rng.integers(-2, 5, 100).astype(float))
    figure = seed_figure(found)
    assert len(figure.axes) == 4
    assert len(figure.axes[0].lines) == len(found.by_seeds)  # all but random, which is the line at 0
    for name in ("a.png", "a.svg"):
        assert write_seed_plot(found, tmp_path / name).stat().st_size > 1000


def test_a_plot_of_several_comparisons(rng: np.random.Generator) -> None:
    webs = [random_web(rng, 100, 2.0), random_web(rng, 150, 2.0)]
    rows = [PlotRow(f"row {place}", compare_seeds(web, 3, 2), "pages") for place, web in enumerate(webs)]
    figure = figure_of_rows("both", rows)
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "row 0, 2 hops",
        "row 0, 3 seeds",
        "row 1, 2 hops",
        "row 1, 3 seeds",
    ]
    dotted = {str(line.get_label()) for line in figure.axes[0].lines if line.get_linestyle() == ":"}
    assert dotted == {"pagerank", "out-degree"}


def test_curves_far_apart_are_drawn_on_a_logarithmic_axis() -> None:
    shares = {"random": [0.001, 0.1], "greedy": [0.9, 0.101], "max-out": [0.001, 0.101], "pagerank": [0.001, 0.099]}
    series = {name: SeedSeries(np.array(share), np.array(share)) for name, share in shares.items()}
    found = SeedComparison(9, 1, None, 2, 2, 2, ("pages",), series, series)
    axes = seed_figure(found).axes[0]
    assert axes.get_yscale() == "symlog"
    low, high = axes.get_ylim()
    assert low < -1
    assert high > 89_900
    series["greedy"] = series["max-out"]
    assert seed_figure(found).axes[0].get_yscale() == "linear"
