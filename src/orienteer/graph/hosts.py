"""Hosts and sites of pages, derived from their URLs.

A million URLs take a fraction of a second: a kernel finds the host in URLs in plain form, and only the others go
through the URL parser. A text without a host, such as a title, has the host "".
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.url_table import GrowingUrlTable, UrlTable
from orienteer.kernel import allocating_kernel
from orienteer.url import host_of, site_of

_BLOCK_PAGES = 1 << 18

_HTTP = np.frombuffer(b"http://", np.uint8)
_HTTPS = np.frombuffer(b"https://", np.uint8)


def host_ids(urls: UrlTable) -> tuple[NDArray[np.int32], list[str]]:
    """Return the host of every page and the names of the hosts; ids are dense, in order of first appearance.

    >>> host_ids(UrlTable.of(["http://b.org/", "https://a.org/x", "http://b.org:80/y"]))
    (array([0, 1, 0], dtype=int32), ['b.org', 'a.org'])
    """
    data, offsets = np.asarray(urls.data), np.asarray(urls.offsets)
    names = GrowingUrlTable()
    ids = np.empty(len(urls), np.int32)
    for first in range(0, len(urls), _BLOCK_PAGES):
        block = ids[first : first + _BLOCK_PAGES]
        spans = np.empty((len(block), 2), np.int64)
        _host_spans(data, offsets[first : first + len(block) + 1], spans)
        plain = spans[:, 0] >= 0
        block[plain] = names.intern_spans(data, spans[plain])
        unsure = np.flatnonzero(~plain)
        block[unsure] = names.intern([host_of(urls[first + page]) for page in unsure.tolist()])
    order = _renumber(ids, len(names))
    return ids, names.freeze().taken(order)[:]


def site_ids(urls: UrlTable) -> tuple[NDArray[np.int32], list[str]]:
    """Return the site of every page and the names of the sites; ids are dense, in order of first appearance."""
    hosts, host_names = host_ids(urls)
    names = GrowingUrlTable()
    site_of_host = names.intern([site_of(name) for name in host_names]).astype(np.int32)
    return site_of_host[hosts], names.freeze()[:]


def with_hosts(graph: LinkGraph) -> LinkGraph:
    """Return the same graph with the hosts of its URLs."""
    if graph.urls is None:
        raise InputError("the graph has no URLs to derive its hosts from")
    hosts, _ = host_ids(graph.urls)
    # The arrays may live in a resource of the first graph, so the second keeps a reference to it.
    return LinkGraph(graph.offsets, graph.targets, hosts, graph.urls, home=graph.home, resource=graph)


def inter_host_links(graph: LinkGraph) -> int:
    """Return the number of links between pages of different hosts."""
    return int(_inter_host_links(graph.offsets, graph.targets, _hosts(graph)))


def _hosts(graph: LinkGraph) -> NDArray[np.int32]:
    if graph.hosts is None:
        raise InputError("the graph has no hosts; `with_hosts` derives them from its URLs")
    return graph.hosts


@allocating_kernel
def _host_spans(data: Any, offsets: Any, spans: Any) -> None:
    """Find the span in `data` of each URL's host; -1 for a URL that needs the parser."""
    for page in range(len(offsets) - 1):
        start, end = offsets[page], offsets[page + 1]
        if _starts_with(data, start, end, _HTTP):
            first, default_port = start + len(_HTTP), 80
        elif _starts_with(data, start, end, _HTTPS):
            first, default_port = start + len(_HTTPS), 443
        else:
            spans[page, :] = -1
            continue
        last = _host_end(data, first, end, default_port)
        spans[page, 0], spans[page, 1] = (first, last) if last >= 0 else (-1, -1)


@allocating_kernel
def _starts_with(data: Any, start: int, end: int, prefix: Any) -> bool:
    k = 0
    while k < len(prefix) and start + k < end and data[start + k] == prefix[k]:
        k += 1
    return k == len(prefix)


@allocating_kernel
def _host_end(data: Any, first: int, end: int, default_port: int) -> int:
    """Return the end of `name` or `name:port` at `first`; -1 unless it is certainly in the parser's normal form."""
    label = first
    k = first
    while k < end:
        c = data[k]
        if c == 46:  # .
            label = k + 1
        elif c == 45:  # two hyphens may be the mark of a label in Punycode, which has to be checked
            if k > label and data[k - 1] == 45:
                return -1
        elif not (97 <= c <= 122 or 48 <= c <= 57 or c == 95):  # a-z 0-9 _
            break
        k += 1
    # A last label that starts with a digit may mean an IPv4 address; an empty one hides the label before it.
    if label == k or 48 <= data[label] <= 57:
        return -1
    if k < end and data[k] == 58:  # :
        return _port_end(data, k, end, default_port)
    return k if _ends_authority(data, k, end) else -1


@allocating_kernel
def _port_end(data: Any, colon: int, end: int, default_port: int) -> int:
    """Return the end of the host with its port, or without a default port; -1 if it needs the parser."""
    k = colon + 1
    port = 0
    while k < end and 48 <= data[k] <= 57 and port <= 65535:
        port = port * 10 + data[k] - 48
        k += 1
    if k == colon + 1 or data[colon + 1] == 48 or port > 65535 or not _ends_authority(data, k, end):
        return -1
    return colon if port == default_port else k


@allocating_kernel
def _ends_authority(data: Any, k: int, end: int) -> bool:
    return k == end or data[k] == 47 or data[k] == 63 or data[k] == 35  # / ? #


@allocating_kernel
def _renumber(ids: Any, n_ids: int) -> Any:
    """Renumber the ids in place, in order of first appearance, and return the old ids in the new order."""
    new = np.full(n_ids, -1, np.int32)
    old = np.empty(n_ids, np.int64)
    n_seen = 0
    for k in range(len(ids)):
        if new[ids[k]] < 0:
            new[ids[k]] = n_seen
            old[n_seen] = ids[k]
            n_seen += 1
        ids[k] = new[ids[k]]
    return old


@allocating_kernel
def _inter_host_links(offsets: Any, targets: Any, hosts: Any) -> int:
    n_links = 0
    for page in range(len(offsets) - 1):
        for k in range(offsets[page], offsets[page + 1]):
            n_links += hosts[targets[k]] != hosts[page]
    return n_links
