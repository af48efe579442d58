"""The option `--processes` of commands that read many pages."""

from __future__ import annotations

from typing import Any

import typer

PROCESSES: Any = typer.Option(
    None,
    "--processes",
    min=1,
    metavar="N",
    help="Read pages in N processes; default: one per core, at most 8, and no extra process for few pages.",
    show_default=False,
)
