"""Regions of a web (hosts, folders or pages) and the rank that flows between them.

A map of single pages would be unreadable, so pages are grouped into regions, by default hosts. If all pages are on one
host, it is divided by folders: the largest folder is opened repeatedly, as long as it holds more than its share of the
pages. A host without folders is divided into pages, so only a web of one page has a map of one region.

    rank of a region      the sum of its pages' ranks
    mass of a link        d r[i] / c_i for the link of page i to page j, where c_i is the number of links i has: how
                          often a surfer takes it. The mass between two regions is the sum over the links between them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.graph.hosts import host_ids
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.url_table import UrlTable

Kind = Literal["host", "folder", "page"]

MAX_FOLDERS = 5_000
_LARGE = 0.2  # of all pages: a folder with more is opened
_MANY = 40  # folders: no further one is opened
_MAX_DEPTH = 8  # of nested folders: crawler traps make paths of hundreds


@dataclass(frozen=True)
class Regions:
    """`of_page` is the region of each page; `names` are the names of the regions: hosts, or paths."""

    kind: Kind
    names: list[str]
    of_page: NDArray[np.int32]

    def n_of_others(self, urls: UrlTable, host: str) -> NDArray[np.int64]:
        """Count other URLs by region; `host` is the host that the regions divide, unless they are hosts.

        >>> others = UrlTable.of(["http://b.org/", "http://a.org/x"])
        >>> regions_of(UrlTable.of(["http://a.org/", "http://a.org/b/"])).n_of_others(others, "a.org")
        array([1, 0])
        """
        hosts, names = host_ids(urls)
        numbers = {name: region for region, name in enumerate(self.names)}
        if self.kind == "host":
            of_host = np.array([numbers.get(name, -1) for name in names], np.int64)
            regions = of_host[hosts]
        else:
            inside = np.flatnonzero(hosts == names.index(host)) if host in names else np.zeros(0, np.int64)
            paths, folders = [_path(urls[page]) for page in inside.tolist()], set(self.names)
            found = paths if self.kind == "page" else [_folder_of(path, folders) for path in paths]
            regions = np.array([numbers.get(name, -1) for name in found], np.int64)
        return np.bincount(regions[regions >= 0], minlength=len(self.names))


class Masses(NamedTuple):
    """Mass between regions: `mass[k]` flows from `sources[k]` to `targets[k]`, over `n_links[k]` links between pages.

    Ordered by source, then by target, without the mass inside a region. `rank` and `n_pages` are by region.
    """

    rank: NDArray[np.float64]
    n_pages: NDArray[np.int64]
    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    mass: NDArray[np.float64]
    n_links: NDArray[np.int64]


def common_ending(hosts: Sequence[str]) -> str:
    """Return the site that several hosts have in common, which labels of hosts can omit; "" if there is none.

    >>> common_ending(["www.a.org", "news.a.org:80"]), common_ending(["www.a.org", "a.org", "b.a.org"])
    ('', 'a.org')
    """
    labels = [host.split(".")[::-1] for host in hosts]
    if len(labels) < 2:
        return ""
    n = next((k for k, same in enumerate(zip(*labels, strict=False)) if len(set(same)) > 1), min(map(len, labels)))
    return ".".join(labels[0][:n][::-1]) if n > 1 else ""


def regions_of(urls: UrlTable) -> Regions:
    """Return the hosts of these pages as regions; for a single host its folders, or its pages if it has no folders.

    >>> regions_of(UrlTable.of(["http://a.org/", "http://a.org/news/1", "http://a.org/news/2"])).names
    ['/', '/news/']
    """
    hosts, names = host_ids(urls)
    if len(names) != 1:
        return Regions("host", names, hosts)
    paths = [_path(url) for url in urls]
    folders = _folders(paths)
    if len(folders) > 1:
        return _named("folder", [_folder_of(path, folders) for path in paths])
    return _named("page", paths)


def masses_between(
    graph: LinkGraph, regions: NDArray[np.int32], n_regions: int, rank: NDArray[np.float64], damping: float = 0.85
) -> Masses:
    """Return the rank of the regions and the mass that flows between them."""
    sources = graph.sources()
    share = damping * rank / np.maximum(graph.out_degrees(), 1)
    pairs = regions[sources].astype(np.int64) * n_regions + regions[graph.targets]
    is_between = regions[sources] != regions[graph.targets]
    found, at = np.unique(pairs[is_between], return_inverse=True)
    return Masses(
        rank=np.bincount(regions, rank, n_regions).astype(np.float64),
        n_pages=np.bincount(regions, minlength=n_regions),
        sources=(found // n_regions).astype(np.int32),
        targets=(found % n_regions).astype(np.int32),
        mass=np.bincount(at, share[sources[is_between]], len(found)).astype(np.float64),
        n_links=np.bincount(at, minlength=len(found)),
    )


def _path(url: str) -> str:
    """Return the part of the URL after the host; a text that is not a URL is its own path."""
    start = url.find("/", url.find("://") + 3) if "://" in url else 0
    return url[start:] if start >= 0 else "/"


def _folder_names(path: str) -> list[str]:
    """Return the folders of a path: `/a/`, `/a/b/` of `/a/b/c?q`."""
    plain = path.partition("?")[0]
    ends = [at for at, letter in enumerate(plain) if letter == "/"][1 : _MAX_DEPTH + 1]
    return [plain[: end + 1] for end in ends]


def _folders(paths: Sequence[str]) -> set[str]:
    """Return the folders that divide the host: the root, and the contents of every folder that is opened."""
    inside = [_folder_names(path) for path in paths]
    folders = {"/"}
    n_pages = Counter({"/": len(paths)})
    depth = {"/": 0}  # number of parent folders
    while n_pages:
        largest, n = min(n_pages.items(), key=lambda item: (-item[1], item[0]))
        if len(folders) > 1 and (n <= _LARGE * len(paths) or len(folders) >= _MANY):
            break
        at = depth[largest]
        children = Counter(names[at] for names in inside if len(names) > at and _is_in(names, at, largest))
        del n_pages[largest]  # the pages directly in it stay there; a folder is opened only once
        if len(folders) + len(children) > MAX_FOLDERS:
            continue
        if len(children) == 1 and len(folders) == 1 and sum(children.values()) == len(paths):
            folders.clear()  # everything is in its only child, so the folder itself is not a region
        folders.update(children)
        n_pages.update(children)
        depth.update(dict.fromkeys(children, at + 1))
    return folders


def _is_in(names: list[str], depth: int, folder: str) -> bool:
    return depth == 0 or names[depth - 1] == folder


def _folder_of(path: str, folders: set[str]) -> str:
    return next((name for name in reversed(_folder_names(path)) if name in folders), "/")


def _named(kind: Kind, names: list[str]) -> Regions:
    """Return regions numbered in order of first appearance."""
    ids = {name: k for k, name in enumerate(dict.fromkeys(names))}
    return Regions(kind, list(ids), np.array([ids[name] for name in names], np.int32))
