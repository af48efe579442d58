"""What is not imported: pycurl where nothing is fetched, linear algebra for kernels, nothing that only Linux has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from orienteer.graph.synthetic import synthetic_web
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.live.live_crawls import crawled, hub

pytestmark = pytest.mark.long

NO_EPOLL = """
import select
for name in [name for name in dir(select) if "epoll" in name.lower()]:
    delattr(select, name)
"""


def run(program: str, *arguments: object) -> str:
    ended = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True, timeout=600, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_kernels_run_without_linear_algebra_and_leave_it_to_others() -> None:
    """Numba would import scipy.linalg for any kernel; it still does so for one that needs it."""
    program = """
import sys
import numpy as np
import orienteer as ori
print(ori.pagerank(ori.LinkGraph.from_links(2, [0, 1], [1, 0])).round(3), "scipy.linalg" in sys.modules)
from numba import njit
print(njit(lambda matrix: matrix @ matrix)(np.eye(2) * 3).tolist(), "scipy.linalg" in sys.modules)
"""
    assert run(program) == "[0.5 0.5] False\n[[9.0, 0.0], [0.0, 9.0]] True\n"


def test_no_pycurl_where_nothing_is_fetched(tmp_path: Path) -> None:
    """Modules are imported one after the other: the last that is said is the one that imported it. Then there is none,
    and a crawl is searched, exported and imported all the same."""
    site = GraphSite(synthetic_web(40))
    with FakeWeb(site) as web:
        crawled(web, hub(site), tmp_path / "crawl", settings={"crawl": {"workers": 2}})
    modules = ["search.search_index", "search.indexing", "imports.import_crawl", "exports.export", "inspect.explain"]
    modules += ["web.app", "saved_crawl"]
    lines = (f"import orienteer.{module}; print('{module}', 'pycurl' in sys.modules)" for module in modules)
    program = """
sys.modules["pycurl"] = None  # importing it raises an ImportError
from pathlib import Path
import orienteer as ori
crawl = Path(sys.argv[1])
saved = ori.open(crawl)
print(saved.index().n_pages > 0)
print(saved.search("cargo").total > 0)
print(saved.export("warc", crawl.parent / "all.warc.gz").n_pages > 0)
print(ori.import_crawl(crawl.parent / "all.warc.gz", crawl.parent / "again").n_fetched > 0)
"""
    said = run("\n".join(["import sys", *lines, program]), tmp_path / "crawl").splitlines()
    assert said == [*(f"{module} False" for module in modules), *["True"] * 4]


@pytest.mark.slow
def test_a_crawl_works_without_epoll(tmp_path: Path) -> None:
    site = GraphSite(synthetic_web(40))
    program = (
        NO_EPOLL
        + """
import pkgutil, importlib, sys, orienteer
for module in pkgutil.walk_packages(orienteer.__path__, "orienteer."):
    if "__main__" not in module.name:
        importlib.import_module(module.name)
report = orienteer.crawl(
    sys.argv[1], sys.argv[2], until=None, scope="web",
    settings={"crawl": {"robots": False}, "politeness": {"delay_s": 0.0}, "fetch": {"connect_to": sys.argv[3]}},
).last_run
print(report.figures.n_fetched, report.stopped_because)
"""
    )
    with FakeWeb(site) as web:
        expected = crawled(web, hub(site), tmp_path / "here")
        said = run(program, hub(site), tmp_path / "there", web.address)
    assert said == f"{expected.figures.n_fetched} frontier empty\n"
