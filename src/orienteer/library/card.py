"""What is shown of a crawl where there are many."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from orienteer.inspect.folder_status import FolderStatus
from orienteer.inspect.status_in_words import coverage_in_words, goal_in_words, stopped_in_words
from orienteer.library.job import Job
from orienteer.library.job_progress import crawl_line
from orienteer.wording import plain


@dataclass(frozen=True)
class Card:
    """A crawl of the library at a glance.

    `state` is "new" (nothing fetched yet), "running", "finished" (its goal is reached), "stopped" or "damaged". A crawl
    runs whoever started it; `job` is the one that works on it now, or else its last. `sentence` says how it stands.
    `lower` and `upper` bound the coverage that is proved, `measured` is what random walks say; None while not known.
    `last_time` is that of the newest page. `trouble` says in one line what is wrong with the folder.
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
    trouble: str | None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"job": None if self.job is None else self.job.as_dict()}


def card_of(name: str, status: FolderStatus, is_indexed: bool, job: Job | None) -> Card:
    """The card of a crawl that can be read."""
    proved = status.library if status.epochs and status.library is not None else status.certificate
    walked = status.surveyed
    return Card(
        name=name,
        seeds=status.plan.crawl.seeds,
        state=_state(status),
        sentence=_sentence(status),
        lower=None if proved is None else proved.lower,
        upper=None if proved is None else proved.upper,
        measured=None if walked is None or walked.measured is None else walked.measured.estimate,
        n_fetched=status.n_fetched,
        n_urls=status.n_urls,
        last_time=status.last_time,
        bytes=status.archive_bytes + status.database_bytes,
        is_indexed=is_indexed,
        job=job,
        trouble=None,
    )


def new_card(name: str, job: Job) -> Card:
    """The card of a crawl that is about to begin."""
    url = job.options.get("url")
    seeds = (url,) if isinstance(url, str) else ()
    sentence = job.line or "it is about to begin"
    return Card(name, seeds, "new", sentence, None, None, None, 0, 0, None, 0, False, job, None)


def damaged_card(name: str, trouble: str, n_bytes: int, job: Job | None) -> Card:
    """The card of a folder that cannot be read."""
    return Card(
        name, (), "damaged", "it cannot be read", None, None, None, 0, 0, None, n_bytes, False, job, plain(trouble, 500)
    )


def _state(status: FolderStatus) -> str:
    if status.holder is not None:
        return "running"
    if status.first_time is None:
        return "new"
    is_reached = status.report_is_current and bool((status.report or {}).get("goal_reached"))
    return "finished" if is_reached else "stopped"


def _sentence(status: FolderStatus) -> str:
    if status.holder is not None:
        return crawl_line(status) or "it is about to begin"
    if status.first_time is None:
        return f"nothing has been fetched yet; the goal is {goal_in_words(status.plan.crawl)}"
    return stopped_in_words(status) or coverage_in_words(status)
