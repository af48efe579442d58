from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import orienteer as ori
from orienteer.evaluate.seed_compare import compare_seeds
from orienteer.evaluate.seed_plot import seed_figure, write_seed_plot
from orienteer.graph.link_graph import LinkGraph
from tests.conftest import random_web


def test_series_are_what_the_selections_cover(rng: np.random.Generator) -> None:
    web = random_web(rng, 200, 2.0)
    value = rng.integers(0, 5, 200).astype(float)
    found = compare_seeds(web, 6, 3, value)
    assert found.measures == ("pages", "value")
    for label, name, depth in (("greedy", "greedy", 2), ("max-weight(3)", "max-weight", 3), ("max-out", "max-out", 2)):
        for k in range(1, 7):
            alone = ori.seed_selection(web, k, 3, name, value, depth)
            assert found.by_seeds[label].pages[k - 1] == pytest.approx(alone.n_covered / 200)
            assert found.by_seeds[label].value[k - 1] == pytest.approx(alone.value / value.sum())
        for hops in range(1, 4):
            alone = ori.seed_selection(web, 5, hops, name, value, depth)
            assert found.by_hops[label].value[hops - 1] == pytest.approx(alone.value / value.sum())
    draws = [ori.seed_selection(web, 6, 3, "random", value, rng=draw).value for draw in range(20)]
    assert found.by_seeds["random"].value[-1] == pytest.approx(np.mean(draws) / value.sum())
    gain = found.improvement(found.by_seeds, "greedy", "value")[-1]
    assert gain == pytest.approx(found.by_seeds["greedy"].value[-1] / found.by_seeds["random"].value[-1] - 1)
    assert found.of_yardstick(found.by_seeds, "greedy", "value").tolist() == [1.0] * 6


def test_hosts_are_looked_at_each_alone_and_small_ones_left_out(rng: np.random.Generator) -> None:
    web = random_web(rng, 250, 3.0)
    hosts = np.repeat([0, 1, 2], [120, 110, 20])
    found = compare_seeds(LinkGraph(web.offsets, web.targets, hosts), 3, 2, per="host")
    assert found.n_webs == 2
    assert found.measures == ("pages",)
    assert set(found.by_seeds) == set(found.by_hops) >= {"random", "greedy", "max-weight(2)", "max-weight(3)"}


def test_values_that_are_nothing_worth() -> None:
    web = LinkGraph.from_links(3, [0], [1])
    with pytest.raises(ori.InputError, match="no page is worth anything"):
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
