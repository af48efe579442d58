"""The option `--hook`, and what is told of hooks that failed."""

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
    help="Run this on each page: an installed page hook, or a file with a function on_page(page). May be repeated.",
)


def failures_in_words(failures: Mapping[str, HookFailures]) -> list[str]:
    """A line for each hook that failed."""
    return [
        f"{plain(name, 100)} on {counted(failed.n, 'page')} (it added nothing there); first {failed.first}"
        for name, failed in failures.items()
    ]
