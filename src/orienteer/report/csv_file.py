"""Write a site report as CSV: a row for each place of a finding, or one for a finding without places.

Spreadsheets evaluate cells that start like a formula, so such cells are prefixed with an apostrophe.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any, TextIO

from orienteer.report.finding import Finding, SiteReport
from orienteer.wording import plain

COLUMNS = ("kind", "url", "why", "cost", "leads_to", "value", "n_places", "place", "words", "place_cost")
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_MAX_CHARS = 3000


def write_csv(report: SiteReport, out: TextIO) -> None:
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for finding in report.all_findings():
        for row in _rows(finding):
            writer.writerow([safe_cell(cell) for cell in row])


def _rows(finding: Finding) -> Iterator[tuple[Any, ...]]:
    leads_to = " ".join(finding.leads_to)
    head = (finding.kind, finding.url, finding.why, finding.cost, leads_to, finding.value, finding.n_places)
    if not finding.places:
        yield (*head, "", "", "")
    for place in finding.places:
        yield (*head, place.url, place.words, place.cost)


def safe_cell(value: str | float | None) -> str:
    """Return the text of a cell: a single line, and no formula.

    >>> safe_cell("=HYPERLINK(1)"), safe_cell(None), safe_cell(0.25)
    ("'=HYPERLINK(1)", '', '0.25')
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        return f"{value:.9g}"
    text = plain(value, _MAX_CHARS)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
