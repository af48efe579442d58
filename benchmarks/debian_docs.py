"""Documentation that comes in Debian packages, as sites: real pages in many languages, some of them very long.

Packages are downloaded once (`apt-get download`, which needs no rights) and kept in a folder of the system's temporary
one; what is served of them are their HTML pages.
"""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.search_web import File, SearchWeb, directory

_KEPT = Path(tempfile.gettempdir()) / "orienteer-debian-docs"


class Manual(NamedTuple):
    """A folder of a package, served as a host; `endings` are those of the files that are pages."""

    host: str
    package: str
    folder: str
    endings: tuple[str, ...] = (".html", ".htm")


def unpacked(package: str) -> Path:
    """The files of a package."""
    place = _KEPT / package
    if not place.exists():
        _KEPT.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_KEPT) as scratch:
            subprocess.run(["apt-get", "download", package], cwd=scratch, check=True, capture_output=True)
            (archive,) = Path(scratch).glob("*.deb")
            subprocess.run(["dpkg-deb", "-x", archive, f"{scratch}/files"], check=True)
            Path(scratch, "files").rename(place)
    return place


def pages_of(manual: Manual) -> Iterator[File]:
    """The pages of a manual in the order of their names, each once: links in the file system are left out."""
    root = unpacked(manual.package) / manual.folder
    for path in sorted(root.rglob("*")):
        if path.name.endswith(manual.endings) and path.is_file() and not path.is_symlink():
            name = path.relative_to(root).as_posix()
            if not name.endswith((".html", ".htm")):  # such as index.html.de, which is a page in German
                stem, _, language = name.rpartition(".")
                name = f"{language}/{stem}"
            yield f"{manual.host}/{name}", path.read_bytes()


def written_site(path: Path, manuals: Iterable[Manual]) -> SearchWeb:
    """An archive with all of them, and a directory that leads to every page."""
    pages = [page for manual in manuals for page in pages_of(manual)]
    names = [name for name, _ in pages]
    with tarfile.open(path, "w") as tar:
        for name, body in (*pages, *directory(names)):
            entry = tarfile.TarInfo(name)
            entry.size = len(body)
            tar.addfile(entry, io.BytesIO(body))
    return SearchWeb(path, list(dict.fromkeys(manual.host for manual in manuals)), len(names), 0)
