"""Real commands as jobs: a crawl of a small web, its index, an export; what may not run at once; killed at random."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import settings

from orienteer.errors import InputError, LibraryError, NotInLibraryError, OrienteerError
from orienteer.inspect.crawl_status import crawl_status
from orienteer.library.crawl_jobs import SingleCrawlLibrary
from orienteer.library.job import ENDED, Job, progress_share
from orienteer.library.job_record import JobFiles, JobRecord
from orienteer.library.jobs import Jobs
from orienteer.library.library import Library
from orienteer.store.folder import CrawlFolder
from tests.cli.live_process import wait_until
from tests.cli.run import orienteer, refused
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import RequestHeaders, Site
from tests.live.live_crawls import crawled

NEW = {"delay": 0, "render": "never"}


class Small(Site):
    """A home page and its pages, which are given out when the gate is open."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.n_asked = 0

    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        if target == "/":
            return FakeResponse("".join(f"<a href=/{n}>page {n}</a>" for n in range(5)))
        if not target[1:].isdigit():
            return FakeResponse("no", status=404)
        self.n_asked += 1
        return FakeResponse(f"<p>This is page {target}.", delay_s=0.0 if self.gate.is_set() else 600.0)


@pytest.fixture
def web() -> Iterator[FakeWeb]:
    with FakeWeb(Small()) as web:
        yield web


@pytest.fixture
def jobs(library: Library) -> Iterator[Jobs]:
    jobs = Jobs(library, allow_private=True)
    yield jobs
    for job in jobs.all():
        if job.is_alive and job.process:
            os.kill(job.process, signal.SIGKILL)
            over(jobs, job)


def over(jobs: Jobs, job: Job) -> Job:
    wait_until(lambda: jobs.get(job.id).state in ENDED)
    return jobs.get(job.id)


@pytest.mark.usefixtures("ready_jobs")
def test_a_new_crawl_to_its_end_then_its_index_and_an_export(jobs: Jobs, web: FakeWeb) -> None:
    library, url = jobs.library, f"http://{web.address}/"
    name = library.name_for(url)
    job = jobs.start("crawl", name, {"url": url, "until": "99 %", **NEW})
    assert job.state == "starting"
    assert [card.name for card in library.cards()] == [name, "a.test"], "it is listed before its folder exists"
    with pytest.raises(LibraryError, match="already contains"):
        jobs.start("crawl", name, {"url": url, **NEW})
    done = over(jobs, job)
    assert (done.state, done.exit_code, done.share) == ("done", 0, 1.0), jobs.output(job.id)
    assert done.line == "goal reached: a coverage of 99 % is proved"
    card = library.card(name)
    assert (card.phase, library.status(name).n_fetched, card.seeds, card.job) == ("finished", 6, (url,), done)
    assert card.sentence == "goal reached: a coverage of 99 % is proved"
    with pytest.raises(LibraryError, match="99 % is proved already; ask for more"):
        jobs.start("crawl", name, {})
    export = jobs.start("export", name, {"format": "jsonl", "all_pages": "on"})
    index = jobs.start("index", name, {})
    with pytest.raises(LibraryError, match="the index is being made already"):
        jobs.start("index", name, {})
    with pytest.raises(LibraryError, match="a job is running"):
        library.delete(name)
    export, index = over(jobs, export), over(jobs, index)
    assert (index.state, index.line) == ("done", "6 pages can be searched.")
    assert library.card(name).is_indexed
    assert export.result == library.path / ".exports" / export.id / f"{name}.jsonl"
    assert export.line.startswith(f"{name}.jsonl: 6 pages")
    assert len(export.result.read_text().splitlines()) == 6
    assert json.dumps([job.as_dict() for job in Jobs(Library(library.path)).all()], sort_keys=True)
    library.rename(name, "renamed")
    assert {job.id for job in jobs.of("renamed")} == {job.id, export.id, index.id}
    library.delete("renamed")
    assert jobs.of("renamed") == []
    assert not export.result.exists()


def test_a_running_crawl_is_seen_and_stopped_from_other_processes(jobs: Jobs, web: FakeWeb) -> None:
    assert isinstance(web.site, Small)
    web.site.gate.clear()
    library = jobs.library
    job = jobs.start("crawl", "b.test", {"url": f"http://{web.address}/", "budget": 4, **NEW})
    wait_until(lambda: web.site.n_asked and library.card("b.test").phase == "running")  # type: ignore[union-attr]
    other = Jobs(Library(library.path))
    wait_until(lambda: other.get(job.id).line.startswith("1 page fetched"))
    seen = other.get(job.id)
    assert (seen.state, seen.share) == ("running", None), "too early for a share"
    assert seen.line.startswith("1 page fetched; proved: at least ")
    for kind in ("crawl", "refresh", "estimate"):
        with pytest.raises(LibraryError, match="b.test: a crawl is running already"):
            jobs.start(kind, "b.test", {})
    listed = json.loads(orienteer("jobs", "--library", library.path, "--json").stdout)["jobs"]
    assert [(one["id"], one["state"]) for one in listed] == [(job.id, "running")]
    assert "asked to stop" in orienteer("stop", "b.test", "--library", library.path).stdout
    wait_until(lambda: other.get(job.id).state in ("stopping", *ENDED))
    orienteer("jobs", "--library", library.path, "--stop", job.id)  # the page will not come: at once
    ended = over(jobs, job)
    assert (ended.state, ended.exit_code) == ("stopped", 130)
    assert ended.line == "stopped by you. Resume any time"
    assert "has already ended" in refused("jobs", "--library", library.path, "--stop", job.id)
    assert "no crawl is running" in refused("stop", "b.test", "--library", library.path)
    assert "no such crawl folder" in refused("stop", "c.test", "--library", library.path)
    assert job.id in orienteer("jobs", "--library", library.path).stdout


def test_what_the_settings_of_a_folder_open_needs_the_owner(jobs: Jobs, web: FakeWeb) -> None:
    crawled(web, "http://c.test/", jobs.library.path / "c.test", budget=2)
    for kind in ("crawl", "refresh", "estimate"):
        with pytest.raises(InputError, match="may fetch from private addresses, which this server does not allow"):
            Jobs(jobs.library).start(kind, "c.test", {"budget": 3})
        jobs.check(kind, "c.test", {"budget": 3})
    (jobs.library.path / "c.test" / "crawl.allowed").unlink()
    with pytest.raises(InputError, match="not known to be yours"):
        jobs.start("crawl", "c.test", {"budget": 3})


def test_what_is_not_there_or_in_use(jobs: Jobs) -> None:
    for kind, options in (("index", {}), ("crawl", {}), ("export", {"format": "jsonl"})):
        with pytest.raises(NotInLibraryError):
            jobs.start(kind, "nowhere", options)  # type: ignore[arg-type]
        with pytest.raises(InputError):
            jobs.start(kind, "../crawls/a.test", options)  # type: ignore[arg-type]
    with CrawlFolder.open(jobs.library.path / "a.test"), pytest.raises(LibraryError, match=f"process {os.getpid()}"):
        jobs.start("crawl", "a.test", {})
    with pytest.raises(LibraryError, match="0 jobs are running already"):
        Jobs(jobs.library, max_alive=0).start("index", "a.test", {})
    (jobs.library.path / "a.test" / "archive" / "link").symlink_to("/etc")
    with pytest.raises(OrienteerError, match="a symbolic link"):
        jobs.start("refresh", "a.test", {})
    assert jobs.all() == []


def test_a_result_leads_nowhere_else(jobs: Jobs, tmp_path: Path) -> None:
    (tmp_path / "secret").touch()
    exports = jobs.library.exports_path / "20260101-000000-abcdef"
    exports.mkdir(parents=True)
    (exports / "link").symlink_to(tmp_path / "secret")
    (exports / "file").touch()
    with jobs.library.job_folder.locked():
        pass
    for name, is_listed in (
        ("../../secret", False),
        (str(tmp_path / "secret"), False),
        ("link", False),
        ("file", True),
    ):
        record = JobRecord(exports.name, "export", "a.test", {}, ("orienteer",), 1.0, name, ended=2.0, exit_code=0)
        JobFiles(jobs.library.job_folder.path, exports.name).write(record)
        assert (jobs.get(exports.name).result is not None) == is_listed, name


def test_how_far_a_crawl_is(library: Library) -> None:
    status = crawl_status(library.path / "a.test")
    assert progress_share(status) is None, "it is not running"
    with CrawlFolder.open(library.path / "a.test"):
        running = crawl_status(library.path / "a.test")
        assert progress_share(running) is None, "the figures are of an earlier run"
        for changed, share in (
            ({"eta_s": None}, None),
            ({"eta_s": 30.0, "pages_per_s": 2.0, "n_done": 40}, 0.4),
            ({"eta_s": 30.0, "pages_per_s": 2.0, "n_done": 40, "budget": 10_000}, 0.4),
        ):
            assert running.figures is not None
            figures = replace(running.figures, **changed)
            assert progress_share(replace(running, figures=figures)) == share, changed


def test_a_folder_outside_a_library_has_its_own_jobs(library: Library) -> None:
    crawl = SingleCrawlLibrary(library.path / "a.test")
    assert (crawl.names(), crawl.path_of("a.test")) == (["a.test"], library.path / "a.test")
    with pytest.raises(NotInLibraryError):
        crawl.path_of("b.test")
    Jobs(crawl).check("refresh", "a.test", {})
    assert not (library.path / "a.test" / "jobs").exists()


def test_real_jobs_killed_at_random(jobs: Jobs, fresh_rng: random.Random) -> None:
    """Each time with a new server; nothing is lost, and the next job runs."""
    library = jobs.library
    before = (library.path / "a.test" / "crawl.db").read_bytes()
    rounds = settings().max_examples // 15
    for _ in range(rounds):
        server = Jobs(Library(library.path))
        kind, options = fresh_rng.choice([("index", {"rebuild": True}), ("export", {"format": "jsonl"})])
        job = server.start(kind, "a.test", options)
        wait_until(lambda: server.get(job.id).process or not server.get(job.id).is_alive)  # noqa: B023
        threading.Event().wait(fresh_rng.uniform(0.0, 1.0))
        runner = int(JobFiles(library.job_folder.path, job.id).lock.read_text())
        victims = [runner, server.get(job.id).process]
        fresh_rng.shuffle(victims)
        for victim in victims[: fresh_rng.choice([1, 2])]:
            if victim is not None and server.get(job.id).is_alive:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGKILL)
        ended = over(Jobs(Library(library.path)), job)
        assert ended.state in ("killed", "done")
        assert (ended.state == "done") == (ended.exit_code == 0)
        assert ended.result is None or len(ended.result.read_text().splitlines()) == 2
        assert (library.card("a.test").phase, library.status("a.test").n_fetched) == ("stopped", 2)
    assert len(jobs.all()) == rounds
    last = over(jobs, jobs.start("index", "a.test", {}))
    nothing_to_do = " Nothing has changed."  # an index that was done before the kill
    assert (last.state, last.line.removesuffix(nothing_to_do)) == ("done", "2 pages can be searched.")
    assert (library.path / "a.test" / "crawl.db").read_bytes() == before
    shutil.rmtree(library.path / ".exports", ignore_errors=True)
