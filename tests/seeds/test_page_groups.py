from __future__ import annotations

import numpy as np
import pytest

import orienteer as ori
from orienteer.graph.link_graph import LinkGraph
from orienteer.seeds.select import Division, apportioned, groups_of, seed_selection
from tests.conftest import random_web


def test_groups_have_their_pages_and_the_links_among_them(rng: np.random.Generator) -> None:
    web = random_web(rng, 120, 4.0)
    hosts = rng.integers(0, 9, 120)
    hosts[hosts == 4] = 5  # a host id without pages
    web = LinkGraph(web.offsets, web.targets, hosts)
    groups = groups_of(web, Division.of(web, "host"))
    assert len(groups) == 9
    assert groups[4].graph.n_pages == 0
    for host, group in enumerate(groups):
        assert group.pages.tolist() == np.flatnonzero(hosts == host).tolist()
        for place, page in enumerate(group.pages):
            inside = [target for target in web.links(page).tolist() if hosts[target] == host]
            assert group.pages[group.graph.links(place)].tolist() == inside


def test_groups_are_solved_separately(rng: np.random.Generator) -> None:
    web = random_web(rng, 200, 3.0, with_hosts=True)
    value = rng.integers(-2, 6, 200).astype(float)
    found = seed_selection(web, 15, 3, "greedy", value, per="host")
    division = Division.of(web, "host")
    worth = np.bincount(division.labels, value, division.n_groups)
    shares = apportioned(15, worth, np.bincount(division.labels, minlength=division.n_groups))
    assert shares.sum() == 15
    for host, group in enumerate(groups_of(web, division)):
        mine = [seed for seed in found.seeds if seed.group == host]
        if shares[host]:
            alone = seed_selection(group.graph, int(shares[host]), 3, "greedy", value[group.pages])
            assert [seed.page for seed in mine] == group.pages[alone.pages].tolist()
            assert [seed.value for seed in mine] == [seed.value for seed in alone.seeds]
        else:
            assert mine == []


def test_the_seeds_that_add_the_most_come_first(rng: np.random.Generator) -> None:
    web = random_web(rng, 200, 3.0, with_hosts=True)
    values = [seed.value for seed in seed_selection(web, 20, 3, "greedy", per="host").seeds]
    assert values == sorted(values, reverse=True)


def test_sites_follow_from_the_urls() -> None:
    urls = ["http://a.example.org/", "http://b.example.org/", "http://b.example.org/x", "http://example.net/"]
    web = LinkGraph.from_links(4, [0, 1, 1], [1, 2, 3], urls=urls)
    by_site = seed_selection(web, 2, 2, per="site")
    assert [(seed.page, by_site.group_name(seed)) for seed in by_site.seeds] == [(0, "example.org")]
    by_host = seed_selection(web, 3, 2, per="host")
    named = [(seed.page, seed.n_pages, by_host.group_name(seed)) for seed in by_host.seeds]
    assert named == [(1, 2, "b.example.org"), (0, 1, "a.example.org"), (3, 1, "example.net")]


def test_a_division_needs_something_to_divide_by() -> None:
    plain = LinkGraph.from_links(2, [0], [1])
    with pytest.raises(ori.InputError, match="per host need URLs or hosts, and the graph has none"):
        ori.select_seeds(plain, 1, per="host")
    with pytest.raises(ori.InputError, match="per site need URLs, and the graph has none"):
        ori.select_seeds(LinkGraph.from_links(2, [0], [1], hosts=[0, 1]), 1, per="site")
    with pytest.raises(ori.InputError, match="no division of the graph named 'sit'; did you mean 'site'"):
        ori.select_seeds(plain, 1, per="sit")


def test_remainders_and_small_groups() -> None:
    many = np.full(4, 100)
    assert apportioned(5, np.array([1.0, 1.0, 1.0, 1.0]), many).tolist() == [2, 1, 1, 1]
    assert apportioned(3, np.array([5.0, 3.0, 1.0, 0.0]), many).tolist() == [2, 1, 0, 0]
    assert apportioned(7, np.array([-5.0, -3.0, 0.0, -1.0]), many).tolist() == [0, 0, 0, 0]
    assert apportioned(6, np.array([99.0, 1.0, 1.0, -4.0]), np.array([1, 2, 3, 9])).tolist() == [1, 2, 3, 0]
    assert apportioned(9, np.array([1.0, 1.0]), np.array([2, 3])).tolist() == [2, 3]


def test_as_many_as_there_are_to_give(rng: np.random.Generator) -> None:
    for _ in range(200):
        n = int(rng.integers(1, 12))
        values = np.maximum(rng.integers(-3, 20, n), 0).astype(float)
        sizes = rng.integers(0, 6, n)
        k = int(rng.integers(1, 30))
        shares = apportioned(k, values, sizes)
        assert (shares <= sizes).all()
        assert (shares[values == 0] == 0).all()
        assert shares.sum() == min(k, sizes[values > 0].sum())


def test_the_bound_of_several_groups_holds_for_all_together(rng: np.random.Generator) -> None:
    web = random_web(rng, 300, 3.0)
    web = LinkGraph(web.offsets, web.targets, np.repeat([0, 1, 2], 100))
    approximation = seed_selection(web, 6, 3, "sketched-greedy", per="host").approximation
    assert approximation is not None
    assert approximation.confidence == pytest.approx(0.97)
