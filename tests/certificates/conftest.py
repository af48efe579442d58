"""One crawl that was stopped, certified, and resumed: what tests change they copy."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from orienteer.certificates.facts import Facts
from orienteer.certificates.gathering import facts_of_folder
from orienteer.certificates.page import certificate_page
from orienteer.graph.synthetic import synthetic_web
from orienteer.pages.stop_reason import StopReason
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.live.live_crawls import Tables, crawled, hub

UNTIL = 0.8
MEASURED: Tables = {"crawl": {"stop_when": "measured", "budget": 120}, "store": {"max_file_mb": 0.05}}


class Certified(NamedTuple):
    """`then` is the folder as it was when `certificate` was made of it, `later` the same after it went on."""

    then: Path
    later: Path
    certificate: Path
    facts: Facts


@pytest.fixture(scope="session")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Certified:
    base = tmp_path_factory.mktemp("certified")
    site = GraphSite(synthetic_web(1000, rng=5))
    with FakeWeb(site) as web:
        first = crawled(web, hub(site), base / "c", until=UNTIL, settings=MEASURED)
        assert first.stopped_because == StopReason.BUDGET
        shutil.copytree(base / "c", base / "then")
        more: Tables = {"crawl": {"stop_when": "measured", "budget": 2_000}}
        last = crawled(web, hub(site), base / "c", until=UNTIL, settings=more)
        assert last.figures.position > first.figures.position
    facts = facts_of_folder(base / "then")
    (base / "c.html").write_text(certificate_page(facts), encoding="utf-8")
    return Certified(base / "then", base / "c", base / "c.html", facts)


@pytest.fixture
def folder(certified: Certified, tmp_path: Path) -> Path:
    """A copy of the folder that was certified, to be changed."""
    shutil.copytree(certified.then, tmp_path / "copy")
    return tmp_path / "copy"
