"""The option `--hook`, and the report of hooks that failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from orienteer.cli.wording import counted, plain

if TYPE_CHECKING:
    from orienteer.hooks.page_hooks import HookFailures

HOOK: Any = typer.Option(
    [],
    metavar="NAME|FILE.py",
    help="Run this page hook on each page: an installed one, or a file with a function on_page(page). May be repeated.",
)


def describe_failures(failures: Mapping[str, HookFailures]) -> list[str]:
    """Return a line for each hook that failed."""
    return [
        f"{plain(name, 100)} on {counted(failed.n, 'page')} (it added nothing there); first {failed.first}"
        for name, failed in failures.items()
    ]
