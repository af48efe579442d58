"""A certificate in words: the lines of its page. Bounds are rounded so that what is said stays true; times are UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from orienteer.certificates.facts import READ, ArchiveFile, CrawlFacts, Facts, MeasuredFacts
from orienteer.graph.proved import UPPER_SUPPOSES, percent
from orienteer.graph.survey.measured import confidence_text
from orienteer.url import host_of
from orienteer.wording import counted, goal_share, plain, size, tally

_SEEDS_SHOWN = 3
_FILES_SHOWN = 6
_KINDS_SHOWN = 4
_SCOPES = {
    "host": "the hosts of the seeds",
    "site": "the sites of the seeds, with all their hosts",
    "prefix": "what begins like the folder of a seed",
    "web": "every page",
}

Line = tuple[str, str]


class Part(NamedTuple):
    """A share of a surfer's time: a piece of the bar, named as its color is (see the style)."""

    name: str
    label: str
    share: float
    text: str


class InWords(NamedTuple):
    """`bar` are shares that sum to 1; `files` are the first of the archive, `more_files` says what is left out."""

    title: str
    headline: str
    meaning: str
    bar: tuple[Part, ...]
    crawled: tuple[Line, ...]
    covered: tuple[Line, ...]
    missing: tuple[Line, ...]
    files: tuple[ArchiveFile, ...]
    more_files: str
    made: str


def in_words(facts: Facts) -> InWords:
    return InWords(
        title=_title(facts.crawl),
        headline=headline(facts),
        meaning=_meaning(facts),
        bar=_bar(facts),
        crawled=_given(_crawled(facts)),
        covered=_given(_covered(facts)),
        missing=_given(_missing(facts)),
        files=facts.archive[:_FILES_SHOWN],
        more_files=_more_files(facts),
        made=f"Made {utc(facts.made_at)} with Orienteer {plain(facts.orienteer, 40)}",
    )


def headline(facts: Facts) -> str:
    """What the certificate comes to, in a sentence."""
    found = facts.measured
    proved = f"Proved: at least {percent(facts.proved.lower)} is covered."
    if found is None or not found.is_reached:
        return proved
    of_reachable = " of what is reachable" if found.of_reachable else ""
    goal = f"{goal_share(found.until)}{of_reachable}"
    return f"{proved} Measured: at least {goal}, with {confidence_text(found.confidence)} confidence."


def utc(unix_s: float) -> str:
    """`2026-01-31 18:05:09 UTC`; a dash for what no clock shows."""
    try:
        return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, OSError, ValueError):
        return "–"


def _given(lines: list[Line]) -> tuple[Line, ...]:
    return tuple((label, text) for label, text in lines if text)


def _title(crawl: CrawlFacts) -> str:
    hosts = list(dict.fromkeys(host_of(seed) for seed in crawl.seeds))
    at_least = "at least " if crawl.n_seeds > len(crawl.seeds) else ""
    more = f" and {at_least}{counted(len(hosts) - 1, 'more host')}" if len(hosts) > 1 else ""
    return plain(hosts[0] if hosts else "a crawl", 80) + more


def _meaning(facts: Facts) -> str:
    return (
        f"Covered is a share of the time of a surfer who starts at the seeds, follows links at random, and after each "
        f"page starts again with a chance of {100 * (1 - facts.crawl.damping):.10g} %. It is the time spent on pages "
        "that this crawl has fetched, or found not to exist. What is proved holds whatever is on the pages that were "
        "not fetched."
    )


def _bar(facts: Facts) -> tuple[Part, ...]:
    proved = facts.proved
    parts = [
        Part("covered", "covered", proved.lower, percent(proved.lower)),
        Part("waiting", "known, not fetched", proved.frontier + proved.unsettled, ""),
        Part("blocked", "blocked", proved.blocked, ""),
        Part("unknown", "behind unknown links", proved.unknown, ""),
    ]
    return tuple(part._replace(text=part.text or percent(part.share, up=True)) for part in parts if part.share > 1e-9)


def _crawled(facts: Facts) -> list[Line]:
    crawl, run, moment = facts.crawl, facts.run, facts.moment
    scope = _SCOPES.get(crawl.scope, plain(crawl.scope, 40))
    limits = [
        f"only URLs with {_patterns(crawl.allow)}" if crawl.allow else "",
        f"without URLs with {_patterns(crawl.deny)}" if crawl.deny else "",
        f"{counted(crawl.max_depth, 'link')} from a seed at most" if crawl.max_depth is not None else "",
    ]
    epoch = f"refreshed {counted(moment.epoch, 'time')}; " if moment.epoch else ""
    return [
        ("Seeds", _seeds(crawl)),
        ("Scope", "; ".join(text for text in (scope, *limits) if text)),
        ("Answers from", f"{utc(moment.first_time)} to {utc(moment.last_time)}"),
        ("State", f"{epoch}after {counted(moment.position, 'event')}; {plain(run.stopped, 160) or 'not running'}"),
        ("Settings", _settings(facts)),
        ("User agent", plain(run.user_agent, 110)),
    ]


def _settings(facts: Facts) -> str:
    crawl, run = facts.crawl, facts.run
    parts = [
        "robots.txt obeyed" if run.robots else "robots.txt not obeyed",
        f"policy {plain(crawl.policy, 60)}",
        "with a topic" if crawl.topic else "",
        f"scripts run: {plain(run.render, 60)}",
        f"duplicates: {plain(run.duplicates, 20)}, near duplicates: {plain(run.near_duplicates, 20)}",
        f"budget {counted(run.budget, 'page')}" if run.budget is not None else "",
    ]
    return "; ".join(part for part in parts if part)


def _covered(facts: Facts) -> list[Line]:
    proved, pages = facts.proved, facts.pages
    upper = f"{percent(proved.upper, up=True)}"
    if proved.upper < 1:
        upper += f", supposing that {UPPER_SUPPOSES}"
    reachable = percent(proved.of_reachable) if proved.blocked or proved.unknown else ""
    return [
        ("Proved, at least", percent(proved.lower)),
        ("Proved, at most", upper),
        ("Of what is reachable", f"at least {reachable}" if reachable else ""),
        ("Measured", _measured(facts.measured)),
        ("Pages fetched", f"{pages.n_fetched:,}, and {counted(pages.n_redirects, 'other name')} of pages (redirects)"),
        (
            "Seen",
            f"{counted(pages.n_known, 'URL')}, in scope or not; pages of {counted(pages.n_hosts, 'host')} asked for",
        ),
    ]


def _measured(found: MeasuredFacts | None) -> str:
    if found is None:
        return "not measured"
    walked = f"{counted(found.n_walks, 'random walk')}, {counted(found.n_probes, 'page')} fetched for them"
    about = f"about {100 * found.estimate:.1f} %"
    of_what = " of what is reachable" if found.of_reachable else ""
    if found.is_reached:
        sure = confidence_text(found.confidence)
        return f"at least {goal_share(found.until)}{of_what} with {sure} confidence, {about} ({walked})"
    return f"{about}{of_what}, an estimate without a bound ({walked})"


def _missing(facts: Facts) -> list[Line]:
    proved, pages = facts.proved, facts.pages
    unknown = sum(pages.unknown_links.values())
    return [
        ("Blocked", _counted(pages.n_blocked, pages.outcomes.get("blocked", {}), proved.blocked)),
        ("Unknown links", _counted(unknown, pages.unknown_links, proved.unknown, "page has some", "pages have some")),
        ("Known, not fetched", f"up to {percent(proved.frontier, up=True)} of the time" if proved.frontier else ""),
        ("Failed (no page)", _counted(pages.n_failed, pages.outcomes.get("failed", {}))),
        ("Skipped", _counted(pages.n_skipped, pages.outcomes.get("skipped", {}))),
        ("Not in the archive", counted(pages.n_unarchived, "page") if pages.n_unarchived else ""),
    ]


def _counted(n: int, reasons: dict[str, int], share: float = 0.0, one: str = "page", many: str = "pages") -> str:
    """`12 pages: robots.txt (10), http 403 (2); up to 1.30 % of the time`; `none` where there are none."""
    if not n:
        return "none"
    lost = f"; up to {percent(share, up=True)} of the time" if share else ""
    return f"{counted(n, one, many)}: {tally(reasons, _KINDS_SHOWN)}{lost}"


def _seeds(crawl: CrawlFacts) -> str:
    is_equal = len(set(crawl.trust)) <= 1
    named = [
        plain(seed, 90) + ("" if is_equal else f" ({100 * trust:.3g} %)")
        for seed, trust in list(zip(crawl.seeds, crawl.trust, strict=False))[:_SEEDS_SHOWN]
    ]
    n_more = crawl.n_seeds - len(named)
    text = ", ".join(named) + (f" and {n_more:,} more" if n_more > 0 else "")
    if crawl.n_seeds < 2:
        return text
    return f"{text}; trusted {'alike' if is_equal else 'as named'}"


def _patterns(patterns: tuple[str, ...]) -> str:
    named = ", ".join(plain(pattern, 40) for pattern in patterns[:2])
    return named + (f" and {len(patterns) - 2:,} more" if len(patterns) > 2 else "")


def _more_files(facts: Facts) -> str:
    if not facts.run.archive:
        return "No archive was kept: the pages themselves cannot be checked."
    if not facts.archive:
        return "The archive is empty."
    n_more, total = len(facts.archive) - _FILES_SHOWN, sum(file.size_bytes for file in facts.archive)
    unread = sum(file.known_by != READ for file in facts.archive)
    parts = [f"{counted(len(facts.archive), 'file')}, {size(total)}"]
    if n_more > 0:
        parts.append(f"{n_more:,} more than are shown; all are in the data of this page")
    if unread:
        parts.append(f"{unread:,} in object storage, and not read again for this certificate")
    return "; ".join(parts) + "."
