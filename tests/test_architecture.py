"""ARCHITECTURE.md describes every package once, names modules that exist, and lists the layers that are checked."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "orienteer"
DOCUMENT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
MAX_BYTES = 18_000
_ENTRY = re.compile(r"^- ((?:`\w+`(?:, )?)+): \S", re.MULTILINE)
_PATH = re.compile(r"`((?:\w+/)+\w*(?:\.\w+)?)`")


def checked_layers() -> list[list[str]]:
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    checked = re.search(r'type = "layers"\nlayers = \[(.*?)\n\]', settings, re.DOTALL)
    assert checked is not None
    return [re.findall(r"orienteer\.(\w+)", line) for line in checked[1].strip().splitlines()]


def test_the_layers_are_those_that_are_checked() -> None:
    listed = DOCUMENT.partition("    cli\n")[2].partition("\n\n")[0]
    assert [["cli"], *(line.strip().split(", ") for line in listed.splitlines())] == checked_layers()


def test_every_package_is_described_once() -> None:
    described = Counter(name for entry in _ENTRY.findall(DOCUMENT) for name in re.findall(r"\w+", entry))
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert packages - described.keys() == set()
    assert {name for name in described if not (PACKAGE / name).is_dir()} <= {path.stem for path in PACKAGE.glob("*.py")}
    assert {name: n for name, n in described.items() if n > 1} == {}


def test_every_path_exists() -> None:
    paths = _PATH.findall(DOCUMENT)
    assert len(paths) > 30
    places = [place / path.rstrip("/") for path in paths for place in (ROOT, PACKAGE)]
    found = {str(place) for place in places if place.exists() or place.with_suffix(".py").exists()}
    assert [path for path in paths if not {str(ROOT / path.rstrip("/")), str(PACKAGE / path.rstrip("/"))} & found] == []


def test_it_can_be_read_in_one_go() -> None:
    assert len(DOCUMENT.encode()) <= MAX_BYTES
