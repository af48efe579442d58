"""The folder of a survey, in DIR/survey: a copy of the crawl without its archive, and the pages that walks needed.

The copy is the measured set: the pages that the crawl has, over all its epochs, in their latest versions, with their
links, their redirects, and the blocked ones. Pages have the same numbers. Duplicates and sessions in URLs are copied,
too, so that new pages are recorded as the crawl itself would record them.

The seed of all walks comes from the system and is stored here. It is signed, so that a survey in an untrusted folder is
not mistaken for the user's own.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from orienteer.errors import InputError
from orienteer.files.signing import is_signed, signature
from orienteer.ledger.plan import CrawlPlan, CrawlSettings
from orienteer.ledger.topic_reading import topic_threshold
from orienteer.pages.states import COUNTS_AS_FETCHED
from orienteer.store.database import Database
from orienteer.store.failures import damaged
from orienteer.store.folder import CrawlFolder, remove_crawl
from orienteer.store.folder_files import settings_of_folder
from orienteer.store.folder_view import FolderView
from orienteer.store.history import DonePages, KnownPages
from orienteer.store.store_settings import StoreSettings
from orienteer.url import session_of

_SURVEY, _WALKS = "survey", "walks"  # keys in the database: MadeFor; the pages where walks entered
_PURPOSE = "the seed of a survey"
_SEED_BYTES = 16
_URLS_AT_ONCE = 50_000
_NOT_ARCHIVED: dict[str, Any] = {"archive_file": None, "archive_offset": None, "archive_bytes": None}


class MadeFor(NamedTuple):
    """What a survey measures: the position of the crawl, that of the first probe, the number of pages of the crawl.

    The surfer starts from the `trusted` pages, those on topic; from the seeds of the crawl where there are none.
    """

    crawl_position: int
    first_probe: int
    n_pages: int
    seed: str
    trusted: tuple[int, ...] = ()


def survey_path(path: Path, on_topic: bool = False) -> Path:
    """Return the path of the survey in a crawl folder."""
    return path / ("survey-on-topic" if on_topic else "survey")


def survey_plan(plan: CrawlPlan) -> CrawlPlan:
    """Return the plan to fetch pages outside: as those of the crawl, with the same scope, and archived."""
    crawl = plan.crawl
    merges = "merge" if crawl.duplicates == "merge" else "off"
    settings = CrawlSettings(
        seeds=crawl.seeds, trust=crawl.trust, policy="breadth-first", damping=crawl.damping, workers=crawl.workers,
        robots=crawl.robots, sitemaps=False, feeds=False, languages=False, duplicates=merges, near_duplicates="off",
        commit_every_s=crawl.commit_every_s, log=crawl.log,
    )  # fmt: skip
    return replace(plan, crawl=settings, store=StoreSettings())


def open_survey(crawl: FolderView, path: Path, plan: CrawlPlan, restart: bool, on_topic: bool = False) -> CrawlFolder:
    """Open or create the folder of a crawl's survey for writing; `restart` removes an earlier survey."""
    _expect_no_crawl(path)
    if restart:
        remove_crawl(path)
    folder = CrawlFolder.open_or_create(path, plan.to_toml())
    try:
        if folder.database.get(_SURVEY) is None:
            _fill(folder, crawl.database, _pages_on_topic(crawl) if on_topic else ())
        elif made_for(folder.database).crawl_position != crawl.database.next_position():
            why = "the crawl has continued since its survey was begun; use --restart to begin a new one"
            raise InputError(f"{crawl.path}: {why}")
        elif bool(made_for(folder.database).trusted) != on_topic:
            who = "every surfer" if on_topic else "a surfer from the pages on topic"
            raise InputError(f"{path}: this survey is of {who}; name another folder with --output, or use --restart")
    except BaseException:
        folder.close()
        raise
    return folder


def _expect_no_crawl(path: Path) -> None:
    """Refuse a crawl that is no survey, so that none is removed or changed; an incomplete survey is empty."""
    if settings_of_folder(path) is None:
        return
    with FolderView.open(path) as folder:
        if folder.database.get(_SURVEY) is None and folder.database.n_urls() > 0:
            raise InputError(f"{path}: there is a crawl in this folder, and no survey; name another one")


def made_for(database: Database) -> MadeFor:
    """Return what the survey in this database measures; it must be signed by this user."""
    stored = database.get(_SURVEY)
    try:
        source = MadeFor(
            int(stored["crawl_position"]), int(stored["first_probe"]), int(stored["n_pages"]), str(stored["seed"]),
            tuple(int(page) for page in stored.get("trusted", ())),
        )  # fmt: skip
        signed = bytes.fromhex(stored["signature"])
    except (KeyError, TypeError, ValueError):
        raise damaged(database.path, "it lacks the description of its survey") from None
    if signature(_PURPOSE, ()) is not None and not is_signed(signed, _PURPOSE, [_content(source)]):
        folder = database.path.parent
        raise InputError(f"{folder}: this survey is not known to be yours; use --restart to make your own")
    return source


def entries_of(database: Database) -> list[int]:
    """Return the pages where the walks so far have entered."""
    entries, n_urls = database.get(_WALKS, []), database.n_urls()
    if not isinstance(entries, list) or not all(isinstance(page, int) and 0 <= page < n_urls for page in entries):
        raise damaged(database.path, "walks begin at unknown pages")
    return entries


def store_entries(database: Database, entries: list[int]) -> None:
    database.set(_WALKS, entries)


def _content(source: MadeFor) -> bytes:
    return " ".join(map(str, (*source[:4], *source.trusted))).encode()


def _pages_on_topic(crawl: FolderView) -> tuple[int, ...]:
    """Return the pages of a crawl that are on its topic."""
    if not crawl.topic_path.exists():
        raise InputError(f"{crawl.path}: this crawl has no topic")
    pages = crawl.database.relevant_pages(topic_threshold(crawl))
    if len(pages) == 0:
        raise InputError(f"{crawl.path}: no page on topic was found, so no surfer starts from there")
    return tuple(pages.tolist())


def _fill(folder: CrawlFolder, crawl: Database, trusted: tuple[int, ...]) -> None:
    """Copy the crawl, all of it in one transaction."""
    copy = folder.database
    n_pages = 0
    for first in range(0, crawl.n_urls(), _URLS_AT_ONCE):
        urls = crawl.urls_between(first, first + _URLS_AT_ONCE)
        copy.add_urls(first, urls)
        _copy_sessions(copy, crawl, urls)
    for events in crawl.pages_after():
        if isinstance(events, KnownPages):
            copy.add_known(events.position, events.pages)
        else:
            n_pages += _copy_pages(copy, crawl, events)
    if n_pages == 0:
        raise InputError(f"{crawl.path.parent}: the crawl has fetched no page yet, so there is nothing to measure")
    source = MadeFor(crawl.next_position(), copy.next_position(), n_pages, secrets.token_hex(_SEED_BYTES), trusted)
    signed = signature(_PURPOSE, [_content(source)]) or b""
    stored: Mapping[str, Any] = source._asdict() | {"signature": signed.hex()}
    copy.set(_SURVEY, stored)
    folder.acknowledge()


def _copy_pages(copy: Database, crawl: Database, events: DonePages) -> int:
    """Copy pages; return how many of them count as fetched."""
    for page, n_unknown in zip(events.pages.tolist(), events.n_unknown.tolist(), strict=True):
        row = crawl.page(page)
        assert row is not None
        copy.add_page(row._replace(**_NOT_ARCHIVED, relevance=None))
        if n_unknown:
            copy.set_unknown(page, crawl.unknown(page))
    return sum(int(state) in COUNTS_AS_FETCHED for state in events.states.tolist())


def _copy_sessions(copy: Database, crawl: Database, urls: list[str]) -> None:
    for session in filter(None, map(session_of, urls)):
        known = crawl.session(session.stripped)
        if known is not None:
            copy.set_session(session.stripped, known)
