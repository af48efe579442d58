"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orienteer.errors import InputError

if TYPE_CHECKING:
    from orienteer.hooks import HookFailures
    from orienteer.library.library import Library

HOOK: Any = typer.Option(
    [],
    metavar="NAME|FILE.py",
    help="Run this page hook on each page: an installed one, or a file with a function on_page(page). May be repeated.",
)
NO_HOOKS: Any = typer.Option(
    False, "--no-hooks", hidden=True, help="Run no hooks, not even those that the crawl was started with."
)
CREDENTIALS: Any = typer.Option(
    None,
    "--credentials",
    metavar="FILE",
    help="TOML file with headers, cookies, certificates and logins by host, outside the crawl folder. It is not "
    "copied: name it again to resume.",
    rich_help_panel="Network",
)
CLUSTER: Any = typer.Option(
    None,
    "--cluster",
    metavar="local-ray|HOST:PORT",
    hidden=True,
    help="Run the workers on Ray (extra: ray): local-ray, or the cluster at HOST:PORT. For this run only.",
    rich_help_panel="Network",
)
BROWSER: Any = typer.Option(
    None,
    "--browser",
    metavar="PATH",
    hidden=True,
    help="Path of the browser, any Chromium; default: the first one found. For this run only.",
    rich_help_panel="Network",
)
STOP_WHEN: Any = typer.Option(
    "proved",
    metavar="measured:C|proved",
    help="When the coverage counts as reached: proved, or measured:0.999, which also measures it by random walks with "
    "this confidence and stops at the first of the two. Added after a comma: certificate, reachable, as in orienteer "
    "crawl.",
)
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
    from orienteer.wording import counted, plain

    return [
        f"{plain(name, 100)} on {counted(failed.n, 'page')} (it added nothing there); first {failed.first}"
        for name, failed in failures.items()
    ]
