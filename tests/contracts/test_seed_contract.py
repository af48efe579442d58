"""The contract of all seed methods in the registry."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import orienteer as ori
from orienteer.graph import shapes
from orienteer.graph.link_graph import LinkGraph
from orienteer.seeds import all_methods, make_method, settings_of
from orienteer.seeds.seed_method import Cover, choose_seeds
from orienteer.seeds.select import seed_selection
from tests.conftest import random_web
from tests.contracts.negative_settings import made_with_minus_five
from tests.seeds.reference import reached

NAMES = list(all_methods())


@pytest.mark.parametrize("name", NAMES)
def test_gains_of_seeds_are_true(name: str, rng: np.random.Generator) -> None:
    for value in (None, rng.integers(-4, 8, 150).astype(float)):
        web = random_web(rng, 150, 2.0)
        found = seed_selection(web, 8, 3, name, value)
        worth = np.ones(150) if value is None else value
        covered: set[int] = set()
        for seed in found.seeds:
            new = reached(web, seed.page, 3) - covered
            assert seed.n_pages == len(new)
            assert seed.value == sum(worth[list(new)])
            covered |= new
        assert found.n_covered == len(covered)
        assert found.value == worth[list(covered)].sum()
        assert found.total_value == worth[worth > 0].sum()
        assert found.pages.tolist() == ori.select_seeds(web, 8, 3, name, value).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_seeds_are_distinct_and_fewer_are_the_first_of_more(name: str, rng: np.random.Generator) -> None:
    web = random_web(rng, 200, 1.5)
    many = ori.select_seeds(web, 20, 2, name).tolist()
    assert len(set(many)) == len(many) <= 20
    if name != "sketched-greedy":  # draws again for each number of seeds
        assert ori.select_seeds(web, 7, 2, name).tolist() == many[:7]


@pytest.mark.parametrize("name", NAMES)
def test_a_method_that_looks_at_the_cover_takes_nothing_that_adds_nothing(name: str, rng: np.random.Generator) -> None:
    web = random_web(rng, 60, 2.0)
    found = seed_selection(web, 60, 3, name, rng.integers(-3, 4, 60).astype(float))
    if all_methods()[name].uses_cover:
        assert all(seed.value > 0 for seed in found.seeds)
    else:
        assert len(found.seeds) == 60


@pytest.mark.parametrize("name", NAMES)
def test_small_and_odd_graphs(name: str) -> None:
    for web in (shapes.chain(1), shapes.cycle(3), LinkGraph.from_links(4, [], [])):
        for hops in (0, 1, 9):
            found = seed_selection(web, web.n_pages, hops, name)
            assert found.n_covered == web.n_pages


@pytest.mark.parametrize("name", NAMES)
def test_in_groups_too(name: str, rng: np.random.Generator) -> None:
    web = random_web(rng, 150, 3.0, with_hosts=True)
    assert web.hosts is not None
    found = seed_selection(web, 12, 3, name, per="host")
    for seed in found.seeds:
        assert web.hosts[seed.page] == seed.group
    assert found.as_dict()["n_covered"] == found.n_covered


@pytest.mark.parametrize("name", NAMES)
def test_every_method_has_a_description(name: str) -> None:
    kind = all_methods()[name]
    assert kind.__doc__
    assert kind.name == name


@pytest.mark.parametrize("name", NAMES)
def test_a_setting_is_refused_or_works(name: str, rng: np.random.Generator) -> None:
    web = random_web(rng, 60, 2.0)
    for method in made_with_minus_five(partial(make_method, name), settings_of(all_methods()[name])):
        pages = [seed.page for seed in choose_seeds(method, Cover(web, 2, np.ones(60)), 5)]
        assert len(set(pages)) == len(pages) <= 5


def test_wrong_names_get_a_suggestion() -> None:
    with pytest.raises(ori.InputError, match="no seed method named 'max-wait'; did you mean 'max-weight'"):
        ori.select_seeds(shapes.cycle(5), 1, method="max-wait")
    with pytest.raises(ori.InputError, match="no setting of max-weight named 'dept'; did you mean 'depth'"):
        make_method("max-weight", dept=2)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, "k is 0; at least one seed is needed"),
        ({"k": -3}, "k is -3"),
        ({"k": 6}, "k is 6, but the graph has 5 pages"),
        ({"k": 1, "hops": -1}, "hops is -1"),
        ({"k": 1, "value": [1.0, 2.0]}, "values: 2 for 5 pages"),
        ({"k": 1, "value": [1.0, 2.0, 3.0, np.nan, 1.0]}, "page 3 has the value nan"),
    ],
)
def test_unusable_arguments_are_one_clear_line(name: str, arguments: dict, message: str) -> None:
    with pytest.raises(ori.InputError, match=message):
        ori.select_seeds(shapes.cycle(5), method=name, **arguments)
