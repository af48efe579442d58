"""Third-party programs and pages that tests run against, installed once into the user's cache.

Each function returns a folder, or None where the program cannot be installed; its tests are then skipped.

python -m tests.external_tools     install all of them
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

PYWB, REPLAYWEB, HTTPBIN, GUNICORN, SCHEMATHESIS = "2.10.0", "2.5.3", "0.10.4", "27.0.1", "4.32.5"
# Two manuals with pictures and styles, made by different tools; the others hold the scripts of the second.
DOCS = ("debian-faq", "python-click-doc", "libjs-sphinxdoc", "libjs-jquery", "libjs-underscore")
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "orienteer-tests"
_TIMEOUT_S = 900


# Python programs go into folders of their own, for PYTHONPATH: their dependencies conflict with ours (httpbin needs
# greenlet below 3 on Python 3.11, Playwright one above it).
def pywb() -> Path | None:
    return _installed(f"pywb=={PYWB}")


def httpbin() -> Path | None:
    return _installed(f"httpbin=={HTTPBIN}", f"gunicorn=={GUNICORN}")


def schemathesis() -> Path | None:
    return _installed(f"schemathesis=={SCHEMATHESIS}")


def replaywebpage() -> Path | None:
    """The folder with ui.js and sw.js."""
    return _cached(f"replaywebpage-{REPLAYWEB}", _unpack_replaywebpage)


def debian_docs() -> Path | None:
    """The root of the file system that the packages make."""
    return _cached("debian-docs-" + "-".join(DOCS), _unpack_docs)


def _cached(name: str, make: Callable[[Path], None]) -> Path | None:
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


def _installed(*requirements: str) -> Path | None:
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    name = "-".join(requirement.replace("==", "-") for requirement in requirements)
    return _cached(f"{name}-python{python}", lambda place: _pip_install(place, requirements))


def _pip_install(place: Path, requirements: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--root-user-action=ignore", "--target", str(place), *requirements]
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
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=_TIMEOUT_S)


if __name__ == "__main__":
    for install in (pywb, httpbin, schemathesis, replaywebpage, debian_docs):
        install()
