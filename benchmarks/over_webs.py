"""What a coverage of 98 % costs over all real webs at hand: medians and ranges, made of the section `survey`.

One web says little: what is saved differs from web to web.
"""

from __future__ import annotations

import re
import statistics
from typing import NamedTuple

from benchmarks.measure import table
from benchmarks.results_file import Results

_OURS = re.compile(r"^\| (\S+) 0\.98 \| ([\d,]+) \| 0\.98 \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|", re.MULTILINE)
_THEIRS = re.compile(r"^\| (\S+), breadth-first \|.*\| ([\d,]+) / ([\d,]+) / ([\d,]+) \|", re.MULTILINE)


class Fetches(NamedTuple):
    """Pages until 98 % of a web's rank is fetched, is measured to be, and is proved to be."""

    true: int
    measured: int
    proved: int


def over_webs_table(results: Results) -> str:
    """A row for each figure: its median, and the least and the most of all webs."""
    section = results.sections["survey"]
    sizes = {name: _number(size) for name, size, *_ in _OURS.findall(section)}
    ours = {name: Fetches(*map(_number, counts)) for name, _, *counts in _OURS.findall(section)}
    theirs = {name: Fetches(*map(_number, counts)) for name, *counts in _THEIRS.findall(section)}
    names = sorted(ours.keys() & theirs.keys())
    figures = {
        "measured after, % of the web's pages": (100 * ours[name].measured / sizes[name] for name in names),
        "proved after, % of the web's pages": (100 * ours[name].proved / sizes[name] for name in names),
        "measured / true": (ours[name].measured / ours[name].true for name in names),
        "proved / true": (ours[name].proved / ours[name].true for name in names),
        "breadth-first true / ours true": (theirs[name].true / ours[name].true for name in names),
        "breadth-first measured / ours measured": (theirs[name].measured / ours[name].measured for name in names),
        "breadth-first proved / ours proved": (theirs[name].proved / ours[name].proved for name in names),
        "breadth-first proved / ours measured": (theirs[name].proved / ours[name].measured for name in names),
    }
    rows = [_row(label, sorted(values)) for label, values in figures.items()]
    return table([f"{len(names)} real webs, 98 %, `certified`", "median", "least", "most"], rows)


def _row(label: str, values: list[float]) -> list[str]:
    digits = 0 if "%" in label else 2
    return [label, *(f"{value:.{digits}f}" for value in (statistics.median(values), values[0], values[-1]))]


def _number(text: str) -> int:
    return int(text.replace(",", ""))
