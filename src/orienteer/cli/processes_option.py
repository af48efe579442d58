"""The option `--processes` of commands that read many pages."""

from __future__ import annotations

from typing import Any

import typer

PROCESSES: Any = typer.Option(
    None,
    "--processes",
    min=1,
    metavar="N",
    help="Read pages by N processes; default: one for each core, at most 8, and none besides this one for few pages.",
    show_default=False,
)
