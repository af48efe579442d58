"""What the settings of a folder may open is up to the user, and not to whoever wrote the folder.

Some settings let a crawl reach what it could not reach otherwise: private addresses, a proxy, another place to connect
to, servers without a valid certificate, another fetcher, an object store for the archive. A folder may come from a
stranger, so its crawl.toml is obeyed in these only where this user has said the same: just now, on the command line; or
earlier, in a run that has left a signature in the folder, made with a key that the folder does not hold (see
`files/signing`). It is of these settings together with the seeds and the scope, so that a copy of the folder is as good
as the folder itself.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orienteer.errors import InputError
from orienteer.files.plain import open_plain, replaced_inside
from orienteer.files.signing import is_signed, signature
from orienteer.files.user_folders import state_folder
from orienteer.ledger.plan import CrawlPlan
from orienteer.settings import to_table
from orienteer.store.failures import explained
from orienteer.store.folder_files import ALLOWED
from orienteer.wording import plain

_PURPOSE = "what a crawl may reach"
_OPENING = {
    "fetch": ("allow_private", "proxy", "connect_to", "fetcher", "verify_tls", "ca_file"),
    "store": ("archive_to", "endpoint", "region"),
}
_OPTIONS = {"proxy": "--proxy", "connect_to": "--connect-to", "fetcher": "--fetcher", "archive_to": "--archive-to"}
_MAX_BYTES = 200

Tables = Mapping[str, Mapping[str, Any]]


def opening_settings(plan: CrawlPlan) -> dict[str, Any]:
    """Those that let a crawl reach more than the defaults do.

    >>> tables = {"crawl": {"seeds": ["a.example"]}, "fetch": {"timeout_s": 5.0, "allow_private": True}}
    >>> opening_settings(CrawlPlan.of_tables(tables, "settings"))
    {'allow_private': True}
    """
    opened: dict[str, Any] = {}
    for table, names in _OPENING.items():
        settings = getattr(plan, table)
        defaults = type(settings)()
        values = {name: getattr(settings, name) for name in names}
        opened |= {name: value for name, value in values.items() if value != getattr(defaults, name)}
    return opened


def expect_allowed(folder: Path, stored: CrawlPlan, *given: Tables) -> None:
    """Refuse the plan of a folder where it opens what this user has not allowed; `given` is said just now."""
    named = (tables.get(table, {}).items() for tables in given for table in _OPENING)
    said = {name for items in named for name, value in items if value is not None}
    wanted = {name: value for name, value in opening_settings(stored).items() if name not in said}
    if not wanted or _is_signed(folder, stored):
        return
    settings = ", ".join(f"{name} = {_shown(value)}" for name, value in wanted.items())
    unkept = signature(_PURPOSE, ()) is None
    why = f"and nothing can be kept in {state_folder()} that says you want it" if unkept else "not known to be yours"
    raise InputError(f"{folder}: its crawl.toml has {settings}, {why}; {_advice(wanted)}")


def remember_allowed(folder: Path, plan: CrawlPlan) -> None:
    """The user runs this plan: the folder may open the same from now on, as far as that can be kept."""
    path = folder / ALLOWED
    signed = signature(_PURPOSE, [_content(plan)]) if opening_settings(plan) else None
    with explained(path):
        if signed is None:
            path.unlink(missing_ok=True)
        elif not _is_signed(folder, plan):
            with replaced_inside(path) as new:
                new.write_text(signed.hex() + "\n", encoding="ascii")


def _is_signed(folder: Path, plan: CrawlPlan) -> bool:
    path = folder / ALLOWED
    if not path.is_file():
        return False
    with explained(path):
        descriptor = open_plain(path, os.O_RDONLY)
        try:
            found = os.read(descriptor, _MAX_BYTES)
        finally:
            os.close(descriptor)
    try:
        return is_signed(bytes.fromhex(found.decode("ascii").strip()), _PURPOSE, [_content(plan)])
    except ValueError:
        return False


def _content(plan: CrawlPlan) -> bytes:
    """What is signed."""
    said = [opening_settings(plan), plan.crawl.seeds, to_table(plan.scope)]
    return json.dumps(said, sort_keys=True).encode()


def _shown(value: Any) -> str:
    return plain(json.dumps(value), 200)


def _advice(wanted: Mapping[str, Any]) -> str:
    options = ["--allow-private"] if wanted.get("allow_private") else []
    options += [f"{_OPTIONS[name]} {plain(str(value), 200)}" for name, value in wanted.items() if name in _OPTIONS]
    others = [name for name in wanted if name not in _OPTIONS and name != "allow_private"]
    ways = ([f"say {' '.join(options)} to allow it"] if options else []) + (
        [f"put {' and '.join(others)} into a file of your own and name it with --settings"] if others else []
    )
    return f"{', and '.join(ways)}, or change crawl.toml"
