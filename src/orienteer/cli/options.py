"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orienteer.errors import InputError
from orienteer.wording import counted, plain

if TYPE_CHECKING:
    from orienteer.hooks import HookFailures
    from orienteer.library.library import Library

HOOK: Any = typer.Option(
    [],
    metavar="NAME|FILE.py",
    help="Run this page hook on each page: an installed one, or a file with a function on_page(page). May be repeated.",
)
# The goal of a crawl of a known graph, where coverage is proved if not stated otherwise.
GRAPH_GOAL = {"until": None, "budget": None, "stop_when": "proved"}
PROCESSES: Any = typer.Option(
    None,
    "--processes",
    min=1,
    metavar="N",
    help="Read pages in N processes; default: one per core, at most 8, and no extra process for few pages.",
    show_default=False,
)
LIBRARY: Any = typer.Option(
    None, "--library", metavar="DIR", help="The folder of crawls; default: ~/.local/share/orienteer/crawls."
)


def chosen_library(path: Path | None, may_be_new: bool = False) -> Library:
    """Return the library at `path`, or the user's default. A given path must exist, unless `may_be_new`."""
    from orienteer.library.library import Library, default_library

    if path is not None and not path.is_dir() and (path.exists() or not may_be_new):
        raise InputError(f"{path}: {'not a folder of crawls' if path.exists() else 'no such folder of crawls'}")
    return Library(default_library() if path is None else path)


def token_of(token: str | None, where: str, only_this_machine: bool) -> str | None:
    """Return the password that clients of a server must send: the given `--token`, or a generated one.

    `where` is the option with the listening address.
    """
    import secrets

    from orienteer.web.security import MIN_TOKEN_CHARS, MIN_TOKEN_VARIETY

    if token is not None and not token.strip():
        raise InputError("--token is empty; give one, or have one generated with --token auto")
    if token is not None and token != "auto" and len(token) < MIN_TOKEN_CHARS:
        raise InputError(
            f"--token has {len(token)} characters and could be guessed; it needs {MIN_TOKEN_CHARS}, or say --token auto"
        )
    if token is not None and token != "auto" and len(set(token)) < MIN_TOKEN_VARIETY:
        raise InputError(
            f"--token has {len(set(token))} different characters and could be guessed; it needs {MIN_TOKEN_VARIETY}, "
            "or say --token auto"
        )
    if token is None and not only_this_machine:
        raise InputError(f"{where} can be reached from other machines: give --token T, or --token auto")
    return secrets.token_urlsafe(18) if token == "auto" else token


def describe_failures(failures: Mapping[str, HookFailures]) -> list[str]:
    """Return a line for each hook that failed."""
    return [
        f"{plain(name, 100)} on {counted(failed.n, 'page')} (it added nothing there); first {failed.first}"
        for name, failed in failures.items()
    ]
