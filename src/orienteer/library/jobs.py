"""Start, list and stop commands on the crawls of a library."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orienteer.errors import InputError, LibraryError
from orienteer.exports import all_exporters
from orienteer.fetch.addresses import forbidden_reason, literal_address
from orienteer.files.plain import expect_plain_folder, make_plain_folder
from orienteer.hooks import expect_installed
from orienteer.library.commands import (
    KINDS,
    MIN_DELAY_S,
    Options,
    checked_options,
    checked_url,
    command_line,
    plan_of_new_crawl,
    settings_of,
)
from orienteer.library.job import ALIVE, ENDED, Job, current_job
from orienteer.library.job_folder import new_id
from orienteer.library.job_record import JobFiles, last_lines
from orienteer.library.library import Library, expect_plain_name
from orienteer.live.control import resume_refusal
from orienteer.live.session import expect_no_credentials, plan_of_folder
from orienteer.store.lock import INNER_FOLDERS, holder_of
from orienteer.store.page_texts import index_folder
from orienteer.url import host_of
from orienteer.wording import counted, visible

__all__ = ["ALIVE", "ENDED", "KINDS", "Job", "Jobs", "Options"]

MAX_ALIVE = 8
_WRITERS = ("crawl", "refresh", "estimate")  # these kinds need the lock of the crawl folder
_OUTPUT_BYTES = 64 << 10


@dataclass(frozen=True)
class _RequestedJob:
    """A job that passed all checks."""

    kind: str
    crawl: str
    options: dict[str, Any]
    folder: Path


class Jobs:
    """The jobs of a library. They are stored in its folder, and outlive the process that started them."""

    def __init__(self, library: Library, allow_private: bool = False, max_alive: int = MAX_ALIVE) -> None:
        """With `allow_private`, crawls may start at private, loopback and link-local addresses."""
        self.library = library
        self.allow_private = allow_private
        self.max_alive = max_alive
        self._folder = library.job_folder

    def check(self, kind: str, crawl: str, options: Options) -> None:
        """Raise the error that `start` would raise, without starting the job."""
        self._checked_job(kind, crawl, options)

    def start(self, kind: str, crawl: str, options: Options) -> Job:
        """Start a command on a crawl. InputError: an invalid option; LibraryError: the crawl is in use."""
        self._checked_job(kind, crawl, options)  # slow, so it is first done without the lock
        self.library.make()
        with self._folder.locked():
            request = self._checked_job(kind, crawl, options)
            for old in self._folder.remove_old():
                shutil.rmtree(self.library.exports_path / old, ignore_errors=True)
            id = new_id()
            out = self._export_path(request, id)
            stored = request.options | {"allow_private": True} if self._allows_private(request) else request.options
            record = self._folder.start(
                kind, crawl, stored, self._command(request, out), "" if out is None else out.name, id
            )
        return current_job(self.library, record, "starting")

    def all(self) -> list[Job]:
        """Return all jobs, running and finished, newest first."""
        return [current_job(self.library, record, state) for record, state in self._folder.records()]

    def of(self, crawl: str) -> list[Job]:
        """Return the jobs of a crawl, newest first."""
        return [
            current_job(self.library, record, state)
            for record, state in self._folder.records()
            if record.crawl == crawl
        ]

    def get(self, id: str) -> Job:
        """Return a job; NotInLibraryError if there is none with this id."""
        return current_job(self.library, *self._folder.record(id))

    def output(self, id: str) -> str:
        """Return the last lines that a job printed, as plain text."""
        self._folder.record(id)
        files = JobFiles(self._folder.path, id)
        lines = [*last_lines(files.stderr, _OUTPUT_BYTES), *last_lines(files.stdout, _OUTPUT_BYTES)]
        return "\n".join(visible(line) for line in lines)

    def stop(self, id: str) -> None:
        """Ask a job to stop, as Ctrl-C does; a second call stops it at once."""
        self._folder.stop(id)

    # -- checks -------------------------------------------------------------------------------------------------

    def _checked_job(self, kind: str, crawl: str, options: Options) -> _RequestedJob:
        values = checked_options(kind, options)
        alive = [record for record, state in self._folder.records() if state in ALIVE]
        if len(alive) >= self.max_alive:
            raise LibraryError(f"{counted(len(alive), 'job is', 'jobs are')} running already; wait until one has ended")
        busy = [record.kind for record in alive if record.crawl == crawl]
        if not self.allow_private and 0 <= values.get("delay", MIN_DELAY_S) < MIN_DELAY_S:
            raise InputError(f"delay is {values['delay']}; choose {MIN_DELAY_S} or more seconds")
        if "url" in values:
            return _RequestedJob(kind, crawl, values, self._new_folder(crawl, values, busy))
        path = self.library.path_of(crawl)
        if kind in _WRITERS:
            self._expect_idle(crawl, path, busy)
            self._check_fetching(kind, crawl, path, values)
        elif kind == "index" and ("index" in busy or holder_of(index_folder(path)) is not None):
            raise LibraryError(f"{crawl}: the index is being made already")
        return _RequestedJob(kind, crawl, values, path)

    def _new_folder(self, crawl: str, values: dict[str, Any], busy: list[str]) -> Path:
        """Return the folder for a new crawl, after checking its URL, plan and name."""
        expect_plain_name(crawl)
        url = checked_url(values["url"])
        if not self.allow_private:
            expect_public(url)
        plan_of_new_crawl(url, values, self.allow_private)
        folder = self.library.path / crawl
        if busy or self.library.is_taken(crawl):
            raise LibraryError(f"the library already contains {crawl}; choose another name")
        return folder

    def _expect_idle(self, crawl: str, path: Path, busy: list[str]) -> None:
        writing = [kind for kind in busy if kind in _WRITERS]
        process = holder_of(path)
        if writing or process is not None:
            what = {"estimate": "an estimate", "refresh": "a refresh"}.get(writing[0] if writing else "", "a crawl")
            who = f" (process {process})" if process else ""
            raise LibraryError(f"{crawl}: {what} is running already{who}")

    def _check_fetching(self, kind: str, crawl: str, path: Path, values: dict[str, Any]) -> None:
        """Raise an error if the folder, its settings, the goal or the hooks of a crawl prevent the command."""
        expect_plain_folder(path, alone=True, inner=INNER_FOLDERS)
        plan = plan_of_folder(path, settings_of(kind, values) if kind != "estimate" else {})
        if not self.allow_private and (plan.fetch.allow_private or plan.fetch.connect_to is not None):
            raise InputError(
                f"{crawl}: this crawl may fetch from private addresses, which this server does not allow; use the "
                "shell, or orienteer serve --allow-private"
            )
        expect_no_credentials(path, plan)
        if kind == "estimate":
            return
        expect_installed(plan.crawl.hooks, str(path))
        if kind == "crawl":
            refused = resume_refusal(self.library.status(crawl), _number(values, "until"), _number(values, "budget"))
            if refused is not None:
                raise LibraryError(f"{crawl}: {refused}")

    def _allows_private(self, request: _RequestedJob) -> bool:
        return self.allow_private and "url" in request.options

    def _export_path(self, request: _RequestedJob, id: str) -> Path | None:
        """Return the file of an export. It has its own folder, so its name only needs the crawl and the format."""
        if request.kind != "export":
            return None
        make_plain_folder(self.library.exports_path)
        folder = self.library.exports_path / id
        make_plain_folder(folder)
        return folder / (request.crawl + all_exporters()[request.options["format"]].suffixes[0])

    def _command(self, request: _RequestedJob, out: Path | None) -> tuple[str, ...]:
        folder = request.folder.parent.resolve() / request.folder.name
        typed = command_line(request.kind, folder, request.options, None if out is None else out.resolve())
        return (*typed, "--allow-private") if self._allows_private(request) else typed


def expect_public(url: str) -> None:
    """Raise InputError for a URL with a private IP address. Host names are resolved and checked by the crawl."""
    address = literal_address(url)
    reason = None if address is None else forbidden_reason(address)
    if reason is not None:
        raise InputError(
            f"{host_of(url)} is not a public address ({reason}); crawls of such addresses are started from the shell, "
            "or with orienteer serve --allow-private"
        )


def _number(values: dict[str, Any], name: str) -> Any:
    value = values.get(name)
    return None if isinstance(value, str) else value
