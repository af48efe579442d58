"""Whether what a crawl folder claims follows from what it holds: its certificate, and the survey of its coverage.

All that has happened is told to a new Crawl, without the checkpoint. Its survey begins the walks that the folder has
noted, each at its moment; there they are drawn once more, by the seed, from the mass that lies outside at that moment.
So are what they are held to, and the stake. What they find follows from the pages. A walk that was left out, or added,
or begun elsewhere, is noticed, and so is a page whose links are not those of then, if that matters to a claim.

Whether the folder tells the truth about the web is another matter: nobody can tell that without asking the web.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.crawl.crawl import Crawl
from orienteer.graph.page_hosts import PageHosts
from orienteer.graph.proved import Certificate
from orienteer.graph.push import Links
from orienteer.graph.survey.crawl_survey import CrawlSurvey, Round, SurveyStart
from orienteer.graph.survey.entries import Edge, drawn, random_level
from orienteer.graph.survey.measured import Measured
from orienteer.graph.survey.pace import recent_walks
from orienteer.inspect.folder_status import FolderStatus, folder_status
from orienteer.inspect.library_certificate import library_certificate
from orienteer.inspect.status_in_words import interval
from orienteer.inspect.surveyed import Surveyed
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.retelling import Retelling
from orienteer.ledger.setup import CrawlSetup
from orienteer.progress import Progress, silent
from orienteer.store.database import Database
from orienteer.store.database_view import DatabaseView
from orienteer.store.failures import damaged
from orienteer.store.folder_view import FolderView
from orienteer.store.history import DonePages, KnownPages
from orienteer.wording import counted, plain

_ROUNDING = 1e-6  # what sums may differ by on another machine
_LEVEL_ROUNDING = 1e-9  # the same for the place where a walk enters, in shares of the mass
_FEW = 5  # problems of a kind that are told one by one


class Moment(NamedTuple):
    """A moment of a crawl: the position of the next event, and how many rounds of walks had begun."""

    position: int
    n_rounds: int


@dataclass(frozen=True)
class Verification:
    """What follows from the pages of a folder, and where that is not what the folder says (`problems`).

    `is_claimed` is False where the folder has no figures of its present state, since the last run was killed. `status`
    is what the folder says.
    """

    folder: Path
    problems: tuple[str, ...]
    certificate: Certificate
    walked: Surveyed | None
    n_rounds: int
    is_claimed: bool
    status: FolderStatus

    @property
    def holds(self) -> bool:
        return not self.problems

    def as_dict(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "holds": self.holds,
            "problems": list(self.problems),
            "is_claimed": self.is_claimed,
            "certificate": self.certificate.as_dict(),
            "survey": None if self.walked is None else asdict(self.walked),
        }

    def __str__(self) -> str:
        """In one line what holds."""
        found = f"proved: {interval(self.certificate)}"
        if self.walked is not None and self.walked.measured is not None:
            found += f"; {self.walked.in_words()}"
        what = "the certificate" if self.walked is None else "the certificate and the survey"
        verb = "is" if self.walked is None else "are"
        if not self.is_claimed:
            told = "" if self.n_rounds == 0 else "; its walks are those of its seed"
            return f"the folder has no figures of its present state{told}; from its pages follows: {found}"
        return f"{what} {verb} what the folder says: {found}"


@dataclass(frozen=True)
class Recomputed:
    """What follows from the pages of a folder up to a moment; `problems` are walks that are not those of the seed."""

    certificate: Certificate
    walked: Surveyed | None
    n_rounds: int
    problems: tuple[str, ...]


def verify(path: Path, progress: Progress = silent) -> Verification:
    """Recompute what the crawl in this folder claims. Nothing is written; it takes as long as to retell the crawl."""
    claimed = folder_status(path, progress=progress)
    with FolderView.open(path) as folder:
        found = recomputed(folder)
        problems = list(found.problems)
        is_claimed = claimed.figures_are_current and claimed.certificate is not None
        if is_claimed:
            problems += _compared(claimed, found.certificate, found.walked, is_last=claimed.report_is_current)
        if claimed.library is not None and claimed.report_is_current:
            library = library_certificate(folder.database, claimed.plan)
            problems += _certificate_problems("the library's certificate", claimed.library, library, is_last=True)
    return Verification(
        path, tuple(problems), found.certificate, found.walked, found.n_rounds, is_claimed, claimed
    )  # fmt: skip


def recomputed(folder: FolderView, until: Moment | None = None) -> Recomputed:
    """Tell the last epoch of a folder anew: all of it, or what had happened by a moment of it."""
    try:
        setup = _CheckedSetup(folder, _plan_of_survey(folder.database, CrawlPlan.of_folder(folder)), until)
        told = Retelling(folder, setup.plan, setup)
    except (TypeError, ValueError, OverflowError) as error:  # somebody has written into its tables
        raise damaged(folder.database.path, f"its survey cannot be read: {error}") from None
    survey, proved = setup.checked, told.crawl.certificate()
    if survey is None:
        return Recomputed(proved, None, 0, ())
    problems = tuple(survey.told_problems(told))
    return Recomputed(proved, _walked(survey, proved), len(survey.rounds), problems)


class CheckedSurvey(CrawlSurvey):
    """A survey whose rounds of before begin again, and are compared with what the seed says."""

    def __init__(
        self,
        start: SurveyStart,
        trust: NDArray[np.float64],
        damping: float,
        known_trust: float,
        rounds: tuple[Round, ...],
    ) -> None:
        super().__init__(start, trust, damping, known_trust, rounds)
        self._n_noted = len(rounds)
        self._moved: list[tuple[int, int, int]] = []  # a walk, where it entered, where it should have
        self._wrong_numbers: list[int] = []  # rounds

    def _begin(self, one: Round, links: Links) -> None:
        if len(self.rounds) < self._n_noted:
            self._check(one)
        super()._begin(one, links)

    def _check(self, one: Round) -> None:
        """Draw a round as it should have been, from what is known at this moment."""
        edge, first = Edge.of(self._coverage), self._lives.n_begun
        allowed = edge.allowed(self.start.until, self.start.of_reachable)
        recent = self._evidence.scores[: self._evidence.n][recent_walks(self._starts(), len(self._order))]
        stake = self._pace.plan(
            len(self._order), allowed, edge.free, self._evidence, self._gains, recent, first, self.n_probes
        ).stake
        pairs = ((one.allowed, allowed), (one.free, edge.free), (one.stake, stake))
        if not all(abs(noted - found) <= _ROUNDING * max(1.0, found) for noted, found in pairs):
            self._wrong_numbers.append(len(self.rounds))
        levels = np.array([random_level(self.start.seed, first + k) for k in range(len(one.entries))])
        shifts = (0.0, -_LEVEL_ROUNDING, _LEVEL_ROUNDING)
        near = [drawn(self._coverage, edge.free, np.clip(levels + shift, 0.0, 1.0)) for shift in shifts]
        for k, entry in enumerate(one.entries):
            if all(pages[k] != entry for pages in near):
                self._moved.append((first + k + 1, entry, int(near[0][k])))

    def told_problems(self, told: Retelling) -> list[str]:
        """Where the walks of the folder are not those of its seed, in lines."""
        lines = []
        confidence, most = self.start.confidence, SurveyStart(self.start.until, self.start.confidence, "").error
        if not 0.0 < self.start.error <= most * (1.0 + _ROUNDING):
            lines.append(f"the survey is held to an error of {self.start.error:.3g}, too much for {confidence:.10g}")
        lines += [
            f"walk {walk:,} of the survey began at {plain(told.url(page), 200)}; by its seed it begins at "
            f"{plain(told.url(wanted), 200)}"
            for walk, page, wanted in self._moved[:_FEW]
        ]
        if len(self._moved) > _FEW:
            lines.append(f"{counted(len(self._moved) - _FEW, 'more walk')} began elsewhere than by the seed")
        if self._wrong_numbers:
            which, n = self._wrong_numbers[0] + 1, len(self._wrong_numbers)
            lines.append(
                f"{counted(n, 'round')} of walks, the first of them round {which:,}, {'is' if n == 1 else 'are'} held "
                "to other numbers than follow from the pages"
            )
        if self.to_come:
            lines.append(f"{counted(len(self.to_come), 'round')} of walks cannot have begun when the folder says")
        if len(self.rounds) > self._n_noted:
            n_more = len(self.rounds) - self._n_noted
            lines.append(f"{counted(n_more, 'round')} of walks {'is' if n_more == 1 else 'are'} missing")
        return lines


class _CheckedSetup(CrawlSetup):
    """The last epoch of a folder, told from its beginning, with a survey that checks itself."""

    uses_checkpoints = False
    checked: CheckedSurvey | None = None

    def __init__(self, folder: FolderView, plan: CrawlPlan, until: Moment | None) -> None:
        super().__init__(folder, plan)
        self._until = until

    def new_crawl(self, hosts: PageHosts) -> Crawl:
        crawl, kept = super().new_crawl(hosts), self.survey
        if kept is not None and kept.start is not None:
            trust, known = crawl.trusted.vector(crawl.web.n_pages), 1.0 - crawl.coverage.hidden
            rounds = kept.rounds if self._until is None else kept.rounds[: self._until.n_rounds]
            self.checked = CheckedSurvey(kept.start, trust, crawl.policy.damping, known, rounds)
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
    """The plan with the goal of the last survey: the settings may have been changed since."""
    epoch = database.last_epoch()
    found = database.last_survey(0 if epoch is None else epoch.id)
    if found is None:
        return replace(plan, crawl=replace(plan.crawl, proof=True))
    until, confidence = found[1].until, found[1].confidence
    settings = replace(plan.crawl, until=until, confidence=confidence, proof=False, of_reachable=False)
    return replace(plan, crawl=settings)


def _walked(survey: CheckedSurvey, proved: Certificate) -> Surveyed:
    start = survey.start
    lower = proved.of_reachable if start.of_reachable else proved.lower
    measured: Measured | None = survey.measured(proved)
    return Surveyed(measured, survey.progress, start.until, start.of_reachable, lower >= start.until)


def _compared(claimed: FolderStatus, proved: Certificate, walked: Surveyed | None, is_last: bool) -> list[str]:
    """What the figures of a folder say that does not follow from its pages. Those of a report are the last word."""
    assert claimed.certificate is not None
    problems = _certificate_problems("the certificate", claimed.certificate, proved, is_last)
    said = claimed.surveyed
    if said is None or said.measured is None:
        return problems
    if walked is None or walked.measured is None:
        return [*problems, "the folder says that its coverage is measured, but no walk of it has ended"]
    if said.is_reached and not (walked.is_reached and walked.until >= said.until and _is_as_sure(walked, said)):
        problems.append(f"the folder says '{said.in_words()}', but its walks say '{walked.in_words()}'")
    elif is_last and said.measured.n_walks != walked.measured.n_walks:
        n_said, n_found = said.measured.n_walks, walked.measured.n_walks
        problems.append(f"the folder says that {counted(n_said, 'walk')} have ended; by its pages it is {n_found:,}")
    return problems


def _is_as_sure(walked: Surveyed, said: Surveyed) -> bool:
    assert walked.measured is not None
    assert said.measured is not None
    return walked.measured.confidence >= said.measured.confidence


def _certificate_problems(name: str, said: Certificate, found: Certificate, is_last: bool) -> list[str]:
    """Figures of a moment before the last may say less than is proved, never more."""
    claims: Mapping[str, float] = {"lower": said.lower - found.lower, "upper": found.upper - said.upper}
    too_much = any(gap > _ROUNDING for gap in claims.values())
    too_little = is_last and any(gap < -_ROUNDING for gap in claims.values())
    if not (too_much or too_little):
        return []
    return [f"{name} is said to be '{interval(said)}', but from the pages follows '{interval(found)}'"]
