"""Write a site report to a file or to stdout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TextIO

from orienteer.errors import InputError, unknown_name
from orienteer.exports.export import expect_outside
from orienteer.exports.staging import expect_free as expect_free_file
from orienteer.exports.staging import staged
from orienteer.report.csv_file import write_csv
from orienteer.report.finding import SiteReport
from orienteer.report.html_file import write_html

FORMATS = ("html", "csv", "json")


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
