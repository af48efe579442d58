"""Measure how complete a crawl is: fetch the pages outside that walks need, until the coverage is measured precisely.

A survey is a side crawl in DIR/survey. It begins with a copy of the crawl without its archive: the pages that the crawl
has, over all its epochs, in their latest versions, with their links, their redirects, and the blocked ones. Pages have
the same numbers. Duplicates and sessions in URLs are copied, too, so that new pages are recorded as the crawl itself
would record them.

The seed of all walks comes from the system and is stored here. It is signed, so that a survey in an untrusted folder is
not mistaken for the user's own.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from orienteer.crawl.crawl import Crawl
from orienteer.errors import InputError
from orienteer.files.signing import is_signed, signature
from orienteer.graph.defaults import SurveyGoal
from orienteer.graph.growing_graph import GrowingGraph, PageHosts
from orienteer.graph.push import LinkRows
from orienteer.graph.survey.fixed_walks import FixedWalks
from orienteer.graph.survey.survey import FixedSurvey
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.settings import CrawlSettings
from orienteer.ledger.topic_reading import topic_threshold
from orienteer.live.live_crawl import LiveCrawl, StopRequest
from orienteer.pages.states import COUNTS_AS_FETCHED
from orienteer.policies.policy import NO_CHANGE, Policy, Priorities, TrustedPages
from orienteer.settings import Tables
from orienteer.side_crawls.side_crawl import (
    ONLY_SELECTED,
    SideCrawlSetup,
    changed_plan,
    expect_position,
    live_side_crawl,
    open_side_folder,
)
from orienteer.side_crawls.survey_report import N_GAPS, Names, SurveyReport, survey_report
from orienteer.store.database import Database
from orienteer.store.failures import damaged
from orienteer.store.folder import CrawlFolder
from orienteer.store.folder_view import FolderFiles, FolderView, settings_of_folder
from orienteer.store.history import DonePages, KnownPages
from orienteer.store.object_store import StoreSettings
from orienteer.url import session_of

_SURVEY, _WALKS = "survey", "walks"  # keys in the database: MadeFor; the pages where walks entered
_PURPOSE = "the seed of a survey"
_SEED_BYTES = 16
_URLS_AT_ONCE = 50_000
_NOT_ARCHIVED: dict[str, Any] = {"archive_file": None, "archive_offset": None, "archive_bytes": None}

UrlsOf = Callable[[Sequence[int]], list[str]]


class Probes(Policy):
    """The policy: it requests the pages that the walks need; those of walks that began earlier come first.

    It does nothing while the measured crawl is replayed. Then the walks begin: first the earlier ones, into which the
    pages fetched since are replayed.

    Pages are numbered as they are discovered, which depends on the order of responses. Walks must not depend on it:
    they see a page's links in the order of their URLs. So the same seed gives the same walks, whatever the order.
    """

    name: ClassVar[str] = "survey"
    follows_links: ClassVar[bool] = False

    def __init__(self, damping: float = 0.85) -> None:
        self.damping = damping
        self.walks: FixedWalks | None = None
        self._crawl: Crawl | None = None
        self._urls_of: UrlsOf | None = None
        self._is_in_flight = False

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        return NO_CHANGE

    def begin_walks(
        self, crawl: Crawl, urls_of: UrlsOf, seed: str, goal: SurveyGoal, width: int, entries: list[int]
    ) -> None:
        """Begin walks with the present state of the Crawl as the measured set; `entries` are those of earlier walks."""
        self._urls_of = urls_of
        links = LinkRows.of(crawl.web)
        fixed = crawl.coverage.rebuilt(crawl.trusted.vector(crawl.web.n_pages), links)
        fixed.grow_to(crawl.web.n_pages)
        self._crawl = crawl
        self.walks = FixedWalks(FixedSurvey(fixed, links, seed, goal.confidence), goal, width)
        self.walks.restart(entries, links)

    def start_requests(self) -> Priorities:
        """Request pages from now on, after the replay."""
        assert self._crawl is not None
        self._is_in_flight = True
        return self._needed_pages(self._crawl.web)

    def fetched(self, page: int, web: GrowingGraph) -> Priorities:
        return self._record_page(page, True, web)

    def lost(self, page: int, web: GrowingGraph) -> Priorities:
        return self._record_page(page, False, web)

    def _record_page(self, page: int, is_fetched: bool, web: GrowingGraph) -> Priorities:
        if self.walks is None or self._crawl is None:
            return NO_CHANGE
        self._order_links(page, web)
        self.walks.survey.copy_page_state(page, self._crawl.coverage)
        self.walks.record_page(page, is_fetched, LinkRows.of(web))
        return self._needed_pages(web) if self._is_in_flight else NO_CHANGE

    def _order_links(self, page: int, web: GrowingGraph) -> None:
        """Sort the links of a page in place, by URL."""
        assert self._urls_of is not None
        row = web.links(page)
        urls = dict(zip(row.tolist(), self._urls_of(row.tolist()), strict=True))
        row[:] = sorted(urls, key=urls.__getitem__)

    def _needed_pages(self, web: GrowingGraph) -> Priorities:
        assert self.walks is not None
        needed = self.walks.advance(LinkRows.of(web))
        if not needed:
            return NO_CHANGE
        pages, lives = zip(*needed, strict=True)
        return Priorities(np.array(pages, np.uint32), 1.0 / (1.0 + np.array(lives, np.float64)))


class MadeFor(NamedTuple):
    """What a survey measures: the position of the crawl, that of the first probe, the number of pages of the crawl.

    The surfer starts from the `trusted` pages, those on topic; from the seeds of the crawl where there are none.
    """

    crawl_position: int
    first_probe: int
    n_pages: int
    seed: str
    trusted: tuple[int, ...] = ()


class SurveySetup(SideCrawlSetup):
    """The setup of a survey: the walks begin once the measured crawl has been replayed.

    The selections are the pages where walks have entered: so these can be checked, and resume on a machine with another
    rounding.
    """

    selections_key = _WALKS
    widens_scope = False  # the measured web does not change

    def __init__(self, folder: FolderFiles, plan: CrawlPlan, goal: SurveyGoal) -> None:
        super().__init__(folder, plan, range(folder.database.urls.count()), "walks begin at unknown pages")
        self.goal = goal
        self.made_for = made_for(folder.database)

    @property
    def walks(self) -> FixedWalks:
        assert self.probes.walks is not None  # the replay ends before the ledger exists
        return self.probes.walks

    def new_crawl(self, hosts: PageHosts) -> Crawl:
        on_topic = np.array(self.made_for.trusted, np.uint32)
        if len(on_topic):
            trusted = TrustedPages(on_topic, np.full(len(on_topic), 1 / len(on_topic)))
        else:
            seeds = np.arange(len(self.plan.crawl.seeds), dtype=np.uint32)
            trusted = TrustedPages(seeds, self.plan.crawl.seed_trust())
        self.probes = Probes(self.plan.crawl.damping)
        self.crawl = self.crawl_with(self.probes, trusted, hosts)
        return self.crawl

    def history(self, database: Database) -> Iterator[DonePages | KnownPages]:
        """Yield the events of the crawl, begin the walks, yield the probes so far, then request pages."""
        first = self.made_for.first_probe
        yield from _before(super().history(database), first)
        self.crawl.drop_waiting()  # pages from sitemaps
        self.probes.begin_walks(
            self.crawl,
            database.urls.of_all,
            self.made_for.seed,
            self.goal,
            self.plan.crawl.workers,
            self.stored_selections,
        )
        yield from database.history.pages_after(first - 1)
        needed = self.probes.start_requests()
        self.crawl.prioritize(needed.pages, needed.values)

    def selections(self) -> list[int]:
        return self.walks.survey.lives.entries.tolist()


def _before(history: Iterator[DonePages | KnownPages], position: int) -> Iterator[DonePages | KnownPages]:
    """Yield the events before a position."""
    for events in history:
        if isinstance(events, KnownPages) or events.positions[-1] < position:
            yield events
            continue
        if len((earlier := events.before(position)).pages):
            yield earlier
        return


def _survey_plan(plan: CrawlPlan) -> CrawlPlan:
    """Return the plan to fetch pages outside: as those of the crawl, with the same scope, and archived."""
    crawl = plan.crawl
    merges = "merge" if crawl.duplicates == "merge" else "off"
    settings = CrawlSettings(
        seeds=crawl.seeds, trust=crawl.trust, damping=crawl.damping, workers=crawl.workers, robots=crawl.robots,
        duplicates=merges, commit_every_s=crawl.commit_every_s, log=crawl.log, **ONLY_SELECTED,
    )  # fmt: skip
    return replace(plan, crawl=settings, store=StoreSettings())


def _begin(folder: CrawlFolder, crawl: FolderView, on_topic: bool) -> None:
    """Copy the crawl into a new folder; check that another one is a survey of it, for the same surfer."""
    if folder.database.meta.get(_SURVEY) is None:
        _fill(folder, crawl.database, _pages_on_topic(crawl) if on_topic else ())
        return
    source = made_for(folder.database)
    expect_position(crawl, source.crawl_position, "survey was begun; use --restart to begin a new one")
    if bool(source.trusted) != on_topic:
        who = "every surfer" if on_topic else "a surfer from the pages on topic"
        raise InputError(f"{folder.path}: this survey is of {who}; name another folder with --output, or use --restart")


def _expect_no_crawl(path: Path) -> None:
    """Refuse a crawl that is no survey, so that none is removed or changed; an incomplete survey is empty."""
    if settings_of_folder(path) is None:
        return
    with FolderView.open(path) as folder:
        if folder.database.meta.get(_SURVEY) is None and folder.database.urls.count() > 0:
            raise InputError(f"{path}: there is a crawl in this folder, and no survey; name another one")


def made_for(database: Database) -> MadeFor:
    """Return what the survey in this database measures; it must be signed by this user."""
    stored = database.meta.get(_SURVEY)
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


def _content(source: MadeFor) -> bytes:
    return " ".join(map(str, (*source[:4], *source.trusted))).encode()


def _pages_on_topic(crawl: FolderView) -> tuple[int, ...]:
    """Return the pages of a crawl that are on its topic."""
    if not crawl.topic_path.exists():
        raise InputError(f"{crawl.path}: this crawl has no topic")
    pages = crawl.database.pages.relevant(topic_threshold(crawl))
    if len(pages) == 0:
        raise InputError(f"{crawl.path}: no page on topic was found, so no surfer starts from there")
    return tuple(pages.tolist())


def _fill(folder: CrawlFolder, crawl: Database, trusted: tuple[int, ...]) -> None:
    """Copy the crawl, all of it in one transaction."""
    copy = folder.database
    n_pages = 0
    for first in range(0, crawl.urls.count(), _URLS_AT_ONCE):
        urls = crawl.urls.between(first, first + _URLS_AT_ONCE)
        copy.urls.add(first, urls)
        _copy_sessions(copy, crawl, urls)
    for events in crawl.history.pages_after():
        if isinstance(events, KnownPages):
            copy.history.add_known(events.position, events.pages)
        else:
            n_pages += _copy_pages(copy, crawl, events)
    if n_pages == 0:
        raise InputError(f"{crawl.path.parent}: the crawl has fetched no page yet, so there is nothing to measure")
    source = MadeFor(
        crawl.history.next_position(), copy.history.next_position(), n_pages, secrets.token_hex(_SEED_BYTES), trusted
    )
    signed = signature(_PURPOSE, [_content(source)]) or b""
    stored: Mapping[str, Any] = source._asdict() | {"signature": signed.hex()}
    copy.meta.set(_SURVEY, stored)
    folder.acknowledge()


def _copy_pages(copy: Database, crawl: Database, events: DonePages) -> int:
    """Copy pages; return how many of them count as fetched."""
    for page, n_unknown in zip(events.pages.tolist(), events.n_unknown.tolist(), strict=True):
        row = crawl.pages.row(page)
        assert row is not None
        copy.pages.add(row._replace(**_NOT_ARCHIVED, relevance=None))
        if n_unknown:
            copy.details.set_unknown(page, crawl.details.unknown(page))
    return sum(int(state) in COUNTS_AS_FETCHED for state in events.states.tolist())


def _copy_sessions(copy: Database, crawl: Database, urls: list[str]) -> None:
    for session in filter(None, map(session_of, urls)):
        known = crawl.details.session(session.stripped)
        if known is not None:
            copy.details.set_session(session.stripped, known)


class OpenSurvey(NamedTuple):
    """A survey that is ready to run: its folder, locked, and the crawl of pages outside."""

    source: Path
    folder: CrawlFolder
    live: LiveCrawl
    setup: SurveySetup

    def run(self, watch: Callable[[FixedWalks], None] | None = None, n_gaps: int = N_GAPS) -> SurveyReport:
        """Fetch until the goal is reached or it is interrupted; the result is in the folder as report.json."""
        walks = self.setup.walks

        def tick() -> None:
            if walks.stopped_because is not None:
                self.live.stop_level = max(self.live.stop_level, 1)  # waiting pages are not needed any more
            elif watch is not None:
                watch(walks)

        began = time.monotonic()
        if walks.stopped_because is None:
            self.live.run(tick)
        self.live.ledger.acknowledge()
        names = Names.of_urls(self.live.ledger.database.urls.of_all)
        outcomes = dict(self.live.intake.outcomes.most_common())
        n_pages = self.setup.made_for.n_pages
        report = survey_report(walks, names, n_gaps, str(self.source), n_pages, outcomes, began)
        self.folder.write_report(report.as_dict())
        return report


@contextmanager
def open_live_survey(
    path: Path, goal: SurveyGoal, output: Path | None = None, restart: bool = False, overrides: Tables | None = None,
    on_topic: bool = False,
) -> Iterator[OpenSurvey]:  # fmt: skip
    """Open the survey of the crawl in this folder, ready to run; `restart` removes an earlier one.

    Pages are fetched with the settings of the crawl, changed by `overrides`, as tables of crawl.toml. The survey has
    its own folder, `output`, or DIR/survey. Nothing else in the crawl folder changes. With `on_topic` the surfer starts
    from the pages on the topic of the crawl, all trusted alike.
    """
    place = output or path / ("survey-on-topic" if on_topic else "survey")
    with FolderView.open(path) as crawl:
        changed = changed_plan(crawl, overrides or {})
        if access := CrawlPlan.of_folder(crawl).crawl.access:
            names = ", ".join(access)
            raise InputError(f"{path}: it has access to {names}; a survey cannot log in there yet")
        _expect_no_crawl(place)
        plan = _survey_plan(changed)
        folder = open_side_folder(place, plan, restart, lambda folder: _begin(folder, crawl, on_topic))
    with folder:
        setup = SurveySetup(folder, plan, goal)
        with live_side_crawl(folder, setup) as live:
            yield OpenSurvey(path, folder, live, setup)


def live_survey(
    path: str | Path,
    goal: SurveyGoal | None = None,
    *,
    output: str | Path | None = None,
    restart: bool = False,
    on_topic: bool = False,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    watch: Callable[[FixedWalks], None] | None = None,
    stop: StopRequest | None = None,
) -> SurveyReport:
    """Measure how complete a crawl is; a second call resumes an unfinished survey.

    With `on_topic` it is measured for a surfer who starts from the pages on the topic of the crawl. `settings` are
    tables as in crawl.toml that override those of the crawl. `watch` is called regularly while it runs;
    `stop` may be asked to end it.
    """
    folder = None if output is None else Path(output)
    with open_live_survey(Path(path), goal or SurveyGoal(), folder, restart, settings, on_topic) as survey:
        (stop or StopRequest()).attach(survey.live)
        return survey.run(watch)
