"""The notebook docs/tour.ipynb, run from beginning to end.

python -m tests.docs.tour     # runs it, and stores what it shows
"""

from __future__ import annotations

import asyncio
import tempfile
import warnings
from pathlib import Path
from typing import Any

import nbformat

TOUR = Path(__file__).parents[2] / "docs" / "tour.ipynb"


def stored() -> Any:
    return nbformat.read(TOUR, as_version=4)


def run(folder: Path) -> Any:
    """The notebook with what it shows now; `folder` is where it runs."""
    from nbclient import NotebookClient

    notebook = stored()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the machinery, which leaves its sockets and loops open
        client = NotebookClient(
            notebook, timeout=600, resources={"metadata": {"path": str(folder)}}, record_timing=False
        )
        client.execute()
        asyncio.set_event_loop(None)
    return notebook


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        executed = run(Path(scratch))
    executed.metadata.language_info = {"name": "python"}  # without the Python version
    nbformat.write(executed, TOUR)
