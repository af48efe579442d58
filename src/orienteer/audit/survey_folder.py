"""The folder of a survey, in DIR/survey: a copy of the crawl without its archive, and the pages that walks needed.

The copy is what is measured: the pages that the crawl has, over all its epochs, each as it was seen last, with their
links, their redirects, and what was blocked. Pages keep their numbers. What was found out about repeated pages and
about sessions in URLs comes along, so that new pages are taken in as the crawl itself would.

The seed of all walks comes from the system and stands here. It is signed: a survey that a stranger has left in a folder
is no survey of ours.
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

_SURVEY, _WALKS = "survey", "walks"  # in the database: what it was made for; where walks entered
_PURPOSE = "the seed of a survey"
_SEED_BYTES = 16
_URLS_AT_ONCE = 50_000
_NOT_ARCHIVED: dict[str, Any] = {"archive_file": None, "archive_offset": None, "archive_bytes": None}


class MadeFor(NamedTuple):
    """What a survey was made for: where the crawl was, the position of the first probe, pages that the crawl has.

    The surfer starts from the `trusted` pages, those on topic; from the seeds of the crawl where there are none.
    """

    crawl_position: int
    first_probe: int
    n_pages: int
    seed: str
    trusted: tuple[int, ...] = ()


def survey_of(path: Path, on_topic: bool = False) -> Path:
    """Where a crawl folder has the folder of its survey."""
    return path / ("survey-on-topic" if on_topic else "survey")


def survey_plan(plan: CrawlPlan) -> CrawlPlan:
    """How the pages outside are fetched: as those of the crawl, with the same scope, and archived."""
    crawl = plan.crawl
    merges = "merge" if crawl.duplicates == "merge" else "off"
    settings = CrawlSettings(
        seeds=crawl.seeds, trust=crawl.trust, policy="breadth-first", damping=crawl.damping, workers=crawl.workers,
        robots=crawl.robots, sitemaps=False, feeds=False, languages=False, duplicates=merges, near_duplicates="off",
        commit_every_s=crawl.commit_every_s, log=crawl.log,
    )  # fmt: skip
    return replace(plan, crawl=settings, store=StoreSettings())


def opened_survey(crawl: FolderView, place: Path, plan: CrawlPlan, again: bool, on_topic: bool = False) -> CrawlFolder:
    """The folder of the survey of a crawl, for writing, made if need be; `again`: what is there is removed."""
    _expect_no_crawl(place)
    if again:
        remove_crawl(place)
    folder = CrawlFolder.open_or_create(place, plan.to_toml())
    try:
        if folder.database.get(_SURVEY) is None:
            _fill(folder, crawl.database, _pages_on_topic(crawl) if on_topic else ())
        elif made_for(folder.database).crawl_position != crawl.database.next_position():
            why = "the crawl has continued since its survey was begun; use --again to begin a new one"
            raise InputError(f"{crawl.path}: {why}")
        elif bool(made_for(folder.database).trusted) != on_topic:
            whose = "every surfer" if on_topic else "a surfer from the pages on topic"
            raise InputError(f"{place}: this survey is of {whose}; name another folder with --output, or use --again")
    except BaseException:
        folder.close()
        raise
    return folder


def _expect_no_crawl(place: Path) -> None:
    """A crawl that is no survey is neither removed nor written to. One that was not made to its end is empty."""
    if settings_of_folder(place) is None:
        return
    with FolderView.open(place) as folder:
        if folder.database.get(_SURVEY) is None and folder.database.n_urls() > 0:
            raise InputError(f"{place}: there is a crawl in this folder, and no survey; name another one")


def made_for(database: Database) -> MadeFor:
    """What the survey in this database was made for; it must be this user's."""
    kept = database.get(_SURVEY)
    try:
        found = MadeFor(int(kept["crawl_position"]), int(kept["first_probe"]), int(kept["n_pages"]), str(kept["seed"]),
                        tuple(int(page) for page in kept.get("trusted", ())))  # fmt: skip
        signed = bytes.fromhex(kept["signature"])
    except (KeyError, TypeError, ValueError):
        raise damaged(database.path, "it does not say what the survey was made for") from None
    if signature(_PURPOSE, ()) is not None and not is_signed(signed, _PURPOSE, [_content(found)]):
        raise InputError(f"{database.path.parent}: this survey is not known to be yours; use --again to make your own")
    return found


def entries_of(database: Database) -> list[int]:
    """The pages where the walks so far have entered."""
    entries, n_urls = database.get(_WALKS, []), database.n_urls()
    if not isinstance(entries, list) or not all(isinstance(page, int) and 0 <= page < n_urls for page in entries):
        raise damaged(database.path, "walks begin where no page is")
    return entries


def keep_entries(database: Database, entries: list[int]) -> None:
    database.set(_WALKS, entries)


def _content(found: MadeFor) -> bytes:
    return " ".join(map(str, (*found[:4], *found.trusted))).encode()


def _pages_on_topic(crawl: FolderView) -> tuple[int, ...]:
    """The pages of a crawl that are on its topic."""
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
    found = MadeFor(crawl.next_position(), copy.next_position(), n_pages, secrets.token_hex(_SEED_BYTES), trusted)
    signed = signature(_PURPOSE, [_content(found)]) or b""
    kept: Mapping[str, Any] = found._asdict() | {"signature": signed.hex()}
    copy.set(_SURVEY, kept)
    folder.acknowledge()


def _copy_pages(copy: Database, crawl: Database, events: DonePages) -> int:
    """How many of them count as fetched."""
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
