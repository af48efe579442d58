"""Programs and pages of others, each fetched once and kept in the user's cache; None where one cannot be had.

python -m tests.replay_tools.tools     fetch all of them
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

PYWB, REPLAYWEB = "2.10.0", "2.5.3"
# Two manuals with pictures and styles, made by different tools; the others hold the scripts of the second.
DOCS = ("debian-faq", "python-click-doc", "libjs-sphinxdoc", "libjs-jquery", "libjs-underscore")
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "orienteer-tests"
_PATIENCE_S = 900


def pywb() -> Path | None:
    """The folder to put in PYTHONPATH: pywb pulls in much that is not to stand beside our own dependencies."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return _kept(f"pywb-{PYWB}-python{python}", _install_pywb)


def replaywebpage() -> Path | None:
    """The folder with ui.js and sw.js."""
    return _kept(f"replaywebpage-{REPLAYWEB}", _unpack_replaywebpage)


def debian_docs() -> Path | None:
    """The root of the file system that the packages make."""
    return _kept("debian-docs-" + "-".join(DOCS), _unpack_docs)


def _kept(name: str, make: Callable[[Path], None]) -> Path | None:
    """What `make` puts into a folder; it appears under its name when it is complete."""
    place = _CACHE / name
    if not place.exists():
        try:
            _CACHE.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=_CACHE) as scratch:
                made = Path(scratch) / "made"
                made.mkdir()
                make(made)
                if not place.exists():
                    made.rename(place)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"{name}: cannot be had ({error})", file=sys.stderr)
    return place if place.exists() else None


def _install_pywb(place: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check"]
    command += ["--root-user-action=ignore", "--target", str(place), f"pywb=={PYWB}"]
    _run(command, place)


def _unpack_replaywebpage(place: Path) -> None:
    _run(["npm", "pack", "--silent", f"replaywebpage@{REPLAYWEB}"], place)
    (packed,) = place.glob("*.tgz")
    _run(["tar", "--extract", "--strip-components=1", "--file", packed.name], place)
    packed.unlink()


def _unpack_docs(place: Path) -> None:
    _run(["apt-get", "download", *DOCS], place)
    for package in sorted(place.glob("*.deb")):
        _run(["dpkg-deb", "-x", package.name, "."], place)
        package.unlink()


def _run(command: list[str], folder: Path) -> None:
    if shutil.which(command[0]) is None:
        raise FileNotFoundError(f"no {command[0]} on this machine")
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=_PATIENCE_S)


if __name__ == "__main__":
    for fetch in (pywb, replaywebpage, debian_docs):
        fetch()
