"""The text of a certificate page. Bounds are rounded outwards; times are UTC.

The page is verified by comparing it with the text made here, so any change of a text needs a new LAYOUT (see `page`).
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from orienteer.certificates.facts import READ, CertifiedFile, CrawlFacts, Facts
from orienteer.graph.proved import UPPER_ASSUMES, percent
from orienteer.graph.survey.measured import confidence_text
from orienteer.inspect.status_text import exclusions, narrowed
from orienteer.inspect.survey_progress import how_measured
from orienteer.url import host_of
from orienteer.wording import SAME_RESPONSES, counted, goal_share, plain, size, tally

_SEEDS_LISTED = 3
_FILES_LISTED = 6
_KINDS_LISTED = 4
_IF_UNREACHABLE = "if the pages that count as blocked are, and the links that count as unknown"
_SCOPES = {
    "host": "the hosts of the seeds",
    "site": "the sites of the seeds, with all their hosts",
    "prefix": "what begins like the folder of a seed",
    "web": "every page",
}

Line = tuple[str, str]


class BarSegment(NamedTuple):
    """A share of a surfer's time as a segment of the bar; `name` is its class in the style sheet."""

    name: str
    label: str
    share: float
    text: str


class CertificateText(NamedTuple):
    """The texts of a page. The shares of `bar` sum to 1; `files` are the first of the archive, `more_files` describes
    the others."""

    title: str
    headline: str
    meaning: str
    bar: tuple[BarSegment, ...]
    crawled: tuple[Line, ...]
    covered: tuple[Line, ...]
    missing: tuple[Line, ...]
    files: tuple[CertifiedFile, ...]
    more_files: str
    made: str


def describe(facts: Facts) -> CertificateText:
    return CertificateText(
        title=_title(facts.crawl),
        headline=headline(facts),
        meaning=_meaning(facts),
        bar=_bar(facts),
        crawled=_not_empty(_crawled(facts)),
        covered=_not_empty(_covered(facts)),
        missing=_not_empty(_missing(facts)),
        files=facts.archive[:_FILES_LISTED],
        more_files=_more_files(facts),
        made=f"Made {utc(facts.made_at)} with Orienteer {plain(facts.orienteer, 40)}",
    )


def headline(facts: Facts) -> str:
    """Return the result of the certificate in a few sentences, with what the archive proves first."""
    measured, checked = facts.measured, facts.checked
    if checked.n_unchecked:
        sentences = [
            f"Proved from the archive: at least {percent(checked.lower)} is covered.",
            f"According to the folder, which counts {counted(checked.n_unchecked, 'page')} that the archive does not "
            f"confirm: at least {percent(facts.proved.lower)}.",
        ]
    else:
        sentences = [f"Proved: at least {percent(facts.proved.lower)} is covered."]
    if measured is not None and measured.is_reached:
        goal = goal_share(measured.until, measured.of_reachable)
        how = how_measured(checked.n_unchecked, measured.of_reachable, facts.moment.epoch).capitalize()
        sure = f"with {confidence_text(measured.confidence)} confidence, assuming that {SAME_RESPONSES}"
        sentences.append(f"{how}: at least {goal}, {sure}.")
    crawl = facts.crawl
    trust = dict(zip(crawl.seeds, crawl.trust, strict=False))
    clauses = narrowed(crawl.scope, crawl.allow, crawl.deny, crawl.damping, trust, facts.pages.anchors, crawl.n_seeds)
    sentences += [f"{clause[0].upper()}{clause[1:]}." for clause in clauses]
    return " ".join(sentences)


def utc(unix_s: float) -> str:
    """Format a time as `2026-01-31 18:05:09 UTC`; a dash for an invalid one."""
    try:
        return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, OSError, ValueError):
        return "–"


def _not_empty(lines: list[Line]) -> tuple[Line, ...]:
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


def _bar(facts: Facts) -> tuple[BarSegment, ...]:
    proved, checked = facts.proved, min(facts.checked.lower, facts.proved.lower)
    segments = [
        BarSegment("covered", "covered", checked, percent(checked)),
        BarSegment("claimed", "covered, according to the folder", proved.lower - checked, ""),
        BarSegment("waiting", "known, not fetched", proved.frontier + proved.unsettled, ""),
        BarSegment("blocked", "blocked", proved.blocked, ""),
        BarSegment("unknown", "behind unknown links", proved.unknown, ""),
    ]
    return tuple(one._replace(text=one.text or percent(one.share, up=True)) for one in segments if one.share > 1e-9)


def _crawled(facts: Facts) -> list[Line]:
    crawl, run, moment = facts.crawl, facts.run, facts.moment
    scope = _SCOPES.get(crawl.scope, plain(crawl.scope, 40))
    limits = [
        *exclusions(crawl.allow, crawl.deny),
        f"{counted(crawl.max_depth, 'link')} from a seed at most" if crawl.max_depth is not None else "",
    ]
    epoch = f"refreshed {counted(moment.epoch, 'time')}; " if moment.epoch else ""
    return [
        ("Seeds", _seeds(crawl)),
        ("Scope", "; ".join(text for text in (scope, *limits) if text)),
        ("Responses from", f"{utc(moment.first_time)} to {utc(moment.last_time)}"),
        ("State", f"{epoch}after {counted(moment.position, 'event')}; {plain(run.stopped, 160) or 'not running'}"),
        ("Settings", _settings(facts)),
        ("User agent", plain(run.user_agent, 110)),
    ]


def _settings(facts: Facts) -> str:
    crawl, run = facts.crawl, facts.run
    clauses = [
        "robots.txt obeyed" if run.robots else "robots.txt not obeyed",
        f"policy {plain(crawl.policy, 60)}",
        "with a topic" if crawl.topic else "",
        f"page hooks: {plain(', '.join(crawl.hooks), 60)}" if crawl.hooks else "",
        f"scripts run: {plain(run.render, 60)}",
        f"duplicates: {plain(run.duplicates, 20)}, near duplicates: {plain(run.near_duplicates, 20)}",
        f"budget {counted(run.budget, 'page')}" if run.budget is not None else "",
    ]
    return "; ".join(clause for clause in clauses if clause)


def _covered(facts: Facts) -> list[Line]:
    proved, pages = facts.proved, facts.pages
    upper = f"{percent(proved.upper, up=True)}"
    if proved.upper < 1:
        upper += f", assuming that {UPPER_ASSUMES}"
    reachable = percent(proved.of_reachable) if proved.blocked or proved.unknown else ""
    checked = facts.checked
    by_folder = ", according to the folder" if checked.n_unchecked else ""
    from_archive = f"at least {percent(checked.lower)}, at most {percent(checked.upper, up=True)}"
    return [
        ("Proved from the archive", from_archive if checked.n_unchecked else ""),
        ("Not confirmed by it", _counted(checked.n_unchecked, checked.unchecked) if checked.n_unchecked else ""),
        ("Proved, at least", f"{percent(proved.lower)}{by_folder}"),
        ("Proved, at most", f"{upper}{by_folder}"),
        ("Of what is reachable", f"at least {reachable}, {_IF_UNREACHABLE}" if reachable else ""),
        ("Measured", _measured(facts)),
        ("Pages fetched", f"{pages.n_fetched:,}, and {counted(pages.n_redirects, 'other name')} of pages (redirects)"),
        (
            "Seen",
            f"{counted(pages.n_known, 'URL')} in scope; pages of {counted(pages.n_hosts, 'host')} requested",
        ),
    ]


def _measured(facts: Facts) -> str:
    measured = facts.measured
    if measured is None:
        return "not measured"
    walks = f"{counted(measured.n_walks, 'random walk')}, {counted(measured.n_probes, 'page')} fetched for them"
    about = f"about {100 * measured.estimate:.1f} %"
    of_what = " of what is reachable" if measured.of_reachable else ""
    if measured.is_reached:
        sure = confidence_text(measured.confidence)
        how = how_measured(facts.checked.n_unchecked, measured.of_reachable, facts.moment.epoch)
        of_whom = how.removeprefix("measured")
        claim = f"at least {goal_share(measured.until)}{of_what} with {sure} confidence{of_whom}"
        return f"{claim}, assuming that {SAME_RESPONSES}; {about} ({walks})"
    return f"{about}{of_what}, an estimate without a bound ({walks})"


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
    """Return `12 pages: robots.txt (10), http 403 (2); up to 1.30 % of the time`, or `none` for no pages."""
    if not n:
        return "none"
    lost = f"; up to {percent(share, up=True)} of the time" if share else ""
    return f"{counted(n, one, many)}: {tally(reasons, _KINDS_LISTED)}{lost}"


def _seeds(crawl: CrawlFacts) -> str:
    is_equal = len(set(crawl.trust)) <= 1
    named = [
        plain(seed, 90) + ("" if is_equal else f" ({100 * trust:.3g} %)")
        for seed, trust in list(zip(crawl.seeds, crawl.trust, strict=False))[:_SEEDS_LISTED]
    ]
    n_more = crawl.n_seeds - len(named)
    text = ", ".join(named) + (f" and {n_more:,} more" if n_more > 0 else "")
    if crawl.n_seeds < 2:
        return text
    return f"{text}; trusted {'alike' if is_equal else 'as named'}"


def _more_files(facts: Facts) -> str:
    if not facts.run.archive:
        return "No archive was kept: the pages themselves cannot be checked."
    if not facts.archive:
        return "The archive is empty."
    n_more, total = len(facts.archive) - _FILES_LISTED, sum(file.size_bytes for file in facts.archive)
    unread = sum(file.known_by != READ for file in facts.archive)
    clauses = [f"{counted(len(facts.archive), 'file')}, {size(total)}"]
    if n_more > 0:
        clauses.append(f"{n_more:,} more than are shown; all are in the data of this page")
    if unread:
        clauses.append(f"{unread:,} in object storage, and not read again for this certificate")
    return "; ".join(clauses) + "."
