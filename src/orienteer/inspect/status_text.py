"""The status of a crawl as text, for commands and the web interface.

Bounds are rounded outwards, so that they stay true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from orienteer.graph.defaults import DAMPING
from orienteer.graph.proved import UPPER_ASSUMES, Certificate, percent
from orienteer.inspect.run_report import describe_confidence
from orienteer.inspect.survey_progress import measured_from
from orienteer.ledger.settings import CrawlSettings
from orienteer.store.rendering_tables import AssetFigures, RenderedTally
from orienteer.url import host_of
from orienteer.wording import counted, goal_share, plain, size

if TYPE_CHECKING:
    from orienteer.inspect.crawl_status import CrawlStatus

_SEEDS_NAMED = 3
_REASONS_NAMED = 5  # why assets failed
_PROBABLY = 0.9  # the coverage from which on a page without a search result probably does not exist


def describe_goal(settings: CrawlSettings) -> str:
    """Describe the goal of a crawl: `a coverage of 98 %, at most 2,000 pages`."""
    goal = settings.goal()
    target = "every reachable page"
    if goal.until is not None:
        target = f"a coverage of {goal_share(goal.until, goal.of_reachable)}"
    return target if goal.budget is None else f"{target}, at most {counted(goal.budget, 'page')}"


def exclusions(allow: Sequence[str], deny: Sequence[str]) -> list[str]:
    """Return which URLs the patterns in the settings exclude, each as a clause."""
    limits = [f"only URLs with {_patterns(allow)}" if allow else "", f"no URLs with {_patterns(deny)}" if deny else ""]
    return [limit for limit in limits if limit]


def narrowed(
    kind: str, allow: Sequence[str], deny: Sequence[str], damping: float, trust: Mapping[str, float],
    anchors: Sequence[str] = (), n_seeds: int = 0,
) -> list[str]:  # fmt: skip
    """Return what makes a coverage higher than it would be for the same pages otherwise, each as a clause.

    These are settings other than the defaults, seeds other than one home page, and route fields that are assumed to be
    `anchors`. `trust` is the share of each seed, of the first ones of `n_seeds`.
    """
    limits = ["only URLs in the folders of the seeds"] if kind == "prefix" else []
    limits += exclusions(allow, deny)
    clauses = [f"the scope has {' and '.join(limits)}"] if limits else []
    if damping < DAMPING:
        clauses.append(f"the surfer starts again after each page with a chance of {100 * (1 - damping):.10g} %")
    if len(set(trust.values())) > 1:
        seed = max(trust, key=trust.__getitem__)
        clauses.append(f"the surfer starts at {plain(seed, 100)} with a chance of {100 * trust[seed]:.4g} %")
    elif n_seeds > 1 or not all(map(_is_home_page, trust)):
        named = ", ".join(plain(seed, 100) for seed in list(trust)[:_SEEDS_NAMED])
        n_more = n_seeds - min(len(trust), _SEEDS_NAMED)
        clauses.append(f"the surfer starts at {named}" + (f" and {counted(n_more, 'more page')}" if n_more > 0 else ""))
    if anchors:
        clauses.append(_assumed(anchors))
    return clauses


def _is_home_page(url: str) -> bool:
    return url.count("/") == 3 and url.endswith("/")


def _assumed(anchors: Sequence[str]) -> str:
    named = ", ".join(plain(detail, 100) for detail in anchors[:_REASONS_NAMED])
    more = ", ..." if len(anchors) > _REASONS_NAMED else ""
    return f"assumed, by samples: routes that differ only in these fields are one page: {named}{more}"


def _patterns(patterns: Sequence[str]) -> str:
    named = ", ".join(plain(pattern, 40) for pattern in patterns[:2])
    return named + (f" and {len(patterns) - 2:,} more" if len(patterns) > 2 else "")


def describe_stopped(status: CrawlStatus) -> str:
    """Describe the result of the last run; empty while the crawl is running, or has not begun."""
    if status.holder is not None or status.first_time is None:
        return ""
    if status.report is None or not status.report_is_current:
        return "the last run ended without a report: it was killed, or the machine went down"
    return status.report.headline


def describe_impossible(until: float, proved: Certificate, reasons: str = "") -> str:
    """Say that a coverage cannot be proved, and why, as a sentence."""
    why = f" ({reasons})" if reasons else ""
    clauses = (
        (proved.blocked, f"on blocked pages{why}, or behind them"),
        (proved.unknown, "behind links that are not known"),
    )
    lost = [f"up to {percent(share, up=True)} of a surfer's time is {where}" for share, where in clauses if share]
    return f"{goal_share(until)} cannot be proved: {', and '.join(lost)}"


def describe_impossible_goal(status: CrawlStatus) -> str:
    """Say that the goal of the present or the last run cannot be reached; empty if it can."""
    figures = status.figures
    if figures is None or not figures.goal_is_impossible or figures.until is None:
        return ""
    return describe_impossible(figures.until, figures.certificate)


def describe_reachable(proved: Certificate) -> str:
    """Describe the coverage of what is reachable; empty if that is everything."""
    if not (proved.blocked or proved.unknown):
        return ""
    return f"at least {percent(proved.of_reachable)} of what is reachable is covered"


def describe_coverage(status: CrawlStatus) -> str:
    """Describe the certificate over all epochs; empty if there is none."""
    if status.proved is None:
        return ""
    if status.epochs:
        is_current = status.report_is_current or status.recomputed is not None
        older = "" if is_current else " (as of the last complete refresh)"
        return describe_certificate(status.proved) + older
    how = "proved: " if describe_measured(status) else ""
    return how + describe_certificate(status.proved) + ("" if status.recomputed is not None else _age(status))


def describe_result(status: CrawlStatus) -> str:
    """Describe the result of a crawl that is not running: `98 % proved; 418 known pages left out, ...`.

    Pages that were left out, and those behind them, can cost no more than what is not proved.
    """
    proved = status.proved
    if status.holder is not None or proved is None:
        return ""
    survey, n_left = status.survey, None if status.figures is None else status.figures.n_frontier
    missing = percent(1.0 - proved.lower, up=True)
    clauses = [f"{percent(proved.lower)} proved"]
    if status.epochs:
        clauses[0] += f", after {counted(len(status.epochs) - 1, 'refresh', 'refreshes')}"
    elif survey is not None and survey.claimed is not None and not survey.is_proved:
        share = goal_share(survey.until, survey.of_reachable)
        clauses.insert(0, f"at least {share} measured{describe_confidence(survey)}")
    if status.epochs or n_left is None or not status.figures_are_current:
        return f"{'; '.join(clauses)}; what is missing can cost {missing} at most{_age(status)}"
    left = f"{counted(n_left, 'known page')} left out, {'it' if n_left == 1 else 'they'} can cost {missing} at most"
    none_left = f"no known page left out; what is blocked or not known can cost {missing} at most"
    return "; ".join([*clauses, left if n_left else none_left if proved.lower < 1 else "no page left out"])


def describe_measured(status: CrawlStatus) -> str:
    """Describe the survey of the present epoch; empty if there is none."""
    survey = status.survey
    if survey is None or survey.measured is None:
        return ""
    return survey.describe(measured_from(status.epoch_number)) + _age(status)


def describe_epoch_coverage(status: CrawlStatus) -> str:
    """Describe the certificate of a refresh; empty in the first crawl."""
    if not status.epochs or status.figures is None or status.figures.epoch != status.epoch_number:
        return ""
    return describe_epoch(status.figures.certificate) + _age(status)


def describe_certificate(proved: Certificate) -> str:
    """Describe a certificate, as a sentence."""
    clauses = (f"{interval(proved)} of a surfer's time is on pages fetched", describe_unreachable(proved))
    return "; ".join(clause for clause in clauses if clause)


def describe_epoch(proved: Certificate) -> str:
    """Describe the certificate of an epoch after the first, about pages that were visited or not due."""
    return f"{interval(proved)} of a surfer's time, from this epoch's seeds, is on pages visited or not due"


def describe_suspect(n_pages: int) -> str:
    """Describe the number of pages that scripts may make; empty if there are none."""
    if not n_pages:
        return ""
    pages = counted(n_pages, "page")
    return f"{pages} perhaps made by scripts, and not rendered in a browser: their links count as unknown"


def describe_rendered(rendered: RenderedTally) -> str:
    """Describe what rendering found, and what it cost; empty if no page was rendered."""
    if not rendered.n_pages:
        return ""
    gained = f"{counted(rendered.n_links, 'more link')}, {counted(rendered.n_words, 'more word')}"
    clauses = [f"{counted(rendered.n_pages, 'page')} rendered in a browser: {gained}"]
    clauses.append(f"it took {rendered.cpu_s:,.1f} CPU-s and {counted(rendered.n_requests, 'request')}")
    if rendered.n_incomplete:
        clauses.append(f"{counted(rendered.n_incomplete, 'page')} not rendered completely")
    if rendered.anchors:
        clauses.append(_assumed(rendered.anchors))
    return "; ".join(clauses)


def describe_unarchived(n_pages: int) -> str:
    """Describe the number of pages that are not in the archive; empty if there are none."""
    if not n_pages:
        return ""
    return (
        f"{counted(n_pages, 'page')} not in the archive (noarchive, or imported without a body): "
        "neither searched nor exported"
    )


def describe_assets(assets: AssetFigures) -> str:
    """Describe the assets of pages; empty where none were requested."""
    if not assets.n_assets:
        return ""
    archived = (
        f"{counted(assets.n_archived, 'picture, style or the like', 'pictures, styles and the like')} in the archive"
    )
    reasons = [f"{plain(why, 60)} ({n:,})" for why, n in list(assets.failures.items())[:_REASONS_NAMED]]
    reasons += ["..."] if len(assets.failures) > _REASONS_NAMED else []
    failed = f"{assets.n_failed:,} failed: {', '.join(reasons)}" if assets.n_failed else ""
    pending = f"{assets.n_pending:,} still to be fetched" if assets.n_pending else ""
    return "; ".join(text for text in (f"{archived} ({size(assets.archive_bytes)})", failed, pending) if text)


def describe_lost(lost: Mapping[str, str]) -> str:
    """Describe the first few seeds without a page: `https://a.example/b: the server answered 404 (not found)`."""
    named = [_lost_seed(url, why) for url, why in list(lost.items())[:_SEEDS_NAMED]]
    n_more = len(lost) - len(named)
    return "; ".join([*named, f"and {counted(n_more, 'more seed')}"] if n_more else named)


def _lost_seed(url: str, why: str) -> str:
    """Describe one seed; a bare host is omitted where the reason names it."""
    return why if _is_home_page(url) and host_of(url) in why else f"{plain(url, 200)}: {why}"


def nothing_found(proved: Certificate | None) -> str:
    """Return the text of a search without results, with the chance that pages outside the crawl have some."""
    if proved is None or proved.lower <= 0:
        return "Nothing found."
    is_most = proved.lower >= _PROBABLY
    hence = ", so it probably does not exist" if is_most else "; the rest was not searched"
    return f"Nothing found. This crawl covers at least {percent(proved.lower)}{hence}."


def interval(proved: Certificate) -> str:
    return f"at least {percent(proved.lower)}, at most {percent(proved.upper, up=True)}"


def describe_unreachable(proved: Certificate) -> str:
    """Describe the unreachable mass; it is an upper bound, as a surfer may continue from there to fetched pages."""
    clauses = (
        (proved.blocked, "is unreachable: on blocked pages, or behind them"),
        (proved.unknown, "is behind links that are not known"),
    )
    return "; ".join(f"up to {percent(share, up=True)} {where}" for share, where in clauses if share)


def supposed(proved: Certificate) -> str:
    """Return the assumption of the upper bound, where it is below 1."""
    return f"for the upper bound, that {UPPER_ASSUMES}" if proved.upper < 1 else ""


def _age(status: CrawlStatus) -> str:
    """Return a note on outdated figures; none while a crawl is running, which is always a little ahead of them."""
    return "" if status.figures_are_current or status.holder is not None else " (as of some pages ago)"
