"""Commands on the crawls of a library: started, found again, stopped."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orienteer.errors import InputError, LibraryError
from orienteer.exports import all_exporters
from orienteer.fetch.addresses import forbidden_reason, literal_address
from orienteer.files.plain import expect_plain_folder, make_plain_folder
from orienteer.hooks.hook_names import expect_installed
from orienteer.library.commands import (
    KINDS,
    MIN_DELAY_S,
    Options,
    checked_options,
    checked_url,
    command,
    planned,
    settings_of,
)
from orienteer.library.job import ALIVE, OVER, Job
from orienteer.library.job_folder import new_id
from orienteer.library.job_progress import shown
from orienteer.library.job_record import JobFiles, JobRecord, last_lines
from orienteer.library.library import Library, expect_plain_name
from orienteer.live.control import resume_refusal
from orienteer.live.session import expect_no_access, plan_of_folder
from orienteer.search.index_files import index_folder
from orienteer.store.lock import INNER_FOLDERS, holder_of
from orienteer.url import host_of
from orienteer.wording import counted, visible

__all__ = ["ALIVE", "KINDS", "OVER", "Job", "Jobs", "Options"]

MAX_ALIVE = 8
_WRITERS = ("crawl", "refresh", "estimate")  # each needs the lock of the crawl folder
_OUTPUT_BYTES = 64 << 10


@dataclass(frozen=True)
class _Wanted:
    """A job that may be started."""

    kind: str
    crawl: str
    options: dict[str, Any]
    folder: Path


class Jobs:
    """The jobs of a library. Anybody who opens the library sees the same ones; they outlive who started them."""

    def __init__(self, library: Library, allow_private: bool = False, max_alive: int = MAX_ALIVE) -> None:
        """With `allow_private` crawls may be started at private, loopback and link-local addresses."""
        self.library = library
        self.allow_private = allow_private
        self.max_alive = max_alive
        self._folder = library.job_folder

    def check(self, kind: str, crawl: str, options: Options) -> None:
        """Raise what `start` would raise, and start nothing."""
        self._wanted(kind, crawl, options)

    def start(self, kind: str, crawl: str, options: Options) -> Job:
        """Start a command on a crawl. InputError: an option that cannot be; LibraryError: something works on it."""
        self._wanted(kind, crawl, options)  # may take long, and need not keep others waiting
        self.library.make()
        with self._folder.guarded():
            wanted = self._wanted(kind, crawl, options)
            for old in self._folder.forget_old():
                shutil.rmtree(self.library.exports_path / old, ignore_errors=True)
            id = new_id()
            out = self._out(wanted, id)
            given = wanted.options | {"allow_private": True} if self._opens(wanted) else wanted.options
            record = self._folder.start(
                kind, crawl, given, self._command(wanted, out), "" if out is None else out.name, id
            )
        return self._job(record, "starting")

    def all(self) -> list[Job]:
        """All that are kept, the newest first."""
        return [self._job(record, state) for record, state in self._folder.records()]

    def of(self, crawl: str) -> list[Job]:
        """Those of a crawl, the newest first."""
        return [self._job(record, state) for record, state in self._folder.records() if record.crawl == crawl]

    def get(self, id: str) -> Job:
        """One of them; NotInLibraryError where there is none."""
        return self._job(*self._folder.record(id))

    def output(self, id: str) -> str:
        """The end of what it has printed, plain text of several lines."""
        self._folder.record(id)
        files = JobFiles(self._folder.path, id)
        lines = [*last_lines(files.said, _OUTPUT_BYTES), *last_lines(files.told, _OUTPUT_BYTES)]
        return "\n".join(visible(line) for line in lines)

    def stop(self, id: str) -> None:
        """Ask it to stop, as Ctrl-C does; a second time it stops at once."""
        self._folder.stop(id)

    # -- what may be started ------------------------------------------------------------------------------------

    def _wanted(self, kind: str, crawl: str, options: Options) -> _Wanted:
        found = checked_options(kind, options)
        alive = [record for record, state in self._folder.records() if state in ALIVE]
        if len(alive) >= self.max_alive:
            raise LibraryError(f"{counted(len(alive), 'job is', 'jobs are')} running already; wait until one has ended")
        busy = [record.kind for record in alive if record.crawl == crawl]
        if not self.allow_private and 0 <= found.get("delay", MIN_DELAY_S) < MIN_DELAY_S:
            raise InputError(f"delay is {found['delay']}; leave hosts at least {MIN_DELAY_S} seconds between requests")
        if "url" in found:
            return _Wanted(kind, crawl, found, self._new(crawl, found, busy))
        path = self.library.path_of(crawl)
        if kind in _WRITERS:
            self._expect_idle(crawl, path, busy)
            self._check_fetching(kind, crawl, path, found)
        elif kind == "index" and ("index" in busy or holder_of(index_folder(path)) is not None):
            raise LibraryError(f"{crawl}: the index is being made already")
        return _Wanted(kind, crawl, found, path)

    def _new(self, crawl: str, found: dict[str, Any], busy: list[str]) -> Path:
        """The folder of a new crawl."""
        expect_plain_name(crawl)
        url = checked_url(found["url"])
        if not self.allow_private:
            expect_public(url)
        planned(url, found, self.allow_private)
        folder = self.library.path / crawl
        if busy or self.library.is_taken(crawl):
            raise LibraryError(f"there is something named {crawl} in the library already; choose another name")
        return folder

    def _expect_idle(self, crawl: str, path: Path, busy: list[str]) -> None:
        writing = [kind for kind in busy if kind in _WRITERS]
        process = holder_of(path)
        if writing or process is not None:
            what = {"estimate": "an estimate", "refresh": "a refresh"}.get(writing[0] if writing else "", "a crawl")
            who = f" (process {process})" if process else ""
            raise LibraryError(f"{crawl}: {what} is running there already{who}")

    def _check_fetching(self, kind: str, crawl: str, path: Path, found: dict[str, Any]) -> None:
        """What is wrong with the folder, the goal or the hooks is said before anything is started."""
        expect_plain_folder(path, alone=True, inner=INNER_FOLDERS)
        plan = plan_of_folder(path, settings_of(kind, found) if kind != "estimate" else {})
        if not self.allow_private and (plan.fetch.allow_private or plan.fetch.connect_to is not None):
            raise InputError(
                f"{crawl}: this crawl may reach private addresses, which is not allowed from here; use the shell, or "
                "orienteer serve --allow-private"
            )
        expect_no_access(path, plan)
        if kind == "estimate":
            return
        expect_installed(plan.crawl.hooks, str(path))
        if kind == "crawl":
            refused = resume_refusal(self.library.look(crawl), _number(found, "until"), _number(found, "budget"))
            if refused is not None:
                raise LibraryError(f"{crawl}: {refused}")

    def _opens(self, wanted: _Wanted) -> bool:
        return self.allow_private and "url" in wanted.options

    def _out(self, wanted: _Wanted, id: str) -> Path | None:
        """Where an export is written: a folder for each, so that names are those of crawls and formats."""
        if wanted.kind != "export":
            return None
        make_plain_folder(self.library.exports_path)
        folder = self.library.exports_path / id
        make_plain_folder(folder)
        return folder / (wanted.crawl + all_exporters()[wanted.options["format"]].suffixes[0])

    def _command(self, wanted: _Wanted, out: Path | None) -> tuple[str, ...]:
        folder = wanted.folder.parent.resolve() / wanted.folder.name
        typed = command(wanted.kind, folder, wanted.options, None if out is None else out.resolve())
        return (*typed, "--allow-private") if self._opens(wanted) else typed

    # -- how they are shown ------------------------------------------------------------------------------------

    def _job(self, record: JobRecord, state: str) -> Job:
        return shown(self.library, record, state)


def expect_public(url: str) -> None:
    """Refuse a URL that names a private address by itself. Names are looked up, and refused, by the crawl."""
    address = literal_address(url)
    reason = None if address is None else forbidden_reason(address)
    if reason is not None:
        raise InputError(
            f"{host_of(url)} is not a public address ({reason}); crawls of such addresses are started from the shell, "
            "or with orienteer serve --allow-private"
        )


def _number(found: dict[str, Any], name: str) -> Any:
    value = found.get(name)
    return None if isinstance(value, str) else value
