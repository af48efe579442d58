"""Explain the state of one page of a crawl, from its folder, also as text; another process may be crawling."""

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
from orienteer.pages.render_reason import RenderReason
from orienteer.pages.states import COUNTS_AS_FETCHED, PageState
from orienteer.responses.verdict import LOST_REDIRECTS
from orienteer.store.archive import Archive
from orienteer.store.database import DatabaseView
from orienteer.store.folder_view import FolderView
from orienteer.store.page_row import PageRow
from orienteer.store.rendering_tables import RenderedRow
from orienteer.store.visits import Revisits
from orienteer.url import canonical_url
from orienteer.wording import counted, moment, plain, size

MAX_SOURCES = 10
_MAX_EVENTS = 1_000_000


_RENDER_REASONS = {
    RenderReason.SUSPECT: "scripts seemed to make it",
    RenderReason.SAMPLE: "it was a sample of its host",
    RenderReason.SPARSE: "it was a sample of its host",
    RenderReason.LEARNED: "pages like it gained links or words",
    RenderReason.REQUESTED: "the settings requested it",
    RenderReason.ROUTE: "it is a route of an application",
    "import": "as another crawler stored it",
}


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


def describe_page(facts: PageFacts) -> list[tuple[str, str]]:
    """Return the facts by name; those that do not apply are empty."""
    row = facts.row
    lines = [("state", _state(facts)), ("depth", _depth(facts))]
    if row is None:
        return lines
    lines += [
        ("when", moment(row.time)),
        ("survey", _walk(facts)),
        ("refreshed", _revisits(facts)),
        ("response", _response(row)),
        ("redirects to", plain(facts.redirect_to or "", 3000)),
        ("title", plain(row.title, 300)),
        ("language", plain(row.language, 30)),
        ("relevance", "" if row.relevance is None else f"{row.relevance:.3f} to the topic of the crawl"),
        ("tags", plain(", ".join(facts.tags), 3000)),
        ("fields", _fields(facts)),
        ("links", _links(row)),
        ("links not known", plain(facts.why_unknown_links, 300)),
        ("in a browser", _rendered(facts)),
        ("same content as", plain(facts.duplicate_of or "", 3000)),
        ("nearly the text of", plain(facts.near_duplicate_of or "", 3000)),
        ("noindex", "it asks not to be found by search engines" if row.noindex else ""),
        ("archive", _archive(facts)),
    ]
    return lines


def _walk(facts: PageFacts) -> str:
    """Describe the walk that left the fetched pages at this page, and so requested it."""
    return "" if facts.walk is None else f"walk {facts.walk:,} left the fetched pages here, and requested it"


def _rendered(facts: PageFacts) -> str:
    """Describe the result of rendering."""
    rendered = facts.rendered
    if rendered is None:
        return ""
    content = f"{rendered.n_words:,} words and {rendered.n_links:,} links"
    sent = f"{rendered.n_words_sent:,} and {rendered.n_links_sent:,} were sent"
    cost = f"{rendered.cpu_s:.2f} CPU-s, {counted(rendered.n_requests, 'request')}"
    problem = f"; not to the end: {plain(rendered.problem, 100)}" if rendered.problem else ""
    return f"{content}, where {sent}; {_RENDER_REASONS.get(rendered.why, plain(rendered.why, 100))}; {cost}{problem}"


def _revisits(facts: PageFacts) -> str:
    """Describe the history of the page in refreshes."""
    seen = facts.revisits
    if seen is None:
        return ""
    checked = f"{counted(seen.n_checks, 'time')}, found changed {counted(seen.n_changes, 'time')}"
    last = f"; last on {moment(seen.checked)}" if seen.n_checks else ""
    if seen.missing_since is None:
        return checked + last
    why = f" ({plain(seen.missing_as, 100)})" if seen.missing_as else ""
    return f"{checked}{last}; missing since {moment(seen.missing_since)}{why}, its last version stays"


def _depth(facts: PageFacts) -> str:
    if facts.is_seed:
        return "a seed"
    if facts.depth is None:
        return ""
    sitemap = "" if facts.n_sources else ", as only a sitemap lists it"
    return f"{counted(facts.depth, 'link')} from a seed{sitemap}"


def _state(facts: PageFacts) -> str:
    if facts.page is None:
        return _unknown(facts)
    if facts.state is PageState.KNOWN:
        return _not_done(facts)
    assert facts.row is not None
    number = "" if facts.number is None else f"as number {facts.number:,} of {facts.n_fetched:,}"
    if facts.state is PageState.FETCHED and facts.redirect_to is not None:
        how = (
            "a redirect" if facts.row.outcome == Outcome.REDIRECT else "treated as a redirect, since it repeats a page"
        )
        return f"fetched {number}: {how}"
    if facts.state is PageState.FETCHED:
        return f"fetched {number}"
    if facts.state is PageState.FAILED:
        return f"failed: {describe_reason(facts)}; it counts as fetched, {number}"
    if facts.state is PageState.SKIPPED:
        return f"skipped: {describe_reason(facts)}; it counts as fetched, {number}"
    return f"blocked, not fetched: {describe_reason(facts)}"


def _unknown(facts: PageFacts) -> str:
    inside = f"outside its scope: {plain(facts.why_outside)}" if facts.why_outside else "inside its scope"
    seen = f"; known is {plain(facts.seen_as, 3000)}" if facts.seen_as else ""
    return f"not known to this crawl; it would be {inside}{seen}"


def _not_done(facts: PageFacts) -> str:
    if facts.why_outside:
        return f"not fetched, it is outside the scope: {plain(facts.why_outside)}"
    if facts.waiting is None:
        return "not fetched: no page links here whose links are followed"
    waiting = facts.waiting
    before = counted(waiting.n_before, "page comes", "pages come")
    place = f"{before} before it of {waiting.n_frontier:,} in the frontier, without delays of hosts"
    if waiting.priority == float("-inf"):
        return f"waiting behind all pages that are linked to, as only a sitemap lists it; {place}"
    if waiting.walk is not None:
        return f"waiting: walk {waiting.walk:,} of the survey needs it; {place}"
    return f"waiting with priority {waiting.priority:.3g}; {place}"


def describe_reason(facts: PageFacts) -> str:
    """Describe why a page failed or was blocked."""
    row = facts.row
    assert row is not None
    if row.outcome == Outcome.ROBOTS:
        return "robots.txt of its host forbids it"
    if facts.host_problem:
        return plain(facts.host_problem, 300)
    if row.outcome == Outcome.TOO_DEEP:
        return f"it is {counted(row.depth, 'link')} from a seed, and max_depth is {facts.plan.scope.max_depth}"
    if row.outcome.startswith("http ") and row.status:
        return f"the server answered {row.status}"
    if row.outcome == Outcome.UNWANTED_TYPE:
        return f"it is {plain(row.content_type, 100) or 'of unknown type'}, which this crawl does not fetch"
    if row.outcome == Outcome.UNREADABLE and row.status:
        return f"it is {plain(row.content_type, 100)}, and cannot be read (log.jsonl says why)"
    return plain(row.outcome, 300)


def _response(row: PageRow) -> str:
    if not row.status:
        return ""
    kind = plain(row.content_type, 100)
    return ", ".join(part for part in (f"HTTP status {row.status}", kind, size(row.size_bytes)) if part)


def _links(row: PageRow) -> str:
    if row.outcome != Outcome.OK:
        return ""
    outside = f", {len(row.outside):,} outside" if len(row.outside) else ""
    return f"{len(row.links):,} inside the scope{outside}"


def _fields(facts: PageFacts) -> str:
    texts = {name: ", ".join(value) if isinstance(value, list) else str(value) for name, value in facts.fields.items()}
    return "; ".join(f"{name}: {plain(text, 300)}" for name, text in texts.items())


def _archive(facts: PageFacts) -> str:
    if facts.archive_file is None or facts.row is None:
        return ""
    return f"{plain(str(facts.archive_file))}, {facts.row.archive_bytes:,} bytes at {facts.row.archive_offset:,}"
