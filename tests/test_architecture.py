"""ARCHITECTURE.md names every folder in one line and every module once, where it is."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "orienteer"
_SECTION = re.compile(r"^## `([a-z_/]+)/` — [^\n]+\?\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^- ((?:`\w+`(?:, )?)+): \S", re.MULTILINE)


def told_folders() -> dict[str, Counter[str]]:
    """The modules that the document names, by folder; ours is called `orienteer`."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    return {
        folder: Counter(name for entry in _ENTRY.findall(body) for name in re.findall(r"\w+", entry))
        for folder, body in _SECTION.findall(text)
    }


def real_folders() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        folder = path.parent.relative_to(PACKAGE).as_posix()
        found.setdefault("orienteer" if folder == "." else folder, set()).add(path.stem)
    return {folder: modules - {"__init__"} for folder, modules in found.items()}


def test_every_folder_has_its_question() -> None:
    assert told_folders().keys() == real_folders().keys()


def test_every_module_is_named_once_where_it_is() -> None:
    told, real = told_folders(), real_folders()
    differences = {
        folder: {
            "not named": sorted(real[folder] - told[folder].keys()),
            "not there": sorted(told[folder].keys() - real[folder]),
            "named twice": sorted(name for name, n in told[folder].items() if n > 1),
        }
        for folder in real
        if folder in told
    }
    assert {folder: wrong for folder, wrong in differences.items() if any(wrong.values())} == {}


def test_the_layers_are_those_that_are_checked() -> None:
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    checked = re.search(r'type = "layers"\nlayers = \[(.*?)\n\]', settings, re.DOTALL)
    assert checked is not None
    layers = [re.findall(r"orienteer\.(\w+)", line) for line in checked[1].strip().splitlines()]
    document = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("## Layers\n")[2]
    told = [line.strip().split(", ") for line in document.partition("    cli\n")[2].partition("\n\n")[0].splitlines()]
    assert [["cli"], *told] == layers
