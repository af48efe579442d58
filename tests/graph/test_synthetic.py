from __future__ import annotations

import numpy as np
import pytest

import orienteer as ori
from orienteer.graph import synthetic
from orienteer.graph.reach import distances
from orienteer.graph.synthetic import synthetic_web
from tests.tables import over_rows


@pytest.fixture(scope="module")
def web() -> ori.LinkGraph:
    return synthetic_web(60_000, rng=7)


def test_the_web_looks_as_ordered(web: ori.LinkGraph) -> None:
    assert web.n_pages == 60_000
    assert web.n_links / web.n_pages == pytest.approx(23, rel=0.15)
    inter = (web.hosts[web.sources()] != web.hosts[web.targets]).mean()
    assert 0.03 < inter < 0.055
    assert (web.out_degrees() == 0).mean() == pytest.approx(0.1, abs=0.03)


def test_hosts_are_contiguous_and_of_very_different_sizes(web: ori.LinkGraph) -> None:
    assert (np.diff(web.hosts) >= 0).all()
    sizes = np.bincount(web.hosts)
    assert sizes.min() >= 1
    assert sizes.max() > 20 * np.median(sizes)


def test_in_degrees_have_a_heavy_tail(web: ori.LinkGraph) -> None:
    degrees = np.sort(web.in_degrees())[::-1]
    assert degrees[: len(degrees) // 100].sum() > 0.2 * web.n_links
    assert degrees[0] > 100 * np.median(degrees)


def test_some_pages_are_deep(web: ori.LinkGraph) -> None:
    homes = np.flatnonzero(np.diff(web.hosts, prepend=-1))
    depth = distances(web, homes)
    assert depth.max() > 20
    assert (depth >= 0).mean() > 0.8


def test_the_same_rng_gives_the_same_web_however_it_is_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    web = synthetic_web(5000, rng=3)
    monkeypatch.setattr(synthetic, "_CHUNK_PAGES", 100)
    assert synthetic_web(5000, rng=3) == web
    assert synthetic_web(5000, rng=np.random.default_rng(3)) == web
    assert synthetic_web(5000, rng=4) != web


def test_a_web_too_large_for_memory_is_mapped_and_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    web = synthetic_web(3000, rng=3)
    monkeypatch.setattr(synthetic, "_IN_MEMORY_BYTES", 1000)
    mapped = synthetic_web(3000, rng=3)
    assert isinstance(mapped.targets, np.memmap)
    assert mapped == web


@over_rows("n_pages", [1, 2, 3, 9, 40])
def test_tiny_webs_are_webs_too(n_pages: int) -> None:
    assert synthetic_web(n_pages).n_pages == n_pages


def test_urls_name_the_hosts() -> None:
    web = synthetic_web(500, with_urls=True)
    assert len(set(web.urls)) == 500
    for page, url in enumerate(web.urls):
        assert url.startswith(f"http://h{web.hosts[page]}.example/")


@over_rows("settings", [{"n_pages": 0}, {"mean_degree": 0}, {"mean_degree": 1e6}, {"inter_host": 2}, {"dangling": -1}])
def test_unusable_settings_are_one_clear_line(settings: dict) -> None:
    with pytest.raises(ori.InputError):
        synthetic_web(**{"n_pages": 10, **settings})
