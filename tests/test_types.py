"""Programs that use Orienteer can be type-checked."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import orienteer as ori

pytestmark = pytest.mark.long

CLIENT = """
from __future__ import annotations

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import orienteer as ori


def ranked(path: str) -> list[str]:
    web = ori.LinkGraph.load(path)
    assert_type(web, ori.LinkGraph)
    rank = ori.pagerank(web, trust=[0])
    assert_type(rank, NDArray[np.float64])
    trace = ori.simulate(web, "certified", trust=[0], until=0.9)
    assert_type(trace, ori.Trace)
    assert_type(trace.n_fetched, int)
    assert_type(trace.certificate, ori.Certificate)
    proved = ori.certificate(web, trace.order, trust=[0])
    assert_type(proved.lower, float)
    seeds = ori.select_seeds(web, k=3)
    assert_type(seeds, NDArray[np.int64])
    estimate = ori.estimate_global_rank(web, local=seeds, budget=10)
    assert_type(estimate.rank, NDArray[np.float64])
    return [] if web.urls is None else [web.urls[int(page)] for page in rank.argsort()[::-1][:10]]


def searched(folder: str) -> list[str]:
    report = ori.import_crawl(["a.warc.gz"], folder, seeds="https://example.org/")
    assert_type(report, ori.ImportReport)
    assert_type(report.certificate, ori.Certificate | None)
    ori.live_crawl("https://example.org/", folder, budget=10, settings={"politeness": {"delay_s": 2.0}})
    ori.update_index(folder)
    with ori.SearchIndex.open(folder) as index:
        results = index.search("words", rank="local", n=5)
        assert_type(results, ori.SearchResults)
        return [hit.url for hit in results.hits]
"""


def checked(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "client.py").write_text(program)
    package = Path(ori.__file__).parents[1]
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--config-file="]
    command += ["--cache-dir", str(Path(__file__).parents[1] / ".mypy_cache" / "client"), "client.py"]
    environment = {**os.environ, "MYPYPATH": str(package)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)


def test_a_strict_program_and_every_public_name_has_a_type(tmp_path: Path) -> None:
    names = "".join(f"reveal_type(ori.{name})\n" for name in ori.__all__)
    done = checked(CLIENT + "\n\n" + names, tmp_path)
    revealed = re.findall(r'Revealed type is "(.*)"', done.stdout)
    others = [line for line in done.stdout.splitlines() if "Revealed type" not in line and "Success" not in line]
    assert done.returncode == 0, done.stdout
    assert others == []
    assert len(revealed) == len(ori.__all__)
    untyped = [name for name, kind in zip(ori.__all__, revealed, strict=True) if kind == "Any"]
    assert untyped == []
    assert (Path(ori.__file__).parent / "py.typed").is_file()
