"""The notebook runs from beginning to end, shows what it should, and is kept without what it showed."""

from __future__ import annotations

import asyncio
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
TOUR = ROOT / "docs" / "tour.ipynb"


def shown(cell: Any) -> str:
    """What a cell printed, or shows as plain text."""
    return "".join(
        output.get("text", "") or output.get("data", {}).get("text/plain", "") for output in cell.get("outputs", [])
    )


def test_it_is_kept_without_outputs() -> None:
    notebook = nbformat.read(TOUR, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None


@pytest.mark.skipif(sys.platform == "win32", reason="crawl folders need POSIX locks")
def test_it_runs(tmp_path: Path) -> None:
    from nbclient import NotebookClient

    notebook = nbformat.read(TOUR, as_version=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the machinery, which leaves its sockets and loops open
        NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
        asyncio.set_event_loop(None)
    said = {cell.source.splitlines()[-1]: shown(cell) for cell in notebook.cells if cell.cell_type == "code"}
    assert said["web"].startswith("<LinkGraph: 20,000 pages")
    assert said["seeds"].startswith("<SeedSelection: 5 seeds by greedy")
    assert said["trace.certificate"].count("pages fetched") == 2
    assert re.search("stopped by (measured )?coverage", said["print(report)"])
    assert "bridge" in said['results.to_pandas()[["position", "title", "local_rank"]]'].lower()
    assert said["print(again)"].startswith("<ImportReport: ")
    html = [output["data"] for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    assert sum("text/html" in data for data in html) >= 5
