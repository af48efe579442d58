"""The lock of a job decides its state, when its server, its runner or its command are killed, in any order.

The commands here are small programs of the system, so that many can be started; `test_jobs` starts real ones.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from orienteer.errors import LibraryError, NotInLibraryError
from orienteer.library.job import ALIVE
from orienteer.library.job_folder import JobFolder
from orienteer.library.job_record import ID, JobFiles, JobRecord
from tests.cli.live_process import wait_until


class Place:
    """A folder of jobs whose commands wait for `let_go`."""

    def __init__(self, path: Path) -> None:
        self.jobs = JobFolder(path / "jobs")
        self.gate, self.next_gate = path / "gate", path / "next gate"
        for gate in (self.gate, self.next_gate):
            os.mkfifo(gate)

    def start(self, then: str = "echo all is well", until: str = "running") -> JobRecord:
        """Start a job that prints a line, waits, and runs `then`."""
        script = f"echo working >&2; read line < {self.gate}; {then}"
        with self.jobs.locked():
            record = self.jobs.start("index", "a.test", {}, ("/bin/sh", "-c", script))
        if until:
            self.wait(record, until)
        return record

    def let_go(self, gate: Path | None = None) -> None:
        """A gate serves once: while one is let through it is open, and the next would just walk on."""
        with (gate or self.gate).open("w") as opened:
            opened.write("go\n")

    def state(self, record: JobRecord) -> str:
        return self.jobs.record(record.id)[1]

    def wait(self, record: JobRecord, *states: str) -> JobRecord:
        wait_until(lambda: self.state(record) in states)
        return self.jobs.record(record.id)[0]

    def over(self, record: JobRecord) -> tuple[JobRecord, str]:
        wait_until(lambda: self.state(record) not in ALIVE)
        return self.jobs.record(record.id)

    def runner(self, record: JobRecord) -> int:
        return int(JobFiles(self.jobs.path, record.id).lock.read_text())


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    for record, state in place.jobs.records():
        if state in ALIVE:
            place.jobs.stop(record.id)
            place.over(record)


def exists(process: int) -> bool:
    """Whether a process is alive, and not a zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def killed(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return


def test_a_job_from_its_beginning_to_its_end(place: Place) -> None:
    record = place.start(until="")
    assert place.state(record) in ("starting", "running")
    running = place.wait(record, "running")
    assert running.process is not None
    assert os.getsid(running.process) == place.runner(record) != os.getsid(0), "it lives on when we are gone"
    assert JobFolder(place.jobs.path).records() == [(running, "running")], "every process sees it"
    place.let_go()
    done, state = place.over(record)
    assert (state, done.exit_code, done.line) == ("done", 0, "all is well")
    assert done.ended is not None
    assert done.ended >= done.began
    with pytest.raises(LibraryError, match="has already ended"):
        place.jobs.stop(record.id)


@pytest.mark.parametrize(
    ("then", "state", "code", "line"),
    [
        ("echo >&2 orienteer: the disk is full; exit 2", "failed", 2, "the disk is full"),
        ("exit 5", "failed", 5, "working"),
        ("echo goal; exit 3", "stopped", 3, "goal"),
        ("kill -KILL $$", "killed", -9, "killed by SIGKILL"),
        ("kill -SEGV $$", "killed", -11, "killed by SIGSEGV"),
    ],
)
def test_how_a_job_may_end(place: Place, then: str, state: str, code: int, line: str) -> None:
    record = place.start(then)
    place.let_go()
    ended, found = place.over(record)
    assert (found, ended.exit_code, ended.line) == (state, code, line)


def test_a_command_that_cannot_be_started_says_why(place: Place) -> None:
    with place.jobs.locked():
        record = place.jobs.start("index", "a.test", {}, ("/no/such/program",))
    ended, state = place.over(record)
    assert (state, ended.line) == ("failed", "/no/such/program: No such file or directory")


@pytest.mark.parametrize("until", ["", "running"])
def test_a_job_is_stopped_even_at_its_very_beginning(place: Place, until: str) -> None:
    record = place.start(until=until)
    place.jobs.stop(record.id)
    ended, state = place.over(record)
    assert (state, ended.exit_code) == ("stopped", -signal.SIGINT)
    assert ended.stop_requested is not None
    file = JobFiles(place.jobs.path, record.id).record
    file.write_text(file.read_text().replace("stop_requested", "stop_asked"))  # as version 0.2 wrote it
    assert JobFiles(place.jobs.path, record.id).read() == ended


def test_one_that_takes_its_time_to_stop_is_stopping(place: Place) -> None:
    record = place.start(f"trap '' INT; echo >&2 ready; read line < '{place.next_gate}'; exit 3")
    place.let_go()
    stderr = JobFiles(place.jobs.path, record.id).stderr
    wait_until(lambda: "ready" in stderr.read_text())
    place.jobs.stop(record.id)
    assert place.wait(record, "stopping").exit_code is None
    place.let_go(place.next_gate)
    ended, state = place.over(record)
    assert (state, ended.exit_code) == ("stopped", 3)


def test_killed_at_random_in_any_order(place: Place, fresh_rng: random.Random) -> None:
    """Runner, command or both, before it starts, while it works or when it ends: the state is true."""
    for _ in range(20):
        record = place.start(until=fresh_rng.choice(["", "running"]))
        is_let_go = False
        command = place.jobs.record(record.id)[0].process
        if command is not None and fresh_rng.random() < 0.3:
            place.let_go()
            is_let_go = True
        runner = place.runner(record)
        victims = fresh_rng.choice([[runner], [command], [runner, command], [command, runner]])
        for victim in victims:
            if victim is not None:
                killed(victim)
        if victims == [None]:
            killed(runner)
        ended, state = place.over(record)
        if ended.exit_code is None:
            assert state == "killed"
        else:
            assert state == {0: "done", -signal.SIGKILL: "killed"}[ended.exit_code]
            assert is_let_go or ended.exit_code != 0
        wait_until(lambda: not exists(runner))  # noqa: B023
        for process in {command, ended.process} - {None}:
            wait_until(lambda: not exists(process))  # type: ignore[arg-type]  # noqa: B023
    assert len(place.jobs.records()) == 20
    record = place.start()
    place.let_go()
    assert place.over(record)[1] == "done", "and the next one runs"


def test_a_command_is_stopped_when_its_runner_is_killed(place: Place) -> None:
    """It receives SIGINT; until it ends, the job is running and can be stopped again."""
    record = place.start(f"trap '' INT; echo >&2 ready; read line < '{place.next_gate}'; exit 0")
    place.let_go()
    stderr = JobFiles(place.jobs.path, record.id).stderr
    wait_until(lambda: "ready" in stderr.read_text())
    runner = place.runner(record)
    killed(runner)
    wait_until(lambda: not exists(runner))
    assert place.state(record) == "running"
    place.jobs.stop(record.id)
    place.let_go(place.next_gate)
    ended, state = place.over(record)
    assert (state, ended.exit_code) == ("killed", None)


def test_a_job_outlives_its_starter(place: Place) -> None:
    script = f"echo working >&2; read line < {place.gate}; echo all is well"
    program = (
        "import os, signal\nfrom pathlib import Path\nfrom orienteer.library.job_folder import JobFolder\n"
        f"jobs = JobFolder(Path({str(place.jobs.path)!r}))\nwith jobs.locked():\n"
        f"    print(jobs.start('index', 'a.test', {{}}, ('/bin/sh', '-c', {script!r})).id, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    server = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=False)
    assert server.returncode == -signal.SIGKILL
    record = place.wait(place.jobs.record(server.stdout.strip())[0], "running")
    place.let_go()
    assert place.over(record)[1] == "done"


def test_a_record_alone_does_not_prove_that_a_job_is_alive(place: Place) -> None:
    """After a reboot, another process has the recorded process id."""
    with place.jobs.locked():
        pass
    record = JobRecord("20260101-000000-abcdef", "crawl", "a.test", {}, ("orienteer",), 1.0, process=os.getpid())
    files = JobFiles(place.jobs.path, record.id)
    files.write(record)
    assert place.state(record) == "killed"
    files.lock.write_text(f"{os.getpid()}\n")
    assert place.state(record) == "killed"
    with pytest.raises(LibraryError, match="has already ended"):
        place.jobs.stop(record.id)


def test_a_process_that_does_not_hold_the_lock_is_left_alone(place: Place) -> None:
    record = place.start()
    files = JobFiles(place.jobs.path, record.id)
    with subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE) as other:
        files.lock.write_text(f"{other.pid}\n")
        place.jobs.stop(record.id)  # the command itself receives the signal
        assert other.poll() is None
        other.communicate(b"\n")
    assert place.over(record)[1] in ("stopped", "killed")


def test_old_jobs_are_removed_and_other_files_stay(place: Place) -> None:
    running = place.start()
    for number in range(10):
        id = f"20260101-{number:06}-abcdef"
        JobFiles(place.jobs.path, id).write(JobRecord(id, "index", "a.test", {}, ("orienteer",), number))
    for name in ("20260102-000000-abcdef.lock", "20260102-000000-abcdef.txt", "note.txt"):
        (place.jobs.path / name).touch()
    for number, text in enumerate(("", "[]", "{}", '{"id": 5}', '{"id": "20260103-000003-abcdef"}', "[" * 10_000)):
        (place.jobs.path / f"20260103-00000{number}-abcdef.json").write_text(text)
    (place.jobs.path / "20260104-000000-abcdef.json").symlink_to(JobFiles(place.jobs.path, running.id).record)
    assert len(place.jobs.records()) == 11
    with place.jobs.locked():
        gone = place.jobs.remove_old(keep=4)
    assert len(gone) == 7
    left = [record.id for record, _ in place.jobs.records()]
    assert left == [running.id, *(f"20260101-{number:06}-abcdef" for number in (9, 8, 7, 6))]
    assert (place.jobs.path / "note.txt").exists()
    assert not list(place.jobs.path.glob("20260102*"))
    for id in ("", "..", "../../x", "20260101-000000-abcde/", "x" * 1000):
        assert not ID.fullmatch(id)
        with pytest.raises(NotInLibraryError):
            place.jobs.record(id)
