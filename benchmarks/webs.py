"""The generated webs that benchmarks run on; made once, kept in the system's temporary folder."""

from __future__ import annotations

import tempfile
from pathlib import Path

from orienteer.graph.synthetic import synthetic_web


def web_folder(n_pages: int) -> Path:
    """A graph folder with the synthetic web of this size."""
    home = Path(tempfile.gettempdir()) / "orienteer-benchmarks"
    home.mkdir(exist_ok=True)
    path = home / f"web-{n_pages}"
    if not path.exists():
        synthetic_web(n_pages).save(path)
    return path
