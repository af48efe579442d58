"""How a crawl stands, in words: as commands print it, and as the browser shows it.

Bounds are rounded so that what is said stays true.
"""

from __future__ import annotations

from collections.abc import Mapping

from orienteer.graph.proved import UPPER_SUPPOSES, Certificate, percent
from orienteer.graph.survey.measured import confidence_text
from orienteer.inspect.folder_status import FolderStatus
from orienteer.inspect.surveyed import Surveyed
from orienteer.ledger.plan import CrawlSettings
from orienteer.pages.stop_reason import StopReason
from orienteer.store.shown_tables import PartFigures, RenderedTally
from orienteer.url import host_of
from orienteer.wording import counted, goal_share, plain, size

_SEEDS_NAMED = 3


def goal_in_words(settings: CrawlSettings) -> str:
    """When the crawl is to stop: `a coverage of 98 % or 2,000 pages`."""
    wanted = settings.goal()
    goals = [
        "" if wanted.until is None else f"a coverage of {share_in_words(wanted.until, wanted.of_reachable)}",
        counted(settings.budget, "page") if settings.budget is not None else "",
    ]
    return " or ".join(goal for goal in goals if goal) or "every page in reach"


def share_in_words(until: float, of_reachable: bool) -> str:
    """A coverage that was asked for: `98 %`, `98 % of what is reachable`."""
    return goal_share(until) + " of what is reachable" * of_reachable


def ending(
    stopped_because: str, until: float | None, budget: int | None, of_reachable: bool = False,
    walked: Surveyed | None = None,
) -> str:  # fmt: skip
    """Why a crawl with this goal stopped, as a sentence; `walked` is its survey, if it had one."""
    wanted = "" if until is None else share_in_words(until, of_reachable)
    unproved = f", but {wanted} is {'not proved' if walked is None else 'not measured or proved'}" if wanted else ""
    if stopped_because == StopReason.COVERAGE and wanted:
        return f"a coverage of {wanted} is proved"
    if stopped_because == StopReason.MEASURED and wanted:
        return f"a coverage of {wanted} is measured{_confidence(walked)}"
    if stopped_because == StopReason.REACHABLE and until is not None:
        is_measured = walked is not None and walked.is_reached and not walked.is_proved
        how = f"measured{_confidence(walked)}" if is_measured else "proved"
        return f"a coverage of {share_in_words(until, True)} is {how}, but {wanted} of everything cannot be proved"
    if stopped_because == StopReason.BUDGET and budget is not None:
        return f"the budget of {counted(budget, 'page')} is spent{unproved}"
    if stopped_because == StopReason.FRONTIER_EMPTY:
        return f"nothing is left to fetch{unproved}"
    if stopped_because == StopReason.IMPORTED:
        return "it was imported; to continue it: orienteer crawl"
    if stopped_because == StopReason.INTERRUPTED:
        return f"it was interrupted{unproved}"
    if stopped_because == StopReason.LOGIN_FAILED:
        return f"it paused, since it is not logged in any more{unproved}"
    return plain(stopped_because)


def _confidence(walked: Surveyed | None) -> str:
    measured = None if walked is None else walked.measured
    return "" if measured is None else f", with {confidence_text(measured.confidence)} confidence"


def stopped_in_words(found: FolderStatus) -> str:
    """Why the crawl is not running; empty while it is, or has not begun."""
    if found.holder is not None or found.first_time is None:
        return ""
    if found.report is None or not found.report_is_current:
        return "the last run ended without a report: it was killed, or the machine went down"
    figures, settings = found.figures or {}, found.plan.crawl
    if found.report.get("stopped_because") == StopReason.IMPORTED:
        return ending(StopReason.IMPORTED, None, None)
    reached = "goal reached" if found.report.get("goal_reached") else "goal not reached"
    # As they were in that run: the settings may have been changed since.
    until, budget = figures.get("until", settings.until), figures.get("budget", settings.budget)
    of_reachable = bool(figures.get("of_reachable"))
    why = ending(str(found.report.get("stopped_because")), until, budget, of_reachable, found.surveyed)
    trouble = found.report.get("trouble")
    return f"{reached}: {why}" + (f" ({plain(str(trouble), 300)})" if trouble else "")


def impossible_in_words(until: float, proved: Certificate, reasons: str = "") -> str:
    """That a coverage cannot be proved, and why, as a sentence."""
    why = f" ({reasons})" if reasons else ""
    parts = (
        (proved.blocked, f"on blocked pages{why}, or behind them"),
        (proved.unknown, "behind links that are not known"),
    )
    lost = [f"up to {percent(share, up=True)} of a surfer's time is {where}" for share, where in parts if share]
    return f"{goal_share(until)} cannot be proved: {', and '.join(lost)}"


def impossible_goal_in_words(found: FolderStatus) -> str:
    """That the goal of the present or the last run cannot be reached; empty where it can."""
    figures, proved = found.figures or {}, found.certificate
    until = figures.get("until")
    is_impossible = figures.get("goal_is_impossible") and isinstance(until, float) and proved is not None
    return impossible_in_words(until, proved) if is_impossible else ""  # type: ignore[arg-type]


def of_reachable_in_words(proved: Certificate) -> str:
    """What is covered of what is reachable; empty where that is everything."""
    if not (proved.blocked or proved.unknown):
        return ""
    return f"at least {percent(proved.of_reachable)} of what is reachable is covered"


def coverage_in_words(found: FolderStatus) -> str:
    """What is proved of all that the crawl has; empty where nothing is."""
    if found.epochs:
        older = "" if found.report_is_current else " (as of the last refresh that came to its end)"
        return "" if found.library is None else certificate_in_words(found.library) + older
    if found.certificate is None:
        return ""
    how = "proved: " if measured_in_words(found) else ""
    return how + certificate_in_words(found.certificate) + _age(found)


def result_in_words(found: FolderStatus) -> str:
    """What a crawl that is not running has come to, and what it may lack: `98 % proved; 418 known pages left out, ...`.

    Whatever was left out, and whatever is behind it, can cost no more than what is not proved.
    """
    proved = found.library if found.epochs else found.certificate
    if found.holder is not None or proved is None:
        return ""
    walked, n_left = found.surveyed, (found.figures or {}).get("n_frontier")
    missing = percent(1.0 - proved.lower, up=True)
    parts = [f"{percent(proved.lower)} proved"]
    if found.epochs:
        parts[0] += f", after {counted(len(found.epochs) - 1, 'refresh', 'refreshes')}"
    elif walked is not None and walked.claimed is not None and not walked.is_proved:
        parts.insert(0, f"at least {share_in_words(walked.until, walked.of_reachable)} measured{_confidence(walked)}")
    if found.epochs or not isinstance(n_left, int) or not found.figures_are_current:
        return f"{'; '.join(parts)}; what is missing can cost {missing} at most{_age(found)}"
    left = f"{counted(n_left, 'known page')} left out, {'it' if n_left == 1 else 'they'} can cost {missing} at most"
    none_left = f"no known page left out; what is blocked or not known can cost {missing} at most"
    return "; ".join([*parts, left if n_left else none_left if proved.lower < 1 else "no page left out"])


def measured_in_words(found: FolderStatus) -> str:
    """What random walks say of the present epoch; empty where there are none."""
    walked = found.surveyed
    return "" if walked is None or walked.measured is None else walked.in_words() + _age(found)


def coverage_of_epoch_in_words(found: FolderStatus) -> str:
    """What is proved in a refresh; empty in the first crawl."""
    if not found.epochs or found.certificate is None or (found.figures or {}).get("epoch") != found.epochs[-1].number:
        return ""
    return epoch_in_words(found.certificate) + _age(found)


def certificate_in_words(proved: Certificate) -> str:
    """What a certificate says, as a sentence."""
    parts = (f"{interval(proved)} of a surfer's time is on pages fetched", out_of_reach(proved))
    return "; ".join(part for part in parts if part)


def epoch_in_words(proved: Certificate) -> str:
    """The certificate of an epoch after the first: what was looked at again, or need not be."""
    return f"{interval(proved)} of a surfer's time, from this epoch's seeds, is on pages looked at or not due"


def suspect_in_words(n_pages: int) -> str:
    """Pages that scripts may make; empty where there are none."""
    if not n_pages:
        return ""
    pages = counted(n_pages, "page")
    return f"{pages} perhaps made by scripts, and not shown in a browser: links there count as not known"


def rendered_in_words(rendered: RenderedTally) -> str:
    """What showing pages in a browser found, and what it cost; empty where none was."""
    if not rendered.n_pages:
        return ""
    found = f"{counted(rendered.n_links, 'more link')}, {counted(rendered.n_words, 'more word')}"
    parts = [f"{counted(rendered.n_pages, 'page')} shown in a browser: {found}"]
    parts.append(f"it took {rendered.cpu_s:,.1f} CPU-s and {counted(rendered.n_parts, 'request')}")
    if rendered.n_in_trouble:
        parts.append(f"{counted(rendered.n_in_trouble, 'page')} not shown completely")
    return "; ".join(parts)


def unarchived_in_words(n_pages: int) -> str:
    """Pages that are not in the archive; empty where there are none."""
    if not n_pages:
        return ""
    return (
        f"{counted(n_pages, 'page')} not in the archive (noarchive, or imported without a body): "
        "neither searched nor exported"
    )


def parts_in_words(parts: PartFigures) -> str:
    """What pages are shown with; empty where nobody asked for it."""
    if not parts.n_parts:
        return ""
    kept = f"{counted(parts.n_archived, 'picture, style or the like', 'pictures, styles and the like')} in the archive"
    more = ((parts.n_failed, "failed"), (parts.n_wanted, "still wanted"))
    return "".join((f"{kept} ({size(parts.archive_bytes)})", *(f", {n:,} {what}" for n, what in more if n)))


def lost_in_words(lost: Mapping[str, str]) -> str:
    """Seeds that led to no page, the first few of them: `https://a.example/b: the server answered 404 (not found)`."""
    named = [_lost_seed(url, why) for url, why in list(lost.items())[:_SEEDS_NAMED]]
    n_more = len(lost) - len(named)
    return "; ".join([*named, f"and {counted(n_more, 'more seed')}"] if n_more else named)


def _lost_seed(url: str, why: str) -> str:
    """A seed that is no more than its host need not be named where the reason names the host."""
    is_host = url.count("/") == 3 and url.endswith("/")
    return why if is_host and host_of(url) in why else f"{plain(url, 200)}: {why}"


def interval(proved: Certificate) -> str:
    return f"at least {percent(proved.lower)}, at most {percent(proved.upper, up=True)}"


def out_of_reach(proved: Certificate) -> str:
    """Who comes to a blocked page may go on to a fetched one: the mass there is the most that can be lost by it."""
    parts = (
        (proved.blocked, "is out of reach: on blocked pages, or behind them"),
        (proved.unknown, "is behind links that are not known"),
    )
    return "; ".join(f"up to {percent(share, up=True)} {where}" for share, where in parts if share)


def supposed(proved: Certificate) -> str:
    """What the upper bound supposes, where it says anything."""
    return f"for the upper bound, that {UPPER_SUPPOSES}" if proved.upper < 1 else ""


def _age(found: FolderStatus) -> str:
    """While a crawl is running nobody expects anything else."""
    return "" if found.figures_are_current or found.holder is not None else " (as of some pages ago)"
