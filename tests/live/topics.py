"""Topics for crawls of graphs: some pages are relevant, and link texts are those of the site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from orienteer.extract.page import extract_page
from orienteer.extract.tokens import link_tokens, page_tokens
from orienteer.graph.link_graph import LinkGraph
from orienteer.policies import all_policies
from orienteer.policies.focused import FocusedPolicy, LabelledWeb, WebText
from orienteer.policies.trained import trained_policies, write_model
from tests.fake_web.graph_site import GraphSite
from tests.live.live_crawls import StoredCrawl, renumbered

LIVE_POLICIES = sorted(name for name, kind in all_policies().items() if not kind.knows_truth)


def is_focused(policy: str) -> bool:
    return issubclass(all_policies()[policy], FocusedPolicy)


def topic_for(policy: str, site: GraphSite, folder: Path, rng: np.random.Generator) -> dict[str, Any]:
    """Return the arguments of a live crawl with this policy: a topic, if it is focused."""
    if not is_focused(policy):
        return {}
    lines = [f"{url} {value}\n" for url, value in relevance_of(site, rng).items()]
    (folder / "labels.txt").write_text("".join(lines))
    (folder / "topic.toml").write_text('[topic]\nkind = "labels"\nfile = "labels.txt"\n')
    return {"topic": folder / "topic.toml"}


def relevance_of(site: GraphSite, rng: np.random.Generator) -> dict[str, float]:
    values = (rng.random(site.graph.n_pages) < 0.2) * rng.choice([1.0, 0.7], site.graph.n_pages)
    return {site.url_of(page): float(value) for page, value in enumerate(values)}


def spec_for(policy: str, site: GraphSite, folder: Path) -> str:
    """Return the policy argument of a crawl; a trainable policy is trained on the same site with another topic."""
    if policy not in trained_policies():
        return policy
    learner = trained_policies()[policy]()
    urls = [site.url_of(page) for page in range(site.graph.n_pages)]
    relevance = (np.random.default_rng(7).random(site.graph.n_pages) < 0.2) * 1.0
    learner.train([LabelledWeb(site.graph, relevance, _text(site, site.graph, urls))])
    path = folder / f"{policy}.npz"
    write_model(path, learner)
    return f"{policy}:model={path}"


def simulated_topic(policy: str, site: GraphSite, stored: StoredCrawl, folder: Path) -> dict[str, Any]:
    """Return the same arguments for `simulate`, with the page ids of the crawl."""
    if not is_focused(policy):
        return {}
    graph = renumbered(stored, site)
    known = set(stored.urls)
    urls = stored.urls + [url for page in range(graph.n_pages) if (url := site.url_of(page)) not in known]
    labels = dict(line.split(" ") for line in (folder / "labels.txt").read_text().splitlines())
    return {"relevance": np.array([float(labels[url]) for url in urls]), "text": _text(site, graph, urls)}


def _text(site: GraphSite, graph: LinkGraph, urls: list[str]) -> WebText:
    """Return the texts of a web whose pages have these URLs of the site."""
    pages = [extract_page(_html(site, url), url) for url in urls]
    words = [dict(_first_words(page.anchors)) for page in pages]
    links = ((source, target) for source in range(graph.n_pages) for target in graph.links(source))
    of_links = [words[source].get(urls[target], _NONE) for source, target in links]
    of_pages = [page_tokens(page.text) for page in pages]
    return WebText(*_rows(of_links), *_rows(of_pages))


_NONE = np.empty(0, np.uint32)


def _first_words(anchors: list[tuple[str, str]]) -> list[tuple[str, np.ndarray]]:
    return [(url, link_tokens(text, url)) for url, text in anchors]


def _html(site: GraphSite, url: str) -> bytes:
    page = site.page_of(url)
    assert page is not None
    return site.html(page).encode()


def _rows(rows: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return offsets, np.concatenate([_NONE, *rows]).astype(np.uint32)
