"""The stored schedules of a library, and the scheduler that runs them."""

from __future__ import annotations

import json
import os
import shutil
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orienteer.errors import InputError, NotInLibraryError
from orienteer.ledger.revisiting import DAY_S
from orienteer.library.job import Job
from orienteer.library.jobs import Jobs
from orienteer.library.library import Library
from orienteer.library.schedule import RETRY_S, Schedule, due_at
from orienteer.library.schedules import RefreshScheduler, Schedules, schedule_state_of
from orienteer.store.folder import CrawlFolder
from tests.fake_web.changing import ChangingSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import crawled

HOME = "http://a.test/"


@pytest.fixture
def library(changed: Path, tmp_path: Path) -> Library:
    """A library with a crawl, town, that was refreshed three times."""
    shutil.copytree(changed, tmp_path / "library" / "town")
    return Library(tmp_path / "library")


@pytest.fixture
def schedules(library: Library) -> Schedules:
    return Schedules(library)


def test_a_schedule_is_stored(schedules: Schedules) -> None:
    assert schedules.get("town") is None
    assert schedules.names() == []
    request = Schedule("week", at="04:30", on="friday", webhook="https://example.org/hook", feed="https://a.test/feed")
    schedules.set("town", request)
    assert Schedules(schedules.library).get("town") == request
    assert schedules.names() == ["town"]
    text = (schedules.library.path / ".schedules" / "town.toml").read_text()
    assert 'on = "friday"' in text
    schedules.remove("town")
    assert schedules.get("town") is None


def test_the_secret_is_for_this_user_alone_and_stays(schedules: Schedules) -> None:
    schedules.set("town", Schedule())
    secret = schedules.secret("town")
    path = schedules.library.path / ".schedules" / "town.secret"
    assert len(secret) == 64
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert secret not in path.with_suffix(".toml").read_text()
    schedules.set("town", Schedule("week"))
    schedules.remove("town")
    assert schedules.secret("town") == secret
    path.chmod(0o644)
    with pytest.raises(InputError, match="others can read it"):
        schedules.secret("town")


def test_a_schedule_follows_its_crawl(schedules: Schedules) -> None:
    schedules.set("town", Schedule("week"))
    secret = schedules.secret("town")
    schedules.library.rename("town", "village")
    assert schedules.get("village") == Schedule("week")
    assert schedules.secret("village") == secret
    schedules.library.delete("village")
    assert list((schedules.library.path / ".schedules").iterdir()) == []


@pytest.mark.parametrize("name", ["../town", ".schedules", "", "none", "town/x"])
def test_names_are_never_paths(schedules: Schedules, name: str) -> None:
    for act in (schedules.get, schedules.remove, schedules.secret, lambda one: schedules.set(one, Schedule())):
        with pytest.raises((InputError, NotInLibraryError)) as refused:
            act(name)
        assert "\n" not in str(refused.value)
    assert not (schedules.library.path / ".schedules").exists()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("every = 3\n", "every is 3; it must be a text"),
        ('evry = "day"\n', "no setting in"),
        ("every = \n", "not TOML"),
        ('webhook = "http://127.0.0.1/"\n', "which is loopback"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line_and_stops_no_other(schedules: Schedules, text: str, line: str) -> None:
    schedules.set("town", Schedule())
    (schedules.library.path / ".schedules" / "town.toml").write_text(text)
    with pytest.raises(InputError, match=line):
        schedules.get("town")
    scheduler = RefreshScheduler(Jobs(schedules.library))
    assert scheduler.due(time.time() + 9 * DAY_S) == []
    assert line in scheduler.problems["town"]


def test_what_is_due(schedules: Schedules) -> None:
    schedules.set("town", Schedule("day"))
    scheduler = RefreshScheduler(Jobs(schedules.library))
    state = schedules.state("town")
    assert state.last_refresh is not None
    due = due_at(Schedule("day"), state)
    assert due is not None
    assert 0 < due - state.last_refresh <= DAY_S + 3600
    assert scheduler.due(due - 1) == []
    assert scheduler.due(due) == ["town"]
    schedules.note_started("town", due)
    assert scheduler.due(due + 60) == []
    assert scheduler.due(due + RETRY_S) == ["town"]


def test_when_it_pays_is_computed_once_after_a_refresh(schedules: Schedules, monkeypatch: pytest.MonkeyPatch) -> None:
    schedules.set("town", Schedule("pays", threshold=0.5))
    first = schedules.state("town")
    assert first.pays_at is not None
    monkeypatch.setattr("orienteer.library.schedules.pays_at", lambda *_: pytest.fail("it is known"))
    assert schedules.state("town") == first
    monkeypatch.undo()
    schedules.set("town", Schedule("pays", threshold=0.05))
    assert schedules.state("town").pays_at != first.pays_at


def test_killed_and_stopped_refreshes_are_distinguished(library: Library) -> None:
    path = library.path_of("town")
    assert not schedule_state_of(path, Schedule()).is_interrupted
    with CrawlFolder.open(path) as folder:  # as after a kill: the epoch has not ended
        folder.database.connection.write("UPDATE epoch SET ended = NULL WHERE id = 3")
        folder.acknowledge()
        position = folder.database.history.next_position()
    (path / "report.json").unlink()
    assert schedule_state_of(path, Schedule()).is_interrupted
    report = {"figures": {"position": position}, "stopped_because": "interrupted"}
    (path / "report.json").write_text(json.dumps(report))
    assert not schedule_state_of(path, Schedule()).is_interrupted
    (path / "report.json").write_text(json.dumps(report | {"figures": {"position": position - 1}}))
    assert schedule_state_of(path, Schedule()).is_interrupted


# -- jobs -------------------------------------------------------------------------------------------------------


@pytest.fixture
def site() -> ChangingSite:
    return ChangingSite(MadeSite({HOME: "<title>Home</title><a href=/x>x</a>", "http://a.test/x": "<title>X</title>"}))


@pytest.fixture
def web(site: ChangingSite) -> Iterator[FakeWeb]:
    with FakeWeb(site) as web:
        yield web


def ended(jobs: Jobs, job: Job) -> Job:
    """Wait for the end of the job and return it."""
    until, tick = time.monotonic() + 300, threading.Event()
    while jobs.get(job.id).is_alive:
        assert time.monotonic() < until
        tick.wait(0.05)
    return jobs.get(job.id)


@pytest.mark.usefixtures("ready_jobs")
def test_the_scheduler_starts_a_job_that_refreshes(site: ChangingSite, web: FakeWeb, tmp_path: Path) -> None:
    library = Library(tmp_path / "library")
    library.make()
    crawled(web, HOME, library.path / "town")
    site.edit(HOME, "<title>Home</title><a href=/x>x</a> changed")
    jobs = Jobs(library, allow_private=True)
    scheduler = RefreshScheduler(jobs)
    scheduler.schedules.set("town", Schedule("day", at=time.strftime("%H:%M", time.localtime(time.time() - 3600))))
    assert scheduler.run_due(time.time()) == []
    # Yesterday: the time of the files is not asked, but that of the pages.
    with CrawlFolder.open(library.path / "town") as folder:
        folder.database.connection.write("UPDATE page SET time = time - 86400")
        folder.acknowledge()
    (job,) = scheduler.run_due(time.time())
    assert (job.kind, job.crawl) == ("refresh", "town")
    assert scheduler.run_due(time.time()) == []  # it is busy
    over = ended(jobs, job)
    assert (over.state, over.exit_code) == ("done", 0), jobs.output(job.id)
    assert "town: refreshed: 2 checked: 0 new, 1 changed, 1 unchanged" in jobs.output(job.id)
    assert scheduler.run_due(time.time()) == []
    assert os.listdir(library.path / ".schedules")
