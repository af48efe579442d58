"""The state of a page as text, for `orienteer explain` and the web interface."""

from __future__ import annotations

from orienteer.inspect.explain import PageFacts
from orienteer.pages.outcome import Outcome
from orienteer.pages.render_reason import RenderReason
from orienteer.pages.states import PageState
from orienteer.store.page_row import PageRow
from orienteer.wording import counted, moment, plain, size


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


_RENDER_REASONS = {
    RenderReason.SUSPECT: "scripts seemed to make it",
    RenderReason.SAMPLE: "it was a sample of its host",
    RenderReason.LEARNED: "pages like it gained links or words",
    RenderReason.REQUESTED: "the settings requested it",
    RenderReason.ROUTE: "it is a route of an application",
    "import": "as another crawler stored it",
}


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
