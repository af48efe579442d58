"""What is written of a run: one HTML page that needs nothing else, images, JSON, and the README.md of an experiment."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.reproduction import Judged, Reproduction, as_document, machine
from orienteer.errors import InputError
from orienteer.files.plain import replaced

_TEMPLATE = Path(__file__).with_name("report.html")
_NEEDED_BYTES = 20 << 20
_CLAIM_HEADINGS = ["claim", "where", "the paper says", "published", "ours", "verdict"]


def prepare(folder: Path) -> Path:
    """Create the folder; an error before the work if it is not writable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".new"
        probe.write_bytes(b"x")
        probe.unlink()
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise InputError(f"{folder}: nothing can be written here ({error.strerror or error})") from None
    if free < _NEEDED_BYTES:
        raise InputError(f"{folder}: the disk is full")
    return folder


def write_report(reproductions: Sequence[Reproduction], folder: Path, command: str) -> Path:
    """Write report.html, results.json and PAPER/*.png; where the report is."""
    for one in reproductions:
        _write_images(one, folder / one.experiment.name)
    document = as_document(reproductions, command)
    _write(folder / "results.json", json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    report = folder / "report.html"
    _write(report, html_report(reproductions, document))
    return report


def write_experiment(reproduction: Reproduction, folder: Path, command: str) -> Path:
    """Write README.md and the images of a paper into its folder of `experiments`."""
    home = folder / reproduction.experiment.name
    for old in home.glob("*.png"):
        old.unlink()
    _write_images(reproduction, home)
    _write(home / "README.md", markdown(reproduction, command))
    return home / "README.md"


def html_report(reproductions: Sequence[Reproduction], document: dict[str, Any]) -> str:
    """One page with its images inside. Whatever it shows is escaped."""
    from jinja2 import Environment, StrictUndefined

    template = Environment(autoescape=True, undefined=StrictUndefined).from_string(_TEMPLATE.read_text("utf-8"))
    return template.render(reproductions=reproductions, document=document, data_url=_data_url)


def _data_url(image: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(image).decode()


def markdown(reproduction: Reproduction, command: str) -> str:
    """The README.md of an experiment."""
    experiment, results = reproduction.experiment, reproduction.results
    lines = [
        f"# {experiment.title}",
        "",
        f"{experiment.paper}.",
        "",
        f"Written by `{command}`, on {machine()}.",
        f"{len(reproduction.judged)} claims: {reproduction.tally}.",
        "",
        *_rows(_CLAIM_HEADINGS, [_claim_cells(one) for one in reproduction.judged], right_aligned=False),
    ]
    for note in reproduction.notes:
        lines += ["", note]
    for plot in results.plots:
        lines += ["", f"![{plot.shows}]({plot.name}.png)", "", plot.shows]
    for table in results.tables:
        lines += ["", f"## {table.title}", "", *_rows(table.headings, table.rows)]
        if table.note:
            lines += ["", table.note]
    return "\n".join(lines) + "\n"


def _claim_cells(one: Judged) -> list[str]:
    claim = one.claim
    return [f"`{claim.name}`", claim.where, claim.says, claim.published, one.ours, f"**{one.verdict}**"]


def _rows(headings: list[str], rows: list[list[str]], right_aligned: bool = True) -> list[str]:
    rule = "---:" if right_aligned else "---"
    body = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return ["| " + " | ".join(headings) + " |", "|---" + f"|{rule}" * (len(headings) - 1) + "|", *body]


def _write_images(reproduction: Reproduction, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for plot in reproduction.results.plots:
        with replaced(folder / f"{plot.name}.png") as new:
            new.write_bytes(plot.image)


def _write(path: Path, text: str) -> None:
    with replaced(path) as new:
        new.write_text(text, "utf-8")
