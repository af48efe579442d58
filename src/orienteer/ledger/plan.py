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
"""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orienteer.browser.job import RenderSettings
from orienteer.errors import InputError, unknown_name
from orienteer.fetch.settings import FetchSettings
from orienteer.frontier.host_health import RetrySettings
from orienteer.frontier.politeness import Politeness
from orienteer.ledger.settings import MEASURED, CrawlSettings, RefreshSettings, ScopeSettings
from orienteer.settings import Tables, fields_of, from_table, to_table
from orienteer.store.object_store import StoreSettings

if TYPE_CHECKING:
    from orienteer.crawl.goal import Goal
    from orienteer.store.folder_view import FolderFiles

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
