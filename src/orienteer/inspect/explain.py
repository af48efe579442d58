"""Explain the state of one page of a crawl, from its folder; another process may be crawling into it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from orienteer.errors import InputError
from orienteer.inspect.survey_progress import walk_of
from orienteer.ledger.event_replay import EventReplay, redirect_targets
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.scope import Scope
from orienteer.pages.outcome import Outcome
from orienteer.pages.states import COUNTS_AS_FETCHED, PageState
from orienteer.responses.verdict import LOST_REDIRECTS
from orienteer.store.archive import Archive
from orienteer.store.database import DatabaseView
from orienteer.store.folder_view import FolderView
from orienteer.store.page_row import PageRow
from orienteer.store.rendering_tables import RenderedRow
from orienteer.store.visits import Revisits
from orienteer.url import canonical_url

MAX_SOURCES = 10
_MAX_EVENTS = 1_000_000


@dataclass(frozen=True)
class LinkSource:
    """A fetched page that links to the page in question, or is another name of it, as a redirect or a repetition."""

    url: str
    is_alias: bool


@dataclass(frozen=True)
class Waiting:
    """A page in the frontier: its priority, how many pages come before it there, and how many wait in all.

    Politeness delays are ignored. A priority of -inf is that of a page only a sitemap names. `walk` is the walk of the
    survey that needs the page, counted from 1; the priority then only means that.
    """

    priority: float
    n_before: int
    n_frontier: int
    walk: int | None = None


@dataclass(frozen=True)
class PageFacts:
    """All that a crawl folder has about a URL.

    `page` is None if it was never seen; `row` is None if it is not done, and then `waiting` is its position in
    the frontier, None if it is not there either. `number` counts the pages that count as fetched, up to this one.
    `seen_as` is the same page under the other of http and https, if only that is known. `host_problem` is why its host
    was abandoned, if that is why the page is blocked. `revisits` is its history in refreshes, None if there is none.
    `n_unknown_links` of its links are not known (-1: nor is their number), and why. `tags` and `fields` are additions
    of page hooks. `rendered` is the result of rendering, if it was rendered. `walk` is the first walk of the survey,
    counted from 1, that left the fetched pages here.
    """

    url: str
    plan: CrawlPlan
    page: int | None
    why_outside: str | None
    seen_as: str | None = None
    row: PageRow | None = None
    depth: int | None = None
    number: int | None = None
    n_fetched: int = 0
    archive_file: str | None = None
    redirect_to: str | None = None
    duplicate_of: str | None = None
    near_duplicate_of: str | None = None
    host_problem: str | None = None
    revisits: Revisits | None = None
    waiting: Waiting | None = None
    walk: int | None = None
    n_unknown_links: int = 0
    why_unknown_links: str = ""
    rendered: RenderedRow | None = None
    sources: tuple[LinkSource, ...] = ()
    n_sources: int = 0
    tags: tuple[str, ...] = ()
    fields: dict[str, Any] = field(default_factory=dict)

    @property
    def state(self) -> PageState | None:
        """The state of the page, None for one that was never seen."""
        if self.row is not None:
            return PageState(self.row.state)
        return None if self.page is None else PageState.KNOWN

    @property
    def is_seed(self) -> bool:
        return self.url in self.plan.crawl.seeds

    def as_dict(self) -> dict[str, Any]:
        facts = asdict(self)
        del facts["plan"], facts["row"]
        facts["rendered"] = None if self.rendered is None else _rendering_facts(self.rendered)
        facts["revisits"] = None if self.revisits is None else self.revisits._asdict()
        facts |= {"state": self.state.name.lower() if self.state is not None else "unknown", "is_seed": self.is_seed}
        if self.waiting is not None and (self.waiting.priority == float("-inf") or self.waiting.walk is not None):
            facts["waiting"]["priority"] = None  # JSON has no infinity, and with a walk the number means nothing
        if self.row is not None:
            row = self.row._asdict()
            for name in ("id", "state", "depth", "archive_file", "redirect_to", "duplicate_of", "near_duplicate_of"):
                del row[name]
            row["digest"] = None if self.row.digest is None else self.row.digest.hex()
            facts |= row | {"links": len(self.row.links), "outside": len(self.row.outside)}
        return facts


def page_facts(path: Path, text: str) -> PageFacts:
    """Return what the crawl in this folder has about a URL, which need not be canonical."""
    candidates = _candidates(text)
    with FolderView.open(path) as folder:
        database = folder.database
        plan = CrawlPlan.of_folder(folder)
        stored = database.urls.find_all(candidates)
        known = [url for url in candidates if url in stored]
        # Without a scheme in the text, either one matches; with one, only that one does.
        url = known[0] if known and "://" not in text else candidates[0]
        why_outside = _scope(database, plan).why_outside(url)
        page = stored.get(url)
        if page is None:
            return PageFacts(url, plan, None, why_outside, seen_as=known[0] if known else None)
        row = database.pages.row(page)
        linking = database.pages.linking_to(page)
        facts: dict[str, Any] = {
            "sources": tuple(_source(database, source, page) for source in linking[:MAX_SOURCES]),
            "n_sources": len(linking),
        }
        if row is not None:
            facts |= _facts_of_row(database, folder.archive, row)
        elif why_outside is None:
            facts |= _frontier_facts(folder, plan, page)
        return PageFacts(url, plan, page, why_outside, row=row, **facts)


def _candidates(text: str) -> list[str]:
    """Return the canonical URL, and the same with the other scheme."""
    url = canonical_url(text if "://" in text else f"https://{text}")
    if url is None:
        raise InputError(f"{text!r} is not a valid URL; write it like https://example.org/")
    scheme, _, rest = url.partition("://")
    return [url, f"{'http' if scheme == 'https' else 'https'}://{rest}"]


def _scope(database: DatabaseView, plan: CrawlPlan) -> Scope:
    """Return the scope of a crawl, widened by the redirects of its seeds."""
    scope = Scope(plan.scope, plan.crawl.seeds)
    if database.urls.count() == 0:
        return scope
    for seed in range(len(plan.crawl.seeds)):
        for page in redirect_targets(database, seed, plan.fetch.max_redirects):
            scope.widen(database.urls.of(page))
    return scope


def _rendering_facts(rendered: RenderedRow) -> dict[str, Any]:
    facts = rendered._asdict()
    for name in ("page", "dom", "view", "sent_digest", "rendered_digest"):
        del facts[name]
    return facts


def _source(database: DatabaseView, source: int, page: int) -> LinkSource:
    row = database.pages.row(source)
    return LinkSource(database.urls.of(source), is_alias=row is not None and row.redirect_to == page)


def _facts_of_row(database: DatabaseView, archive: Archive, row: PageRow) -> dict[str, Any]:
    others = ("redirect_to", "duplicate_of", "near_duplicate_of")
    pages = {name: getattr(row, name) for name in others}
    if row.outcome in LOST_REDIRECTS and len(row.outside):
        pages["redirect_to"] = int(row.outside[0])  # out of the scope, in a loop, or after too many redirects
    facts: dict[str, Any] = {name: None if page is None else database.urls.of(page) for name, page in pages.items()}
    if row.state in COUNTS_AS_FETCHED:
        facts["number"] = database.pages.n_in_states(COUNTS_AS_FETCHED, until=row.position)
    if row.outcome == Outcome.HOST_ABANDONED:
        facts["host_problem"] = host_problem(database, row.id)
    facts["revisits"] = database.visits.revisits(row.id)
    facts["walk"] = _first_walk(database, row.id)
    facts["rendered"] = database.rendered.row(row.id)
    unknown = database.details.unknown(row.id)
    facts |= {"n_unknown_links": unknown.n, "why_unknown_links": unknown.why}
    if (added := database.details.added(row.id)) is not None:
        facts |= {"tags": added.tags, "fields": added.fields}
    facts["archive_file"] = None if row.archived is None else archive.address(row.archived.file)
    return facts | {"depth": row.depth, "n_fetched": database.pages.n_in_states(COUNTS_AS_FETCHED)}


def _first_walk(database: DatabaseView, page: int) -> int | None:
    """Return the first walk of the last survey that left the fetched pages at this page."""
    epoch = database.epochs.last()
    stored = database.surveys.last(0 if epoch is None else epoch.id)
    entries = (
        [] if stored is None else [entry for walks in database.surveys.walks(stored[0]) for entry in walks.entries]
    )
    return entries.index(page) + 1 if page in entries else None


def host_problem(database: DatabaseView, page: int) -> str | None:
    """Return the stored reason why the page's host was abandoned."""
    host = int(database.urls.seen().hosts[page])
    notes = [
        event
        for event in database.meta.events(_MAX_EVENTS)
        if event.kind == Outcome.HOST_ABANDONED and event.host == host
    ]
    return str(notes[-1].detail.get("detail", "")) if notes else None


def _frontier_facts(folder: FolderView, plan: CrawlPlan, page: int) -> dict[str, Any]:
    """Replay all events to find the position of a page in the frontier, which is not stored."""
    replayed = EventReplay(folder, plan)
    frontier = replayed.crawl.frontier
    facts: dict[str, Any] = {"depth": replayed.depth(page), "n_fetched": len(replayed.crawl.order)}
    if page in frontier:
        priority = frontier.priority(page)
        facts["waiting"] = Waiting(priority, frontier.position(page), len(frontier), walk_of(priority))
    return facts
