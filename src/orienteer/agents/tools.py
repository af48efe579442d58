"""What an agent can ask of crawls. Plain functions: an answer, or an error in one line."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from orienteer.agents.agent_crawls import AgentCrawl, AgentCrawls
from orienteer.agents.answer import Answer
from orienteer.agents.known_page import found_page
from orienteer.agents.page_parts import page_part
from orienteer.errors import CrawlFolderError, InputError
from orienteer.inspect.status_in_words import (
    coverage_in_words,
    coverage_of_epoch_in_words,
    measured_in_words,
    stopped_in_words,
    supposed,
    suspect_in_words,
)
from orienteer.pages.states import PageState
from orienteer.search.search_index import Hit
from orienteer.store.database_view import DatabaseView
from orienteer.store.folder_view import FolderView
from orienteer.wording import counted, plain, tally

MAX_RESULTS = 50
MAX_QUERY_CHARS = 1_000
MAX_LINKS = 100
_REPORT = "orienteer.report"
_KINDS_SHOWN = 6
_MAX_OF_ALL_KINDS = 10  # findings of each, where all kinds are asked for


def has_reports() -> bool:
    """Whether site reports can be made."""
    return importlib.util.find_spec(_REPORT) is not None


def crawls(all_crawls: AgentCrawls) -> Answer:
    """Which crawls there are."""
    found = [_about(crawl) for crawl in all_crawls.all()]
    lines = [f"{one['name']}: {one['text']}" for one in found]
    seeds = [f"{one['name']}: {', '.join(one['seeds'])}" for one in found]
    said = f"{counted(len(found), 'crawl')}.\n" + "\n".join(lines)
    return Answer(said, "Where they start:\n" + "\n".join(seeds), {"crawls": found})


def search(
    crawl: AgentCrawl, query: str, n: int = 10, page: int = 1, site: str = "", language: str = "", kind: str = "",
    after: str = "", before: str = "", order: str = "blend",
) -> Answer:  # fmt: skip
    """Pages that say what is asked for."""
    _expect("n", n, MAX_RESULTS)
    if not query.strip() or len(query) > MAX_QUERY_CHARS:
        raise InputError(f"query must be from 1 to {MAX_QUERY_CHARS:,} characters")
    filters = {"site": site, "lang": language, "type": kind, "after": after, "before": before}
    for name, value in filters.items():
        if any(letter.isspace() or letter == '"' for letter in value):
            raise InputError(f"{name} is {plain(value, 60)!r}; it must be one word")
    words = " ".join([query, *(f"{name}:{value}" for name, value in filters.items() if value)])
    with crawl.served.searching() as index:
        found = index.search(words, rank=order, n=n, page=page)
        is_current = index.is_current()
    hits = [_hit(hit) for hit in found.hits]
    notes = [
        "" if is_current else "The crawl has gone on since it was indexed.",
        "No page has all of the words; these have some." if found.relaxed else "",
        *found.hints,
    ]
    said = " ".join([f"{counted(found.total, 'page')} found, {len(hits)} shown.", *(note for note in notes if note)])
    text = "\n\n".join(
        "\n".join(line for line in (f"{hit['position']}. {hit['title']}", hit["url"], hit["snippet"]) if line)
        for hit in hits
    )
    if found.suggestion:
        text += f"\n\nDid you mean: {plain(found.suggestion, 200)}"
    data = {
        "crawl": crawl.name,
        "total": found.total,
        "page": page,
        "is_current": is_current,
        "relaxed": found.relaxed,
        "hits": hits,
    }
    return Answer(said, text.strip(), data)


def read(crawl: AgentCrawl, url: str, cursor: str = "", max_chars: int = 8_000, whole: bool = False) -> Answer:
    """A part of a page as Markdown."""
    with FolderView.open(crawl.path) as folder:
        part = page_part(folder, url, cursor or None, max_chars, whole)
    end = part.start + len(part.text)
    more = f" Read on with cursor {part.cursor}." if part.cursor else " This is the end."
    other = " The URL asked for is another name of this page." if part.asked != part.url else ""
    said = f"Characters {part.start:,} to {end:,} of {part.n_chars:,}, fetched {_iso(part.fetched_at)}.{more}{other}"
    data = part._asdict() | {"crawl": crawl.name, "fetched_at": _iso(part.fetched_at)}
    return Answer(said, f"{part.url}\n{part.title}\n\n{part.text}", data)


def links(crawl: AgentCrawl, url: str, direction: str = "both", n: int = 20, first: int = 0) -> Answer:
    """Who links to a page, and what it links to."""
    _expect("n", n, MAX_LINKS)
    if direction not in ("in", "out", "both"):
        raise InputError(f"direction is {plain(direction, 40)!r}; it must be in, out or both")
    if not 0 <= first <= 10_000_000:
        raise InputError(f"first is {first}; it must be 0 or more")
    with FolderView.open(crawl.path) as folder:
        database = folder.database
        page = found_page(database, url)
        row = database.page(page)
        data: dict[str, Any] = {"crawl": crawl.name, "url": database.url(page), "first": first}
        parts: list[str] = []
        said = [] if row is None else [f"State: {PageState(row.state).name.lower()} ({plain(row.outcome, 60)})."]
        if direction != "out":
            sources = database.pages_linking_to(page)
            data["linked_from"] = _named(database, sources[first : first + n])
            data["n_linked_from"] = len(sources)
            said.append(f"{counted(len(sources), 'page links', 'pages link')} to it.")
            parts.append(_listed("Linked from", data["linked_from"]))
        if direction != "in":
            targets = [] if row is None else [*row.links.tolist(), *row.outside.tolist()]
            data["links_to"] = _named(database, targets[first : first + n])
            data["n_links_to"] = len(targets)
            said.append(f"It links to {counted(len(targets), 'page')}.")
            parts.append(_listed("Links to", data["links_to"]))
        unknown = database.unknown(page)
        if unknown.n:
            said.append("Not all of its links are known.")
        data["all_links_known"] = not unknown.n
    return Answer(" ".join(said), f"{data['url']}\n\n" + "\n\n".join(parts), data)


def coverage(crawl: AgentCrawl) -> Answer:
    """What is proved and measured of a crawl, and what is missing."""
    found = crawl.status()
    proved, walked = found.library or found.certificate, found.surveyed
    counts = {
        "fetched": found.n_fetched,
        "redirects": found.n_redirects,
        "blocked": found.n_blocked,
        "failed": found.n_failed,
        "skipped": found.n_skipped,
        "suspect": found.n_suspect,
        "unarchived": found.n_unarchived,
        "known_urls": found.n_urls,
        "hosts": found.n_hosts,
    }
    outcomes = {state.name.lower(): found.outcomes(state) for state in _DONE}
    lines = [
        "It is running now." if found.holder is not None else _sentence(stopped_in_words(found)),
        _sentence(coverage_in_words(found)) or "Nothing is proved yet.",
        _sentence(f"it is assumed, {supposed(proved)}") if proved is not None and supposed(proved) else "",
        _sentence(coverage_of_epoch_in_words(found)),
        _sentence(measured_in_words(found)),
        f"{counted(found.n_fetched, 'page')} fetched, {found.n_blocked:,} blocked, {found.n_failed:,} failed (there is "
        f"no page), {found.n_skipped:,} skipped (of a type nobody asked for).",
        f"Blocked: {tally(outcomes['blocked'], _KINDS_SHOWN)}." if found.n_blocked else "",
        _sentence(suspect_in_words(found.n_suspect)),
    ]
    data = {
        "crawl": crawl.name,
        "is_running": found.holder is not None,
        "proved": None if proved is None else proved.as_dict(),
        "measured": None if walked is None or walked.measured is None else walked.measured.as_dict(),
        "measured_goal": None if walked is None else walked.claimed,
        "pages": counts,
        "outcomes": outcomes,
        "first_answer": None if found.first_time is None else _iso(found.first_time),
        "last_answer": None if found.last_time is None else _iso(found.last_time),
    }
    return Answer("\n".join(line for line in lines if line), data=data)


def report(crawl: AgentCrawl, kind: str = "", n: int = 20) -> Answer:
    """What is wrong with the site, the costliest first."""
    _expect("n", n, MAX_RESULTS)
    if not has_reports():
        raise InputError("this Orienteer makes no site reports")
    found = importlib.import_module(f"{_REPORT}.site_report").site_report(crawl.path, most_places=5)
    if kind and kind not in found.findings:
        raise InputError(f"no kind of finding is named {plain(kind, 40)!r} (choices: {', '.join(found.findings)})")
    n = n if kind else min(n, _MAX_OF_ALL_KINDS)
    shown = {name: [one.as_dict() for one in ones[:n]] for name, ones in found.findings.items() if kind in ("", name)}
    counts = {name: len(ones) for name, ones in found.findings.items()}
    said = f"{found.n_pages:,} pages looked at. Findings: {tally(counts, len(counts))}."
    text = "\n\n".join(_listed(name, ones) for name, ones in shown.items() if ones)
    return Answer(said, text, {"crawl": crawl.name, "counts": counts, "findings": shown})


_DONE = (PageState.FETCHED, PageState.FAILED, PageState.SKIPPED, PageState.BLOCKED)


def _about(crawl: AgentCrawl) -> dict[str, Any]:
    try:
        found = crawl.status()
    except CrawlFolderError as error:
        return {"name": crawl.name, "seeds": [], "text": plain(str(error), 300), "is_indexed": False}
    text = coverage_in_words(found) or "nothing is proved yet"
    try:
        with crawl.served.searching():
            is_indexed = True
    except CrawlFolderError:
        is_indexed = False
    indexed = "" if is_indexed else "; it cannot be searched, since it has no index (orienteer index)"
    seeds = [plain(seed, 200) for seed in found.plan.crawl.seeds[:5]]
    pages = counted(found.n_fetched, "page")
    return {"name": crawl.name, "seeds": seeds, "text": f"{pages}; {text}{indexed}", "is_indexed": is_indexed}


def _hit(hit: Hit) -> dict[str, Any]:
    return {
        "position": hit.position,
        "url": hit.link,
        "title": plain(hit.title, 200),
        "snippet": plain(hit.snippet, 600),
        "language": hit.language,
        "type": hit.type,
        "published": hit.published,
        "fetched_at": _iso(hit.time),
    }


def _named(database: DatabaseView, pages: list[int]) -> list[dict[str, str]]:
    titles = database.titles(pages)
    return [
        {"url": plain(url, 500), "title": plain(title, 150)}
        for url, title in zip(database.urls(pages), titles, strict=True)
    ]


def _listed(title: str, found: Iterable[dict[str, Any]]) -> str:
    lines = [f"- {plain(one['url'], 500)}" + (f" ({about})" if (about := _about_one(one)) else "") for one in found]
    return "\n".join([f"{title}:", *(lines or ["- none"])])


def _about_one(one: dict[str, Any]) -> str:
    """The title of a page; of a finding, what is wrong, and where."""
    places = [
        f"on {place['url']}" + (f" '{place['words']}'" if place["words"] else "") for place in one.get("places", ())
    ]
    return plain("; ".join(text for text in (one.get("title"), one.get("why"), *places) if text), 600)


def _expect(name: str, value: int, most: int) -> None:
    if not 1 <= value <= most:
        raise InputError(f"{name} is {value}; it must be from 1 to {most:,}")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _iso(unix_s: float) -> str:
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
