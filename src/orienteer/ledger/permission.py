"""Permission for settings of a folder that widen network access: the user grants it, not the author of the folder.

Some settings let a crawl reach what it could not reach otherwise: private addresses, a proxy, another address to
connect to, servers without a valid certificate, another fetcher, an object store for the archive. A folder may be
untrusted, so these settings of its crawl.toml apply only if this user has given the same: now, on the command line; or
earlier, in a run that has left a signature in the folder, made with a key that is not in the folder (see
`files/signing`). The signature covers these settings together with the seeds and the scope, so that it is valid in a
copy of the folder, too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orienteer.errors import InputError
from orienteer.files.plain import open_plain, replaced_inside, state_folder
from orienteer.files.signing import is_signed, signature
from orienteer.ledger.plan import CrawlPlan, settings_classes
from orienteer.settings import fields_of, option_word, to_table
from orienteer.store.failures import map_disk_errors
from orienteer.store.folder_view import ALLOWED
from orienteer.wording import plain

_PURPOSE = "what a crawl may reach"
_OPENING = {
    "fetch": ("allow_private", "proxy", "connect_to", "fetcher", "verify_tls", "ca_file"),
    "store": ("archive_to", "endpoint", "region"),
}
_MAX_BYTES = 200

Tables = Mapping[str, Mapping[str, Any]]


def opening_settings(plan: CrawlPlan) -> dict[str, Any]:
    """Return the settings that let a crawl reach more than the defaults do.

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
    """Raise an InputError if the plan opens what this user has not allowed; `given` is allowed by this command."""
    given_items = (tables.get(table, {}).items() for tables in given for table in _OPENING)
    given_names = {name for items in given_items for name, _ in items}
    opened = {name: value for name, value in opening_settings(stored).items() if name not in given_names}
    if not opened or _is_signed(folder, stored):
        return
    settings = ", ".join(f"{name} = {_display(value)}" for name, value in opened.items())
    cannot_store = signature(_PURPOSE, ()) is None
    why = f"and no signature can be stored in {state_folder()}" if cannot_store else "not known to be yours"
    raise InputError(f"{folder}: its crawl.toml has {settings}, {why}; {_advice(opened)}")


def remember_allowed(folder: Path, plan: CrawlPlan) -> None:
    """Sign the plan, which the user runs, so that later commands allow the same; without a key this is not possible."""
    path = folder / ALLOWED
    signed = signature(_PURPOSE, [_content(plan)]) if opening_settings(plan) else None
    with map_disk_errors(path):
        if signed is None:
            path.unlink(missing_ok=True)
        elif not _is_signed(folder, plan):
            with replaced_inside(path) as new:
                new.write_text(signed.hex() + "\n", encoding="ascii")


def _is_signed(folder: Path, plan: CrawlPlan) -> bool:
    path = folder / ALLOWED
    if not path.is_file():
        return False
    with map_disk_errors(path):
        descriptor = open_plain(path, os.O_RDONLY)
        try:
            stored = os.read(descriptor, _MAX_BYTES)
        finally:
            os.close(descriptor)
    try:
        return is_signed(bytes.fromhex(stored.decode("ascii").strip()), _PURPOSE, [_content(plan)])
    except ValueError:
        return False


def _content(plan: CrawlPlan) -> bytes:
    """Return the bytes that are signed."""
    given_names = [opening_settings(plan), plan.crawl.seeds, to_table(plan.scope)]
    return json.dumps(given_names, sort_keys=True).encode()


def _display(value: Any) -> str:
    return plain(json.dumps(value), 200)


def _advice(opened: Mapping[str, Any]) -> str:
    options = [
        plain(option_word(table, known[name], opened[name]), 200)
        for table, known in ((table, fields_of(settings_classes()[table])) for table in _OPENING)
        for name in _OPENING[table]
        if name in opened
    ]
    return f"use {' '.join(options)} to allow it, or change crawl.toml"
