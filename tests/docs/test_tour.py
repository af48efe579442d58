"""The notebook runs from beginning to end, and what is stored in it is what it shows."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.docs import tour

pytestmark = pytest.mark.slow

# Cells about the crawl of the town: answers come in another order each time.
AFTER_THE_CRAWL = {"cell-12", "cell-14", "cell-16"}


def displayed(cell: Any) -> str:
    """What a cell printed, or shows as plain text."""
    return "".join(
        output.get("text", "") or output.get("data", {}).get("text/plain", "") for output in cell.get("outputs", [])
    )


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_it_is_stored_as_one_run_in_order_with_what_it_showed() -> None:
    notebook = tour.stored()
    nbformat.validate(notebook)
    assert [cell.execution_count for cell in code_cells(notebook)] == list(range(1, len(code_cells(notebook)) + 1))
    assert [cell.id for cell in code_cells(notebook) if not cell.outputs] == ["cell-1"]  # it only imports
    kinds = {output.output_type for cell in code_cells(notebook) for output in cell.outputs}
    assert kinds == {"stream", "execute_result", "display_data"}  # the last is the progress of the crawl


@pytest.mark.skipif(sys.platform == "win32", reason="crawl folders need POSIX locks")
def test_it_runs_and_shows_what_is_stored(tmp_path: Path) -> None:
    """Where it differs and should, `python -m tests.docs.tour` stores it again."""
    notebook = tour.run(tmp_path)
    before = {cell.id: displayed(cell) for cell in code_cells(tour.stored())}
    now = {cell.id: displayed(cell) for cell in code_cells(notebook)}
    differ = {cell for cell in now if now[cell] != before[cell]}
    assert differ <= AFTER_THE_CRAWL, {cell: now[cell] for cell in differ - AFTER_THE_CRAWL}
    for said in (before, now):
        assert re.search("stopped by (measured )?coverage", said["cell-12"])
        assert "bridge" in said["cell-14"].lower()
        assert said["cell-16"].startswith("<ImportReport: ")
    html = [output["data"] for cell in code_cells(notebook) for output in cell.outputs if "data" in output]
    assert sum("text/html" in data for data in html) >= 5
