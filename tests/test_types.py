"""Programs that use Orienteer can be type-checked."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import orienteer as ori
from orienteer.public_names import public_names

pytestmark = pytest.mark.slow

PACKAGES = ("orienteer", "orienteer.graph", "orienteer.search", "orienteer.seeds", "orienteer.topics")
CLIENT = """
from __future__ import annotations

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import orienteer as ori
from orienteer.crawl.simulate import Trace
from orienteer.graph import Certificate, certificate, estimate_global_rank
from orienteer.imports.import_crawl import ImportReport
from orienteer.inspect.crawl_status import CrawlStatus
from orienteer.inspect.run_report import Report
from orienteer.search import SearchIndex, SearchResults


def ranked(path: str) -> list[str]:
    web = ori.LinkGraph.load(path)
    assert_type(web, ori.LinkGraph)
    rank = ori.pagerank(web, trust=[0])
    assert_type(rank, NDArray[np.float64])
    trace = ori.simulate(web, "certified", trust=[0], until=0.9)
    assert_type(trace, Trace)
    assert_type(trace.n_fetched, int)
    assert_type(trace.certificate, Certificate)
    proved = certificate(web, trace.order, trust=[0])
    assert_type(proved.lower, float)
    seeds = ori.select_seeds(web, k=3)
    assert_type(seeds, NDArray[np.int64])
    estimate = estimate_global_rank(web, local=seeds, budget=10)
    assert_type(estimate.rank, NDArray[np.float64])
    return [] if web.urls is None else [web.urls[int(page)] for page in rank.argsort()[::-1][:10]]


def searched(folder: str) -> list[str]:
    report = ori.import_crawl(["a.warc.gz"], folder, seeds="https://example.org/")
    assert_type(report, ImportReport)
    assert_type(report.certificate, Certificate | None)
    crawl = ori.crawl("https://example.org/", folder, budget=10, settings={"politeness": {"delay_s": 2.0}})
    assert_type(crawl, ori.SavedCrawl)
    assert_type(crawl.last_run, Report | None)
    assert_type(ori.open(folder).status(), CrawlStatus)
    assert_type([page.title for page in crawl.pages()], list[str])
    with SearchIndex.open(folder) as index:
        assert_type(index.search("words", rank="local", n=5), SearchResults)
    return [hit.url for hit in crawl.search("words").hits]


async def crawled(urls: list[str]) -> None:
    crawl = await ori.crawl_async(urls, until=0.9, budget=10)
    assert_type(crawl, ori.SavedCrawl)
    assert_type(crawl.refresh(0.9), Report)
"""


def checked(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "client.py").write_text(program)
    package = Path(ori.__file__).parents[1]
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--config-file="]
    command += ["--cache-dir", str(Path(__file__).parents[1] / ".mypy_cache" / "client"), "client.py"]
    environment = {**os.environ, "MYPYPATH": str(package)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)


def test_a_strict_program_and_every_public_name_has_a_type(tmp_path: Path) -> None:
    public = [f"{package}.{name}" for package in PACKAGES for name in public_names(package)]
    names = "".join(f"import {package}\n" for package in PACKAGES)
    names += "".join(f"reveal_type({name})\n" for name in public)
    done = checked(CLIENT + "\n\n" + names, tmp_path)
    revealed = re.findall(r'Revealed type is "(.*)"', done.stdout)
    others = [line for line in done.stdout.splitlines() if "Revealed type" not in line and "Success" not in line]
    assert done.returncode == 0, done.stdout
    assert others == []
    assert len(revealed) == len(public)
    untyped = [name for name, kind in zip(public, revealed, strict=True) if kind == "Any"]
    assert untyped == []
    assert (Path(ori.__file__).parent / "py.typed").is_file()


def test_wrong_and_former_names_are_type_errors(tmp_path: Path) -> None:
    done = checked("import orienteer as ori\n\nori.pagerang\nori.live_crawl\nori.open(3)\n", tmp_path)
    for complaint in ('no attribute "pagerang"', 'no attribute "live_crawl"', 'incompatible type "int"'):
        assert complaint in done.stdout
