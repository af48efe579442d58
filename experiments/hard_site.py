"""A site that is hard to search: its targets are few, more than six links deep, and some pages link to everything.

    home ── sections, three in each, six levels deep ── lists of ten pages ── those pages

Targets are most pages of the lists under two sections of the fourth level. A page does not link back to its list, but
to home, to a site map, and to pages anywhere; the site maps, which only these pages link to, link to every page. So
what a target links to says nothing, and what links to it says something only if it does not link to all others, too.

The words of each site are its own, but for a few that are everywhere: what was learned on one is of little use on the
next. Page 0 is home.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from orienteer.extract.tokens import N_BUCKETS
from orienteer.graph.link_graph import LinkGraph
from orienteer.policies.focused import LabelledWeb, WebText

_BRANCHES, _LEVELS, _LIST_LENGTH, _N_SITE_MAPS = 3, 6, 10, 4
_TOPIC_LEVEL, _N_TOPICS, _TARGET_SHARE = 4, 2, 0.9
_PAGE_WORDS, _LINK_WORDS, _COMMON_WORDS, _SITE_WORDS = 30, 3, 500, 3000


def hard_site(rng: int = 0) -> LabelledWeb:
    """The site of this number: 8,387 pages of which about 2 % are targets."""
    generator = np.random.default_rng(rng)
    levels = [_BRANCHES**level for level in range(_LEVELS + 1)]
    first_of_level = np.cumsum([0, *levels])
    n_sections = int(first_of_level[-1])
    parents = np.concatenate([[0], (np.arange(1, n_sections) - 1) // _BRANCHES])
    lists = np.arange(first_of_level[-2], n_sections)
    leaves = n_sections + np.arange(len(lists) * _LIST_LENGTH)
    list_of_leaf = np.repeat(lists, _LIST_LENGTH)
    maps = n_sections + len(leaves) + np.arange(_N_SITE_MAPS)
    n_pages = int(maps[-1]) + 1
    sections = np.arange(1, n_sections)
    links = [
        (parents[1:], sections),
        (sections, parents[1:]),
        (list_of_leaf, leaves),
        (leaves, np.zeros(len(leaves), np.int64)),
        (leaves, generator.choice(maps, len(leaves))),
        (np.repeat(leaves, 2), generator.choice(leaves, 2 * len(leaves))),
        (np.repeat(maps, n_pages), np.tile(np.arange(n_pages), len(maps))),
    ]
    # Ids as a crawl would not meet them: by chance, but for home.
    shuffled = np.concatenate([[0], 1 + generator.permutation(n_pages - 1)])
    sources, targets = (np.concatenate([pair[side] for pair in links]) for side in (0, 1))
    graph = LinkGraph.from_links(n_pages, shuffled[sources], shuffled[targets])
    relevance = np.zeros(n_pages)
    relevance[shuffled[leaves[_is_target(list_of_leaf, parents, first_of_level, generator)]]] = 1.0
    return LabelledWeb(graph, relevance, _words(graph, generator))


def _is_target(
    list_of_leaf: NDArray[np.int64],
    parents: NDArray[np.int64],
    first_of_level: NDArray[np.int64],
    generator: np.random.Generator,
) -> NDArray[np.bool_]:
    topic = list_of_leaf
    for _ in range(_LEVELS - _TOPIC_LEVEL):
        topic = parents[topic]
    candidates = np.arange(first_of_level[_TOPIC_LEVEL], first_of_level[_TOPIC_LEVEL + 1])
    chosen = generator.choice(candidates, _N_TOPICS, replace=False)
    return np.asarray(np.isin(topic, chosen) & (generator.random(len(topic)) < _TARGET_SHARE))


def _words(graph: LinkGraph, generator: np.random.Generator) -> WebText:
    common = np.arange(1, 1 + _COMMON_WORDS)
    vocabulary = np.concatenate([common, generator.integers(1, N_BUCKETS, _SITE_WORDS)]).astype(np.uint32)
    return WebText(
        np.arange(graph.n_links + 1, dtype=np.int64) * _LINK_WORDS,
        generator.choice(vocabulary, graph.n_links * _LINK_WORDS),
        np.arange(graph.n_pages + 1, dtype=np.int64) * _PAGE_WORDS,
        generator.choice(vocabulary, graph.n_pages * _PAGE_WORDS),
    )
