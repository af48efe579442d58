"""Verify the claims of a crawl folder against its contents: the certificate and the survey of its coverage.

The bounds are computed again from the rows of crawl.db, and the rows are compared with the archive (`archive_check`).

All events are replayed into a new Crawl, without the checkpoint. Its survey begins each stored round of walks at its
position. There the walks are drawn again from the seed and the unproved mass of that moment, and the thresholds of the
round are computed again. The results of walks follow from the pages. So an omitted, added or moved walk is detected,
and so is a page whose links were changed later, if a claim depends on it.

Whether the folder agrees with the web cannot be verified without requests to the web.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.crawl.crawl import Crawl
from orienteer.graph.coverage import Coverage
from orienteer.graph.growing_graph import PageHosts
from orienteer.graph.proved import Certificate
from orienteer.graph.push import LinkRows
from orienteer.graph.survey.crawl_survey import CrawlSurvey, SurveyRound, SurveyStart, error_left
from orienteer.graph.survey.measured import Measured
from orienteer.graph.survey.walking import Edge, draw_entries, random_level
from orienteer.inspect.archive_check import CheckedBounds, check_archive, checked_bounds, pages_without_record
from orienteer.inspect.crawl_status import CrawlStatus, crawl_status
from orienteer.inspect.run_report import Report
from orienteer.inspect.snapshot import library_certificate
from orienteer.inspect.status_text import interval, narrowed
from orienteer.inspect.survey_progress import SurveyProgress, how_measured
from orienteer.ledger.event_replay import EventReplay
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.setup import CrawlSetup
from orienteer.notebook import facts_html
from orienteer.pages.stop_reason import StopReason
from orienteer.progress import Progress, silent
from orienteer.store.database import Database, DatabaseView
from orienteer.store.failures import damaged
from orienteer.store.folder_view import FolderView
from orienteer.store.history import DonePages, KnownPages
from orienteer.wording import counted, plain

_ROUNDING = 1e-6  # sums may differ by this much on another machine
_LEVEL_ROUNDING = 1e-9  # the same for the page where a walk enters, in shares of the mass
_MAX_LISTED = 5  # problems of a kind that are listed one by one


class Moment(NamedTuple):
    """A moment of a crawl: the position of the next event, and the number of rounds of walks that had begun."""

    position: int
    n_rounds: int


@dataclass(frozen=True)
class Verification:
    """The result of a verification: bounds computed from the pages of a folder, and wrong claims (`problems`).

    `certificate` covers all epochs; `checked` is what the archive supports of it. `n_pages_read` records were read,
    none with `quick`. `is_claimed` is False if the folder has no figures of its present state, because the last run
    was killed. `status` has the claims of the folder.
    """

    folder: Path
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    certificate: Certificate
    checked: CheckedBounds
    n_pages_read: int
    survey: SurveyProgress | None
    n_rounds: int
    is_claimed: bool
    status: CrawlStatus

    @property
    def holds(self) -> bool:
        return not self.problems

    def as_dict(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "holds": self.holds,
            "text": str(self),
            "problems": list(self.problems),
            "notes": list(self.notes),
            "n_pages_read": self.n_pages_read,
            "is_claimed": self.is_claimed,
            "checked": asdict(self.checked),
            "certificate": self.certificate.as_dict(),
            "survey": None if self.survey is None else asdict(self.survey),
        }

    def __repr__(self) -> str:
        n_problems = f"{counted(len(self.problems), 'problem')}; " if self.problems else ""
        return f"<Verification: {n_problems}{self.certificate}; {counted(self.n_pages_read, 'archived page')} read>"

    def _repr_html_(self) -> str:
        facts = [("folder", self.folder), ("holds", self.holds), ("proved", str(self))]
        problems = [("problem", problem) for problem in self.problems[:_MAX_LISTED]]
        return facts_html("Verification of a crawl", [*facts, *problems])

    def __str__(self) -> str:
        """Return what was verified, in one line."""
        plan, proved = self.status.plan, self.checked.describe(self.certificate)
        scope, crawl, anchors = plan.scope, plan.crawl, self.status.rendered.anchors
        trust = dict(zip(crawl.seeds, crawl.seed_trust().tolist(), strict=True))
        for clause in narrowed(scope.kind, scope.allow, scope.deny, crawl.damping, trust, anchors, len(crawl.seeds)):
            proved += f"; {clause}"
        if self.survey is not None and self.survey.measured is not None:
            how = how_measured(self.checked.n_unchecked, self.survey.of_reachable, self.status.epoch_number)
            proved += f"; {self.survey.describe(how)}"
        what = "the certificate" if self.survey is None else "the certificate and the survey"
        verb = "agrees" if self.survey is None else "agree"
        if not self.is_claimed:
            note = "" if self.n_rounds == 0 else "; its walks are those of its seed"
            return f"the folder has no figures of its present state{note}; its pages prove this: {proved}"
        return f"{what} {verb} with the pages of the folder: {proved}"


@dataclass(frozen=True)
class Recomputed:
    """The bounds computed from the pages of a folder up to a moment; `problems` are walks that contradict the seed.

    `guarantee` is what the policy itself proves, or the lower bound; `n_waiting` pages are in the frontier.
    """

    certificate: Certificate
    survey: SurveyProgress | None
    n_rounds: int
    problems: tuple[str, ...]
    guarantee: float
    n_waiting: int


def verify(
    path: Path, progress: Progress = silent, quick: bool = False, read_stored: bool = False
) -> Verification:  # fmt: skip
    """Recompute what the crawl in this folder claims, and compare its rows with the archive; nothing is written.

    `quick` does not read the archive. `read_stored` also reads what is in object storage.
    """
    claimed = crawl_status(path, progress=progress)
    with FolderView.open(path) as folder:
        computed = recomputed(folder)
        problems = list(computed.problems)
        is_claimed = claimed.figures_are_current and claimed.certificate is not None
        if is_claimed:
            problems += _compared(claimed, computed.certificate, computed.survey, is_last=claimed.report_is_current)
        if claimed.report is not None and claimed.report_is_current:
            problems += ending_problems(claimed.report, claimed.plan, computed)
        proved, database = computed.certificate, folder.database
        if claimed.epochs:
            proved = library_certificate(database, claimed.plan)
            if claimed.library is not None and claimed.report_is_current:
                problems += _certificate_problems("the library's certificate", claimed.library, proved, is_last=True)
        archive = None if quick else check_archive(folder, None, read_stored, progress)
        unchecked = pages_without_record(database, claimed.position) if archive is None else archive.unchecked
        checked = checked_bounds(database, claimed.plan, proved, unchecked)
    notes = ["the archive was not read: whether the database agrees with it was not checked"] if archive is None else []
    if archive is not None:
        problems += archive.problems
        notes += [archive.note] if archive.note else []
    return Verification(
        folder=path,
        problems=tuple(problems),
        notes=tuple(notes),
        certificate=proved,
        checked=checked,
        n_pages_read=0 if archive is None else archive.n_read,
        survey=computed.survey,
        n_rounds=computed.n_rounds,
        is_claimed=is_claimed,
        status=claimed,
    )


def recomputed(folder: FolderView, until: Moment | None = None) -> Recomputed:
    """Replay the last epoch of a folder: all of it, or its events before a moment."""
    try:
        setup = _CheckedSetup(folder, _plan_of_survey(folder.database, CrawlPlan.of_folder(folder)), until)
        replayed = EventReplay(folder, setup.plan, setup)
    except (TypeError, ValueError, OverflowError) as error:  # its tables were edited
        raise damaged(folder.database.path, f"its survey cannot be read: {error}") from None
    survey, proved = setup.checked, replayed.crawl.certificate()
    proofs = replayed.crawl.guarantee, len(replayed.crawl.frontier)
    if survey is None:
        return Recomputed(proved, None, 0, (), *proofs)
    problems = tuple(survey.problems(replayed))
    return Recomputed(proved, _survey_progress(survey, proved), len(survey.rounds), problems, *proofs)


class CheckedSurvey(CrawlSurvey):
    """A survey that begins its stored rounds again, and compares them with those that follow from the seed."""

    def __init__(
        self,
        start: SurveyStart,
        trust: NDArray[np.float64],
        damping: float,
        known_trust: float,
        rounds: tuple[SurveyRound, ...],
        n_before: int,
    ) -> None:
        """Create it from the stored parameters; `n_before` surveys of the same epoch began earlier."""
        super().__init__(start, trust, damping, known_trust, rounds)
        self._max_error = error_left(start.confidence, n_before)
        self._n_stored = len(rounds)
        self._moved: list[tuple[int, int, int]] = []  # (walk, page where it entered, expected page)
        self._wrong_thresholds: list[int] = []  # rounds

    def _begin_round(self, round: SurveyRound, coverage: Coverage, links: LinkRows) -> None:
        if len(self.rounds) < self._n_stored:
            self._check(round)
        super()._begin_round(round, coverage, links)

    def _check(self, one: SurveyRound) -> None:
        """Draw a round again from the state at this moment, and compare."""
        edge, first = Edge.of(self._coverage), self._lives.n_begun
        allowed = edge.allowed(self.start.until, self.start.of_reachable)
        pairs = ((one.allowed, allowed), (one.free, edge.free), (one.stake, self._stake_of(first)))
        if not all(abs(stored - computed) <= _ROUNDING * max(1.0, computed) for stored, computed in pairs):
            self._wrong_thresholds.append(len(self.rounds))
        levels = np.array([random_level(self.start.seed, first + k) for k in range(len(one.entries))])
        shifts = (0.0, -_LEVEL_ROUNDING, _LEVEL_ROUNDING)
        near = [draw_entries(self._coverage, edge.free, np.clip(levels + shift, 0.0, 1.0)) for shift in shifts]
        for k, entry in enumerate(one.entries):
            if all(pages[k] != entry for pages in near):
                self._moved.append((first + k + 1, entry, int(near[0][k])))

    def problems(self, replayed: EventReplay) -> list[str]:
        """Return one line for each walk or round of the folder that contradicts its seed or its pages."""
        if not self.start.is_repeatable:
            return ["the random walks were drawn by an earlier version, so this one cannot check what they measured"]
        lines = []
        if not 0.0 < self.start.error <= self._max_error * (1.0 + _ROUNDING):
            lines.append(
                f"the survey allows an error of {self.start.error:.3g}, too much for a confidence of "
                f"{self.start.confidence:.10g}"
            )
        lines += [
            f"walk {walk:,} of the survey began at {plain(replayed.url(page), 200)}; by its seed it begins at "
            f"{plain(replayed.url(expected), 200)}"
            for walk, page, expected in self._moved[:_MAX_LISTED]
        ]
        if len(self._moved) > _MAX_LISTED:
            lines.append(f"{counted(len(self._moved) - _MAX_LISTED, 'more walk')} did not begin where the seed says")
        if self._wrong_thresholds:
            which, n = self._wrong_thresholds[0] + 1, len(self._wrong_thresholds)
            lines.append(
                f"{counted(n, 'round')} of walks (the first is round {which:,}) {'has' if n == 1 else 'have'} stored "
                "thresholds that do not follow from the pages"
            )
        if self.pending_rounds:
            lines.append(
                f"{counted(len(self.pending_rounds), 'round')} of walks cannot have begun at the stored positions"
            )
        if len(self.rounds) > self._n_stored:
            n_more = len(self.rounds) - self._n_stored
            lines.append(f"{counted(n_more, 'round')} of walks {'is' if n_more == 1 else 'are'} missing")
        return lines


class _CheckedSetup(CrawlSetup):
    """The last epoch of a folder, replayed from its beginning, with a survey that checks itself."""

    uses_checkpoints = False
    checked: CheckedSurvey | None = None

    def __init__(self, folder: FolderView, plan: CrawlPlan, until: Moment | None) -> None:
        super().__init__(folder, plan)
        self._until = until

    def new_crawl(self, hosts: PageHosts) -> Crawl:
        crawl, survey = super().new_crawl(hosts), self.survey
        if survey is not None and survey.start is not None:
            trust, known = crawl.trusted.vector(crawl.web.n_pages), 1.0 - crawl.coverage.hidden
            rounds = survey.rounds if self._until is None else survey.rounds[: self._until.n_rounds]
            n_before = self._database.surveys.count(0 if self.epoch is None else self.epoch.id) - 1
            self.checked = CheckedSurvey(survey.start, trust, crawl.policy.damping, known, rounds, n_before)
            crawl.survey = self.checked
        return crawl

    def history(self, database: Database) -> Iterator[DonePages | KnownPages]:
        for events in super().history(database):
            if self._until is None:
                yield events
            elif isinstance(events, DonePages):
                if len((earlier := events.before(self._until.position)).pages):
                    yield earlier
            elif events.position < self._until.position:
                yield events


def _plan_of_survey(database: DatabaseView, plan: CrawlPlan) -> CrawlPlan:
    """Return the plan with the goal of the last survey: the settings may have changed since."""
    epoch = database.epochs.last()
    last = database.surveys.last(0 if epoch is None else epoch.id)
    more = [word.strip() for word in plan.crawl.stop_when.split(",")[1:]]
    if last is None:
        return replace(plan, crawl=replace(plan.crawl, stop_when=",".join(["proved", *more])))
    how = [f"measured:{last[1].confidence}", *(word for word in more if word != "reachable")]
    return replace(plan, crawl=replace(plan.crawl, until=last[1].until, stop_when=",".join(how)))


def _survey_progress(survey: CheckedSurvey, proved: Certificate) -> SurveyProgress:
    start = survey.start
    lower = proved.of_reachable if start.of_reachable else proved.lower
    measured: Measured | None = survey.measured(proved)
    return SurveyProgress(measured, survey.progress, start.until, start.of_reachable, lower >= start.until)


def _compared(claimed: CrawlStatus, proved: Certificate, survey: SurveyProgress | None, is_last: bool) -> list[str]:
    """Return the claims that do not follow from the pages. `is_last` is True for a report, which must be exact."""
    assert claimed.certificate is not None
    problems = _certificate_problems("the certificate", claimed.certificate, proved, is_last)
    claimed_survey = claimed.survey
    if claimed_survey is None or claimed_survey.measured is None:
        return problems
    if survey is None or survey.measured is None:
        return [*problems, "the folder says that its coverage is measured, but no walk of it has ended"]
    is_as_high = survey.is_reached and survey.until >= claimed_survey.until
    if claimed_survey.is_reached and not (is_as_high and _is_as_sure(survey, claimed_survey)):
        problems.append(f"the folder says '{claimed_survey.describe()}', but its walks say '{survey.describe()}'")
    elif is_last and claimed_survey.measured.n_walks != survey.measured.n_walks:
        n_claimed, n_found = claimed_survey.measured.n_walks, survey.measured.n_walks
        problems.append(f"the folder says that {counted(n_claimed, 'walk')} have ended; by its pages {n_found:,} have")
    return problems


def ending_problems(report: Report, plan: CrawlPlan, computed: Recomputed) -> list[str]:
    """Compare the result of the last run, which certificates repeat, with what follows from the pages."""
    goal, why, proved, survey = report.figures.goal, report.stopped_because, computed.certificate, computed.survey
    reached = 0.0 if survey is None else survey.claimed or 0.0
    shares = {
        StopReason.COVERAGE: proved.of_reachable if goal.of_reachable else max(proved.lower, computed.guarantee),
        StopReason.MEASURED: reached,
        StopReason.REACHABLE: max(proved.of_reachable, reached),
    }
    is_too_high = goal.until is not None and shares.get(why, 1.0) < goal.until - _ROUNDING
    is_first = computed.n_waiting and report.figures.epoch == 0 and plan.scope.max_depth is None
    if not is_too_high and not (why is StopReason.FRONTIER_EMPTY and is_first):
        return []
    return [f"the report says '{report.headline}', which does not follow from the pages"]


def _is_as_sure(survey: SurveyProgress, claimed_survey: SurveyProgress) -> bool:
    assert survey.measured is not None
    assert claimed_survey.measured is not None
    return survey.measured.confidence >= claimed_survey.measured.confidence


def _certificate_problems(name: str, claimed: Certificate, computed: Certificate, is_last: bool) -> list[str]:
    """Compare a certificate; earlier figures may claim less than is proved, never more."""
    claims: Mapping[str, float] = {"lower": claimed.lower - computed.lower, "upper": computed.upper - claimed.upper}
    too_much = any(gap > _ROUNDING for gap in claims.values())
    too_little = is_last and any(gap < -_ROUNDING for gap in claims.values())
    if not (too_much or too_little):
        return []
    return [f"{name} claims '{interval(claimed)}', but from the pages follows '{interval(computed)}'"]
