"""Documentation that comes in Debian packages, as sites: real pages in many languages, some of them very long.

Packages are downloaded once (`apt-get download`, which needs no privileges) and cached below the system's temporary
folder; only their HTML pages are served.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.search_web import File, SearchWeb, written_files
from benchmarks.sizes import IS_TINY, MissingError
from benchmarks.tiny_data import tiny_site

_CACHE = Path(tempfile.gettempdir()) / "orienteer-debian-docs"


class Manual(NamedTuple):
    """A folder of a package, served as a host; `endings` are those of the files that are pages."""

    host: str
    package: str
    folder: str
    endings: tuple[str, ...] = (".html", ".htm")


def unpacked(package: str) -> Path:
    """The files of a package."""
    place = _CACHE / package
    if not place.exists():
        _CACHE.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_CACHE) as scratch:
            downloaded(package, scratch)
            (archive,) = Path(scratch).glob("*.deb")
            subprocess.run(["dpkg-deb", "-x", archive, f"{scratch}/files"], check=True)
            Path(scratch, "files").rename(place)
    return place


def downloaded(package: str, folder: str | Path) -> None:
    """Download a package into a folder."""
    try:
        subprocess.run(["apt-get", "download", "-qq", package], cwd=folder, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        raise MissingError(f"the Debian package {package}") from None


def pages_of(manual: Manual) -> Iterator[File]:
    """The pages of a manual in the order of their names, each once: links in the file system are left out."""
    if IS_TINY:
        yield from ((f"{manual.host}/{name}", page.encode()) for name, page in tiny_site(manual.host))
        return
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
    return written_files(path, dict(page for manual in manuals for page in pages_of(manual)))
