"""The webs that experiments run on: real ones, if they are at hand and what they should be, and generated ones."""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path

from orienteer.errors import InputError
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.synthetic import synthetic_web
from orienteer.progress import Progress, silent
from orienteer.reproduce.experiment import Data


@dataclass(frozen=True)
class Webs:
    """Where the webs of a run come from. A quick run knows generated ones only."""

    data: Path | None
    quick: bool
    progress: Progress = silent

    def file(self, wanted: Data) -> Path | None:
        """A file of real data, checked; None if it is not at hand."""
        if self.quick or self.data is None or not (self.data / wanted.file).exists():
            return None
        path = self.data / wanted.file
        with open(path, "rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if found != wanted.sha256:
            raise InputError(f"{path}: this is another file than the experiment was made with (sha256 {found})")
        return path

    def generated(self, n_pages: int) -> LinkGraph:
        """The generated web of this size, which is kept in the system's temporary folder from a million pages on."""
        if n_pages < 1_000_000:
            return synthetic_web(n_pages)
        home = Path(tempfile.gettempdir()) / "orienteer-webs"
        home.mkdir(exist_ok=True)
        path = home / f"web-{n_pages}"
        if not path.exists():
            synthetic_web(n_pages).save(path)
        return LinkGraph.load(path)
