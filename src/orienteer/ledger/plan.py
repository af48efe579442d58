"""The plan of a crawl: all its settings, as in `crawl.toml` in the crawl folder.

    [crawl]        seeds and their trust, policy, goal, number of concurrent fetches
    [scope]        which pages belong to it
    [politeness]   how often a host may be requested
    [fetch]        how a page is fetched: limits, user agent, proxy
    [retry]        when failed requests are repeated
    [refresh]      how pages are revisited
    [render]       which pages are rendered in a browser
    [store]        where the archive is stored

Some settings identify the crawl: its seeds, trust, policy, damping and scope. They never change within a folder, since
that would change the meaning of the certificate. The others may change from one run to the next.

Some settings let a crawl reach what it could not reach otherwise: private addresses, a proxy, another address to
connect to, servers without a valid certificate, another fetcher, an object store for the archive. A folder may be
untrusted, so these settings of its crawl.toml apply only if this user has given the same: now, on the command line; or
earlier, in a run that has left a signature in the folder, made with a key that is not in the folder (see
`files/signing`). The signature covers these settings together with the seeds and the scope, so that it is valid in a
copy of the folder, too.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orienteer.browser.job import RenderSettings
from orienteer.crawl.politeness import Politeness, RetrySettings
from orienteer.errors import InputError, unknown_name
from orienteer.fetch.settings import FetchSettings
from orienteer.ledger.settings import MEASURED, CrawlSettings, RefreshSettings, ScopeSettings
from orienteer.settings import Tables, fields_of, from_table, to_table
from orienteer.store.object_store import StoreSettings

if TYPE_CHECKING:
    from orienteer.crawl.goal import Goal
    from orienteer.store.folder_view import FolderFiles
import json
import os

from orienteer.files.plain import open_plain, replaced_inside, state_folder
from orienteer.files.signing import is_signed, signature
from orienteer.settings import option_word
from orienteer.store.failures import map_disk_errors
from orienteer.wording import plain

# Keys of crawl.toml in folders of earlier versions, by table, with the names that they have now.
OLD_KEYS = {
    "crawl": {"requisites": "assets"},
    "fetch": {"max_part_bytes": "max_asset_bytes"},
    "render": {"max_parts": "max_requests"},
}


@dataclass(frozen=True)
class CrawlPlan:
    """All settings of a crawl: a field for each table."""

    crawl: CrawlSettings
    scope: ScopeSettings = field(default_factory=ScopeSettings)
    politeness: Politeness = field(default_factory=Politeness)
    fetch: FetchSettings = field(default_factory=FetchSettings)
    retry: RetrySettings = field(default_factory=RetrySettings)
    refresh: RefreshSettings = field(default_factory=RefreshSettings)
    render: RenderSettings = field(default_factory=RenderSettings)
    store: StoreSettings = field(default_factory=StoreSettings)

    @classmethod
    def of_tables(cls, tables: Tables, where: str) -> CrawlPlan:
        """Build the plan from these tables; raise an InputError of one line if they are invalid."""
        kinds = settings_classes()
        for name in tables:
            if name not in kinds:
                raise unknown_name(f"table in {where}", name, kinds)
        return cls(**{
            name: from_table(kind, tables.get(name, {}), f"{where} [{name}]") for name, kind in kinds.items()
        })  # fmt: skip

    @classmethod
    def of_folder(cls, folder: FolderFiles) -> CrawlPlan:
        """Read the plan of the crawl in this folder."""
        return cls.parse(folder.settings_text, str(folder.settings_path))

    @classmethod
    def parse(cls, text: str, where: str) -> CrawlPlan:
        """Parse a plan in TOML."""
        return cls.of_tables(tables_of(text, where), where)

    def to_toml(self) -> str:
        import tomli_w

        return tomli_w.dumps({table.name: to_table(getattr(self, table.name)) for table in fields(self)})

    def continued(self, new: CrawlPlan) -> CrawlPlan:
        """Return the plan to resume this crawl with new settings; raise InputError if they identify another crawl."""
        for table, kind in settings_classes().items():
            for name in (one.name for one in fields_of(kind).values() if one.about.fixed):
                old, now = (getattr(getattr(plan, table), name) for plan in (self, new))
                if old != now:
                    what = name if table == "crawl" else f"{table}.{name}"
                    raise InputError(
                        f"this crawl was begun with {what} {_display(old)}, not {_display(now)}; "
                        "choose another -o for a new crawl"
                    )
        return new

    def goal(self) -> Goal:
        return self.crawl.goal()


def settings_classes() -> dict[str, type[Any]]:
    """Return the settings class of each table."""
    return typing.get_type_hints(CrawlPlan)


def tables_of(text: str, where: str) -> dict[str, dict[str, Any]]:
    """Parse the tables of a settings file, which may be of an earlier version; `where` names it in messages."""
    import tomllib

    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where}: {error}") from None
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise InputError(f"{where}: {name} is outside a table; settings belong under a heading such as [crawl]")
    return {name: _with_new_keys(name, table) for name, table in tables.items()}


def _with_new_keys(name: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table with the current names of its keys; a key under its new name wins."""
    new_keys = OLD_KEYS.get(name, {})
    renamed = {new_keys[key]: value for key, value in table.items() if key in new_keys}
    known = renamed | {key: value for key, value in table.items() if key not in new_keys}
    return _with_stop_when(known) if name == "crawl" else known


def _with_stop_when(table: dict[str, Any]) -> dict[str, Any]:
    """Return the table [crawl] with `stop_when` in place of four keys of earlier versions."""
    keys = ("proof", "confidence", "by_certificate", "of_reachable")
    old: dict[str, Any] = {key: table.pop(key) for key in keys if key in table}
    if not old:
        return table
    how = "proved" if old.get("proof") else f"measured:{old['confidence']}" if "confidence" in old else MEASURED
    more = [word for key, word in (("by_certificate", "certificate"), ("of_reachable", "reachable")) if old.get(key)]
    return {"stop_when": ",".join([how, *more])} | table


def _display(value: Any) -> str:
    return ", ".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)


def default_folder(seeds: Sequence[str]) -> Path:
    """Return the folder of a crawl from these URLs, if none is named: `example.org-crawl`."""
    from orienteer.url import host_of

    return Path(host_of(seeds[0]).replace(":", "-") + "-crawl")


_PURPOSE = "what a crawl may reach"
_OPENING = {
    "fetch": ("allow_private", "proxy", "connect_to", "fetcher", "verify_tls", "ca_file"),
    "store": ("archive_to", "endpoint", "region"),
}
_MAX_BYTES = 200


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
    settings = ", ".join(f"{name} = {_as_json(value)}" for name, value in opened.items())
    cannot_store = signature(_PURPOSE, ()) is None
    why = f"and no signature can be stored in {state_folder()}" if cannot_store else "not known to be yours"
    raise InputError(f"{folder}: its crawl.toml has {settings}, {why}; {_advice(opened)}")


def remember_allowed(folder: Path, plan: CrawlPlan) -> None:
    """Sign the plan, which the user runs, so that later commands allow the same; without a key this is not possible."""
    from orienteer.store.folder_view import ALLOWED

    path = folder / ALLOWED
    signed = signature(_PURPOSE, [_content(plan)]) if opening_settings(plan) else None
    with map_disk_errors(path):
        if signed is None:
            path.unlink(missing_ok=True)
        elif not _is_signed(folder, plan):
            with replaced_inside(path) as new:
                new.write_text(signed.hex() + "\n", encoding="ascii")


def _is_signed(folder: Path, plan: CrawlPlan) -> bool:
    from orienteer.store.folder_view import ALLOWED

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


def _as_json(value: Any) -> str:
    return plain(json.dumps(value), 200)


def _advice(opened: Mapping[str, Any]) -> str:
    options = [
        plain(option_word(table, known[name], opened[name]), 200)
        for table, known in ((table, fields_of(settings_classes()[table])) for table in _OPENING)
        for name in _OPENING[table]
        if name in opened
    ]
    return f"use {' '.join(options)} to allow it, or change crawl.toml"
