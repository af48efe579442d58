"""Write a site report as HTML, CSV or JSON, to a file or to stdout.

HTML is a self-contained file, or the fragment that the web pages include; all values are escaped by the templates. CSV
has a row for each place of a finding, or one for a finding without places. Spreadsheets evaluate cells that start like
a formula, so such cells are prefixed with an apostrophe.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined

from orienteer import __version__
from orienteer.errors import InputError, unknown_name
from orienteer.exports.export import expect_outside
from orienteer.exports.exporter import expect_free as expect_free_file
from orienteer.exports.exporter import staged
from orienteer.report.finding import CLICKS, KINDS, Finding, SiteReport
from orienteer.wording import counted, is_link, moment, plain, share_text

FORMATS = ("html", "csv", "json")
MAX_LISTED = 200  # findings of a kind; CSV and JSON have all of them
MAX_ON_PAGE = 25  # of them in the fragment of a web page
_MAX_PLACES = 5
COLUMNS = ("kind", "url", "why", "cost", "leads_to", "value", "n_places", "place", "words", "place_cost")
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_MAX_CHARS = 3000


def format_of(out: Path | None, format: str | None) -> str | None:
    """Return the given format, or that of the suffix of `out`; None if both are None."""
    if format is not None:
        if format not in FORMATS:
            raise unknown_name("format of reports", format, FORMATS)
        return format
    if out is None:
        return None
    suffix = out.suffix.lower().lstrip(".")
    if suffix not in FORMATS:
        raise InputError(f"{out}: name it .html, .csv or .json, or choose one with --format")
    return suffix


def write_report(report: SiteReport, format: str, out: TextIO) -> None:
    """Write the report in one of `FORMATS`."""
    if format == "html":
        write_html(report, out)
    elif format == "csv":
        write_csv(report, out)
    else:
        _write_json(report, out)


def _write_json(report: SiteReport, out: TextIO) -> None:
    """Write `report.as_dict()` as a stream, with a finding on each line."""
    out.write(json.dumps(report.head(), indent=1).removesuffix("\n}") + ',\n "findings": {')
    for number, (kind, found) in enumerate(report.findings.items()):
        out.write(f"{',' if number else ''}\n  {json.dumps(kind)}: [")
        for place, finding in enumerate(found):
            out.write(f"{',' if place else ''}\n   {json.dumps(finding.as_dict())}")
        out.write("]")
    out.write("}\n}\n")


def expect_free(out: Path, folder: Path, force: bool) -> None:
    """Raise an error if `out` exists (without `force`), or is inside the crawl folder."""
    expect_outside(out, folder)
    expect_free_file(out, is_folder=False, force=force)


def save_report(report: SiteReport, format: str, out: Path, folder: Path, force: bool) -> None:
    """Write the report to a file, which appears when it is complete."""
    expect_outside(out, folder)
    with (
        staged(out, is_folder=False, force=force) as staging,
        staging.main.open("w", encoding="utf-8", errors="replace", newline="") as file,
    ):
        write_report(report, format, file)


def write_html(report: SiteReport, out: TextIO) -> None:
    """Write the whole file as a stream."""
    template = _environment().get_template("report.html")
    out.writelines(template.generate(**_values(report, None, MAX_LISTED), version=__version__))


def findings_html(report: SiteReport, details: str) -> str:
    """Return the findings as an HTML fragment; links lead to `details`, the page about a URL."""
    return _environment().get_template("findings.html").render(**_values(report, details, MAX_ON_PAGE))


def headline(report: SiteReport) -> str:
    """Summarize the report in a sentence: the share of clicks that end at broken links."""
    if not report.n_checked:
        return "No link of these pages was checked."
    share = report.clicks.broken + report.clicks.host_gone
    n_broken = len(report.findings["broken"])
    if not n_broken and not share:
        return f"No broken link among {report.n_checked:,} checked."
    addresses = counted(n_broken, "address leads", "addresses lead")
    one_in = f" (1 in {1 / share:,.0f})" if share > 0 else ""
    return f"{share_text(share)} of a surfer's clicks end at a broken link{one_in}: {addresses} to no page."


def _values(report: SiteReport, details: str | None, max_listed: int) -> dict[str, Any]:
    return {
        "report": report,
        "headline": headline(report),
        "kinds": list(KINDS.values()),
        "clicks": CLICKS,
        "max_listed": max_listed,
        "max_places": _MAX_PLACES,
        "details": details,
    }


def _address(url: str) -> str:
    return plain(url.partition("://")[2] or url, 160)


def _value_text(finding: Finding) -> str:
    """Return the value of a finding as text, unless `why` has it already."""
    if finding.kind == "hosts" and finding.value is not None:
        return counted(int(finding.value), "page was not requested", "pages were not requested")
    return ""


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("orienteer.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "share": share_text,
        "plain": plain,
        "counted": counted,
        "moment": moment,
        "figure": lambda number: f"{number:,}",
        "address": _address,
        "value": _value_text,
        "query": lambda url: urlencode({"url": url}, errors="replace"),
    }
    environment.tests["link"] = is_link
    return environment


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
