from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from orienteer.cli.graph_options import host_homes, trust_named
from orienteer.errors import InputError
from orienteer.graph import synthetic as shapes
from orienteer.graph.hosts import with_hosts
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.pagerank import highest_ranked
from orienteer.progress import silent

URLS = ["http://a.org/x", "http://a.org/?q", "http://a.org/", "http://b.org/y", "http://b.org/z", "https://c.org"]


def titled_web() -> LinkGraph:
    return LinkGraph.from_links(3, [0, 1], [1, 2], urls=["The Moon", "Apollo 11", "Apollo"])


def test_a_host_is_trusted_at_its_root_or_where_most_links_lead() -> None:
    web = with_hosts(LinkGraph.from_links(6, [1, 3, 5, 0, 5], [0, 0, 0, 4, 4], urls=URLS))
    assert host_homes(web).tolist() == [2, 4, 5]


def test_the_first_of_two_roots_is_the_home() -> None:
    web = with_hosts(LinkGraph.from_links(3, [0, 1], [2, 2], urls=["http://a.org", "http://a.org/b", "http://a.org/"]))
    assert host_homes(web).tolist() == [0]


def test_hosts_without_urls_are_trusted_where_most_links_lead() -> None:
    web = LinkGraph.from_links(5, [0, 2, 4, 0], [1, 1, 3, 3], hosts=[7, 7, 2, 2, 2])
    assert sorted(host_homes(web).tolist()) == [1, 3]


def test_top_pages_are_those_of_the_highest_rank_ties_by_id() -> None:
    assert highest_ranked(shapes.star(5), 3, silent).tolist() == [0, 1, 2]
    assert len(highest_ranked(shapes.star(5), 100, silent)) == 6


def test_names_with_spaces_can_be_trusted(tmp_path: Path) -> None:
    file = tmp_path / "trust"
    file.write_text("Apollo 11\nThe Moon 3\n")
    assert trust_named(titled_web(), str(file), silent).tolist() == [0.75, 0.25, 0.0]
    file.write_text("Apollo 11\t3\nApollo\n")
    assert trust_named(titled_web(), str(file), silent).tolist() == [0.0, 0.75, 0.25]


def test_a_url_is_found_however_it_is_written(tmp_path: Path) -> None:
    web = LinkGraph.from_links(6, [], [], urls=URLS)
    (tmp_path / "trust").write_text("HTTP://A.org:80/x#top\n")
    assert np.flatnonzero(trust_named(web, str(tmp_path / "trust"), silent)).tolist() == [0]


def test_an_empty_graph_is_refused() -> None:
    for text in ("top:5", "uniform", "host-homes", "ids:0"):
        with pytest.raises(InputError, match="no pages"):
            trust_named(LinkGraph.from_links(0, [], []), text, silent)
