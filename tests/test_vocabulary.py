"""One name has one meaning: no two classes share a name, and the former names in CONTRIBUTING.md are gone."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "orienteer"
MAX_ROWS = 60


def definitions() -> list[tuple[str, str, bool]]:
    """Return the module, the name, and whether it is a class, of all classes and functions of the package."""
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [
        (str(path.relative_to(PACKAGE)), node.name, isinstance(node, ast.ClassDef))
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, kinds)
    ]


def vocabulary() -> list[tuple[str, str, str]]:
    """Return the rows of the table in CONTRIBUTING.md: concept, name, former names."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Vocabulary")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in text.splitlines() if line[:1] == "|"]
    return [(row[0], row[1], row[2] if len(row) > 2 else "") for row in rows[2:]]


def test_no_two_classes_share_a_name() -> None:
    modules = defaultdict(list)
    for module, name, is_class in definitions():
        if is_class:
            modules[name].append(module)
    assert len(modules) > 500
    assert {name: found for name, found in modules.items() if len(found) > 1} == {}


def test_the_vocabulary_is_short() -> None:
    assert 40 < len(vocabulary()) <= MAX_ROWS


def test_former_names_of_classes_are_gone() -> None:
    current = {name for _, names, _ in vocabulary() for name in re.findall(r"`(_?[A-Z]\w+)`", names)}
    former = {name for _, _, names in vocabulary() for name in re.findall(r"`(_?[A-Z]\w+)`", names)} - current
    defined = {name for _, name, _ in definitions()}
    assert len(former) > 5
    assert former & defined == {"Library"}, "a folder of crawls, and nothing else"
