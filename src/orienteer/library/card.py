"""The summary of a crawl in a list of crawls."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from orienteer.inspect.folder_status import FolderStatus
from orienteer.inspect.status_text import describe_coverage, describe_goal, describe_stopped
from orienteer.library.job import Job
from orienteer.library.job_progress import progress_line
from orienteer.wording import plain


@dataclass(frozen=True)
class Card:
    """The summary of a crawl of the library.

    `state` is "new" (nothing fetched yet), "running" (in any process), "finished" (its goal is reached), "stopped" or
    "damaged". `job` is the job that works on it now, or else its last one. `sentence` describes the state. `lower` and
    `upper` are the proved bounds of the coverage, `measured` is the estimate from random walks; None while unknown.
    `last_time` is the time of the newest page. `problem` says in one line what is wrong with a damaged folder.
    """

    name: str
    seeds: tuple[str, ...]
    state: str
    sentence: str
    lower: float | None
    upper: float | None
    measured: float | None
    n_fetched: int
    n_urls: int
    last_time: float | None
    bytes: int
    is_indexed: bool
    job: Job | None
    problem: str | None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"job": None if self.job is None else self.job.as_dict()}


def card_of(name: str, status: FolderStatus, n_bytes: int, is_indexed: bool, job: Job | None) -> Card:
    """Return the card of a readable crawl."""
    proved = status.proved or status.certificate
    survey = status.survey
    return Card(
        name=name,
        seeds=status.plan.crawl.seeds,
        state=_state(status),
        sentence=_sentence(status),
        lower=None if proved is None else proved.lower,
        upper=None if proved is None else proved.upper,
        measured=None if survey is None or survey.measured is None else survey.measured.estimate,
        n_fetched=status.n_fetched,
        n_urls=status.n_urls,
        last_time=status.last_time,
        bytes=n_bytes,
        is_indexed=is_indexed,
        job=job,
        problem=None,
    )


def new_card(name: str, job: Job) -> Card:
    """Return the card of a crawl that has no folder yet."""
    url = job.options.get("url")
    seeds = (url,) if isinstance(url, str) else ()
    sentence = job.line or "it is about to start"
    return Card(name, seeds, "new", sentence, None, None, None, 0, 0, None, 0, False, job, None)


def damaged_card(name: str, problem: str, n_bytes: int, job: Job | None) -> Card:
    """Return the card of a folder that cannot be read."""
    return Card(
        name, (), "damaged", "it cannot be read", None, None, None, 0, 0, None, n_bytes, False, job, plain(problem, 500)
    )


def _state(status: FolderStatus) -> str:
    if status.holder is not None:
        return "running"
    if status.first_time is None:
        return "new"
    return "finished" if status.ending is not None and status.ending.goal_reached else "stopped"


def _sentence(status: FolderStatus) -> str:
    if status.holder is not None:
        return progress_line(status) or "it is about to start"
    if status.first_time is None:
        return f"nothing has been fetched yet; the goal is {describe_goal(status.plan.crawl)}"
    return describe_stopped(status) or describe_coverage(status)
