"""The webs that experiments run on: real ones, if they are at hand and what they should be, and generated ones."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.experiment import Data
from orienteer.errors import InputError
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.synthetic import synthetic_web
from orienteer.progress import Progress, silent

_CACHED_FROM = 1_000_000
_BYTES_A_PAGE = 200  # while it is made and saved


@dataclass(frozen=True)
class Webs:
    """Where the webs of a run come from. A quick run knows generated ones only.

    `n_processes` is how many runs may go side by side.
    """

    data: Path | None
    quick: bool
    progress: Progress = silent
    n_processes: int = 1

    def to_send(self) -> Webs:
        """What another process can be given: it shows no progress."""
        return self if self.n_processes == 1 else replace(self, progress=silent)

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

    def missing(self, wanted: Iterable[Data]) -> list[str]:
        """The files that are not at hand; a quick run wants none."""
        return [] if self.quick else [one.file for one in wanted if self.file(one) is None]

    def graphs(self, wanted: Iterable[Data]) -> dict[str, LinkGraph]:
        """The real graphs that are at hand, by their names."""
        found = {Path(one.file).stem: self.file(one) for one in wanted}
        return {name: LinkGraph.load(path) for name, path in found.items() if path is not None}

    def generated(self, n_pages: int) -> LinkGraph:
        """Return the generated web of this size, cached in the system's temporary folder from a million pages on."""
        if n_pages < _CACHED_FROM:
            return synthetic_web(n_pages)
        return LinkGraph.load(web_folder(n_pages, self.progress))


def web_folder(n_pages: int, progress: Progress = silent) -> Path:
    """Return a graph folder with the generated web of this size; created once, in the system's temporary folder."""
    home = Path(tempfile.gettempdir()) / "orienteer-webs"
    home.mkdir(exist_ok=True)
    path = home / f"web-{n_pages}"
    with open(home / f"web-{n_pages}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process may be making it
        if not path.exists():
            free = shutil.disk_usage(home).free
            if free < _BYTES_A_PAGE * n_pages:
                raise InputError(
                    f"{home}: a generated web of {n_pages:,} pages takes {_BYTES_A_PAGE * n_pages / 1e9:.1f} GB, and "
                    f"{free / 1e9:.1f} GB are free"
                )
            synthetic_web(n_pages, progress=progress).save(path)
    return path
