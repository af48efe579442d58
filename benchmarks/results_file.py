"""RESULTS.md: a section for each benchmark, and the figures of its tables.

The head of the file (goals, growth) is made of the figures in the sections, so that the two cannot differ.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_SECTION = re.compile(r"^## (\w+)\n\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")


@dataclass
class Results:
    """The sections by the names of their benchmarks, and what the experiments found."""

    sections: dict[str, str]

    @classmethod
    def read(cls, path: Path, experiments: Path) -> Results:
        """What the README of an experiment says is asked under `experiments/NAME`."""
        text = path.read_text() if path.exists() else ""
        sections = {name: section.strip() for name, section in _SECTION.findall(text)}
        for readme in experiments.glob("*/README.md"):
            sections[f"experiments/{readme.parent.name}"] = readme.read_text()
        return cls(sections)

    def number(self, section: str, row: str, column: str, below: str = "") -> float:
        """The first number in a cell: of the row that begins so, in the first table from `below` on that has both.

        A KeyError says what is missing; a section that was never made has no figures.
        """
        text = self.sections[section]
        if below not in text:
            raise KeyError(f"{section}: {below}")
        start = text.rfind("\n", 0, text.index(below)) + 1
        for headings, rows in _tables(text[start:]):
            if column in headings and row in rows:
                found = _NUMBER.search(rows[row][headings.index(column)])
                if found:
                    return float(found[0].replace(",", ""))
        raise KeyError(f"{section}: no number for {row!r} under {column!r}")

    def total(self, section: str, *columns: str) -> float:
        """The sum of these columns over all rows, in the first table that has them."""
        for headings, rows in _tables(self.sections[section]):
            if set(columns) <= set(headings) and rows:
                cells = [row[headings.index(column)] for row in rows.values() for column in columns]
                return sum(float(cell.replace(",", "")) for cell in cells)
        raise KeyError(f"{section}: no table with {', '.join(columns)}")


def _tables(text: str) -> list[tuple[list[str], dict[str, list[str]]]]:
    """Headings, and the rows by their first cell."""
    tables = []
    for block in re.findall(r"(?:^\|.*\|\n?)+", text, re.MULTILINE):
        lines = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in block.splitlines()]
        tables.append((lines[0], {line[0]: line for line in lines[2:]}))
    return tables
