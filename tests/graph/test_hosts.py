"""Hosts and sites of pages, and the graph of hosts."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.errors import InputError
from orienteer.graph import hosts
from orienteer.graph.hosts import host_ids, inter_host_links, site_ids, with_hosts
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.url_table import UrlTable
from orienteer.url import host_of, site_of
from tests.conftest import random_web, shared_file
from tests.tables import over_rows

near_urls = st.one_of(
    st.text(max_size=20),
    st.builds(
        "{}{}{}".format,
        st.sampled_from(["http://", "https://", "http:/", "HTTP://", "ftp://", "https:", " http://", ""]),
        st.text("ab.-:0189_xn%@[]\\\tAä", max_size=12),
        st.sampled_from(
            ["", "/", "/a:b@c", "?x", "#x", ":80", ":443/", ":080", ":", ":65536", ":99999999999", "\\", ".1", ".0xa"]
        ),
    ),
)


def test_hosts_are_numbered_in_order_of_first_appearance():
    urls = [
        "https://b.org/",
        "A title",
        "http://a.org/x",
        "http://B.org/y",
        "http://xn--mnchen-3ya.de/",
        "http://a.org?z",
    ]
    ids, names = host_ids(UrlTable.of(urls))
    assert ids.tolist() == [0, 1, 2, 0, 3, 2]
    assert ids.dtype == np.int32
    assert names == ["b.org", "", "a.org", "xn--mnchen-3ya.de"]


@over_rows(
    "url",
    ["http://a.org", "http://a.org:80", "http://a.org:80/x", "https://a.org:443/", "http://me@a.org/", "HTTP://A.org/"],
)
def test_a_default_port_upper_case_and_credentials_make_no_other_host(url):
    assert host_ids(UrlTable.of(["https://a.org/", url]))[1] == ["a.org"]


def test_another_port_is_another_host_of_the_same_site():
    urls = UrlTable.of(["http://a.org/", "http://a.org:443/", "https://a.org:80/", "http://www.a.org:8080/"])
    assert host_ids(urls)[1] == ["a.org", "a.org:443", "a.org:80", "www.a.org:8080"]
    assert site_ids(urls)[1] == ["a.org"]


def test_sites_are_numbered_in_order_of_first_appearance():
    urls = ["http://www.b.co.uk/", "http://x.a.org/", "http://b.co.uk/", "http://127.0.0.1/", "title", "http://a.org/"]
    ids, names = site_ids(UrlTable.of(urls))
    assert ids.tolist() == [0, 1, 0, 2, 3, 1]
    assert names == ["b.co.uk", "a.org", "127.0.0.1", ""]


@given(st.lists(near_urls, max_size=12))
def test_hosts_are_those_of_the_url_parser(urls):
    urls = UrlTable.of(urls)
    ids, names = host_ids(urls)
    assert [names[host] for host in ids] == [host_of(url) for url in urls]
    assert names == list(dict.fromkeys(host_of(url) for url in urls))
    sites, site_names = site_ids(urls)
    assert [site_names[site] for site in sites] == [site_of(host_of(url)) for url in urls]


def test_hosts_are_the_same_whatever_the_size_of_a_block(monkeypatch):
    urls = UrlTable.of([f"http://h{k * k % 7}.org/{k}" if k % 3 else f"title {k}" for k in range(50)])
    whole = host_ids(urls)
    monkeypatch.setattr(hosts, "_BLOCK_PAGES", 7)
    in_blocks = host_ids(urls)
    assert whole[0].tolist() == in_blocks[0].tolist()
    assert whole[1] == in_blocks[1]


def test_no_pages_have_no_hosts():
    ids, names = host_ids(UrlTable.of([]))
    assert (len(ids), names) == (0, [])
    assert site_ids(UrlTable.of([]))[1] == []


def test_a_graph_gets_the_hosts_of_its_urls_also_from_a_folder(tmp_path):
    urls = ["http://a.org/", "http://b.org/", "http://a.org/2"]
    web = LinkGraph.from_links(3, [0, 0, 1], [1, 2, 2], urls=urls)
    web.save(tmp_path / "web")
    for graph in (web, LinkGraph.load(tmp_path / "web")):
        derived = with_hosts(graph)
        assert derived.hosts is not None
        assert derived.hosts.tolist() == [0, 1, 0]
        assert derived == LinkGraph.from_links(3, [0, 0, 1], [1, 2, 2], [0, 1, 0], urls)
        assert derived.home == graph.home


@given(st.integers(0, 2**32), st.integers(1, 60))
def test_links_between_hosts_are_counted(number, n_pages):
    web = random_web(np.random.default_rng(number), n_pages, with_hosts=True)
    assert web.hosts is not None
    assert inter_host_links(web) == (web.hosts[web.sources()] != web.hosts[web.targets]).sum()


def test_hosts_cannot_be_derived_without_urls():
    web = LinkGraph.from_links(2, [0], [1])
    with pytest.raises(InputError, match="no URLs"):
        with_hosts(web)
    with pytest.raises(InputError, match="no hosts"):
        inter_host_links(web)


def test_hosts_of_the_documentation_web_are_those_it_comes_with():
    with gzip.open(shared_file("graphs/docs-web-dev.urls.txt.gz"), "rt") as lines:
        ids, names = host_ids(UrlTable.of(line.rstrip("\n") for line in lines))
    known = np.load(shared_file("graphs/docs-web-dev.npz"))["host"]
    assert len(names) == len(np.unique(known))
    assert len(np.unique(np.column_stack((ids, known)), axis=0)) == len(names)
