"""Comparisons as the commands print them, for the pages to show."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from orienteer.evaluate.compare import compare
from orienteer.evaluate.harvest import Task, compare_harvests
from orienteer.evaluate.seed_compare import compare_seeds
from orienteer.graph.link_graph import LinkGraph
from tests.web.wide_crawl import many_hosts

POLICIES = ("certified", "rankmass", "breadth-first", "random")


def web() -> LinkGraph:
    return many_hosts(np.random.default_rng(5), 12)


def policies(uniform: bool = False) -> dict[str, Any]:
    return _once(_policies_and_uniform if uniform else _policies)


def harvest() -> dict[str, Any]:
    return _once(_harvest)


def seeds() -> dict[str, Any]:
    return _once(_seeds)


def _once(make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return a fresh copy of the output of `make`, which runs only once."""
    data: dict[str, Any] = json.loads(_text(make))
    return data


@cache
def _text(make: Callable[[], dict[str, Any]]) -> str:
    return json.dumps(make() | {"plots": []})


def _policies() -> dict[str, Any]:
    return compare(web(), POLICIES, [0, 1]).as_dict()


def _policies_and_uniform() -> dict[str, Any]:
    return compare(web(), POLICIES, [0, 1], uniform=True).as_dict()


def _harvest() -> dict[str, Any]:
    graph = web()
    task = Task.of(graph, int(graph.out_degrees().argmax()), np.arange(graph.n_pages) % 5 == 0, name="labels.txt")
    return compare_harvests(task, ["breadth-first", "navigational"]).as_dict()


def _seeds() -> dict[str, Any]:
    return compare_seeds(web(), k=4, hops=3).as_dict()


def write_comparisons(folder: Path) -> Path:
    """DIR/compare with one of each kind, and a file that is none."""
    place = folder / "compare"
    place.mkdir()
    for name, data in (("policies", policies()), ("seeds", seeds()), ("harvest", harvest())):
        (place / f"{name}.json").write_text(json.dumps(data), encoding="utf-8")
    (place / "wrong.json").write_text("{}", encoding="utf-8")
    (place / "notes.txt").write_text("ignored", encoding="utf-8")
    return place
