"""The schedules of a library, and what each crawl needs of them.

    .schedules/NAME.toml      the schedule of a crawl (see `Schedule`); anybody may edit it
    .schedules/NAME.secret    what its webhook is signed with; for this user alone
    .schedules/NAME.json      when it was last started, and when a refresh pays; can be deleted

A crawl that is renamed takes them along; one that is deleted, too.
"""

from __future__ import annotations

import json
import math
import secrets
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomli_w

from orienteer.errors import CrawlFolderError, InputError
from orienteer.fetch.webhook import Webhook
from orienteer.files.durable import write_durably
from orienteer.files.plain import make_plain_folder
from orienteer.files.private import read_private, write_private
from orienteer.library.library import Library
from orienteer.library.schedule import Schedule, Standing
from orienteer.library.schedule_files import SUFFIXES, schedule_folder
from orienteer.library.staleness import Staleness
from orienteer.live.webhook_notes import Receiver, WebhookNotes
from orienteer.pages.stop_reason import StopReason
from orienteer.settings import from_table, to_table
from orienteer.store.failures import explained
from orienteer.store.folder_view import FolderView

_TOML, _SECRET, _NOTE = SUFFIXES
_SECRET_BYTES = 32


class Schedules:
    """Those of a library."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._folder = schedule_folder(library.path)

    def names(self) -> list[str]:
        """The crawls that have a schedule, sorted."""
        return [name for name in self.library.names() if self._path(name, _TOML).is_file()]

    def get(self, name: str) -> Schedule | None:
        """That of a crawl; None where it has none. InputError where it cannot be read."""
        self.library.path_of(name)
        path = self._path(name, _TOML)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise InputError(f"{path}: not TOML: it is no UTF-8") from None
        return schedule_in(text, str(path))

    def set(self, name: str, schedule: Schedule) -> None:
        """Give a crawl a schedule; the first time also a secret for its webhook."""
        self.library.path_of(name)
        self._make()
        path = self._path(name, _TOML)
        with explained(path):
            if not self._path(name, _SECRET).exists():
                write_private(self._path(name, _SECRET), secrets.token_hex(_SECRET_BYTES).encode())
            write_durably(path, tomli_w.dumps(to_table(schedule)))

    def remove(self, name: str) -> None:
        """From now on the crawl is refreshed only when somebody asks for it. The secret stays."""
        self.library.path_of(name)
        for suffix in (_TOML, _NOTE):
            with explained(self._path(name, suffix)):
                self._path(name, suffix).unlink(missing_ok=True)

    def secret(self, name: str) -> str:
        """What the webhook of a crawl is signed with; empty where it has none yet."""
        self.library.path_of(name)
        path = self._path(name, _SECRET)
        return read_private(path).decode("ascii", "replace").strip() if path.exists() else ""

    def receiver(self, name: str, schedule: Schedule) -> Receiver | None:
        """Who is told of a crawl's refreshes, if anybody is."""
        if not schedule.webhook:
            return None
        hook = Webhook(schedule.webhook, self.secret(name).encode(), schedule.allow_private)
        return Receiver(hook, name, schedule.feed or None)

    def note_tried(self, name: str, now: float) -> None:
        """A refresh is about to be started: the next one by the schedule comes no sooner than after a while."""
        self._note(name, {"tried": now})

    def standing(self, name: str) -> Standing:
        """How a crawl stands for its schedule."""
        schedule = self.get(name)
        if schedule is None:
            raise InputError(f"{name} has no schedule")
        notes = self._notes(name)
        path = self.library.path_of(name)
        found = standing_of(path, schedule, self.receiver(name, schedule), lambda: self._pays_at(name, schedule, notes))
        tried = notes.get("tried")
        return replace(found, tried=float(tried) if isinstance(tried, int | float) else None)

    def _pays_at(self, name: str, schedule: Schedule, notes: Mapping[str, Any]) -> float | None:
        """Computed once after each refresh: it takes the ranks of all pages."""
        path = self.library.path_of(name)
        with FolderView.open(path) as folder:
            key = [folder.database.next_position(), schedule.threshold]
        kept = notes.get("pays")
        if isinstance(kept, list) and kept[:2] == key and len(kept) == 3 and isinstance(kept[2], float | None):
            return kept[2]
        found = pays_at(path, schedule.threshold)
        self._note(name, {"pays": [*key, found]})
        return found

    def _path(self, name: str, suffix: str) -> Path:
        return self._folder / (name + suffix)

    def _make(self) -> None:
        self.library.make()
        with explained(self._folder):
            make_plain_folder(self._folder)

    def _notes(self, name: str) -> dict[str, Any]:
        try:
            found = json.loads(self._path(name, _NOTE).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def _note(self, name: str, values: dict[str, Any]) -> None:
        self._make()
        path = self._path(name, _NOTE)
        with explained(path):
            write_durably(path, json.dumps(self._notes(name) | values) + "\n")


def schedule_in(text: str, where: str) -> Schedule:
    """The schedule that a file states; what is wrong with it is one line that names the file."""
    try:
        return from_table(Schedule, tomllib.loads(text), where)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where}: not TOML: {error}") from None
    except InputError as error:
        raise InputError(str(error) if where in str(error) else f"{where}: {error}") from None


def standing_of(
    path: Path,
    schedule: Schedule,
    receiver: Receiver | None = None,
    when_it_pays: Callable[[], float | None] | None = None,
) -> Standing:
    """How the crawl in a folder stands for a schedule. Reads a few rows, unless it must be known when it pays."""
    with FolderView.open(path) as folder:
        database = folder.database
        heads, times = database.epochs(), database.times()
        position = database.next_position()
        report = folder.report_path
    if times is None:
        return Standing(None)
    last = heads[-1] if heads else None
    looked = times[1] if last is None else max(last.began, last.ended or last.began)
    is_broken_off = last is not None and last.ended is None and not _was_stopped(report, position)
    n_untold = 0 if receiver is None else len(WebhookNotes(path, receiver).waiting())
    pays = None
    if schedule.every == "pays":
        pays = pays_at(path, schedule.threshold) if when_it_pays is None else when_it_pays()
    return Standing(looked, is_broken_off, n_untold, pays)


def pays_at(path: Path, threshold: float) -> float | None:
    """When a refresh of the crawl in a folder pays; None where nothing is known of its changes.

    Where that is never, it is the end of all days that a file can hold.
    """
    with FolderView.open(path) as folder:
        stale = Staleness.of(folder.database)
    found = None if stale is None else stale.reaches(threshold)
    return found if found is None or math.isfinite(found) else 1e12


def _was_stopped(report: Path, position: int) -> bool:
    """Whether somebody stopped the last run. One that was killed has left no report of where the crawl is now."""
    with suppress(OSError, ValueError, RecursionError, CrawlFolderError):
        told = json.loads(report.read_text(encoding="utf-8"))
        if isinstance(told, dict) and isinstance(told.get("figures"), dict):
            is_current = told["figures"].get("position") == position
            return is_current and told.get("stopped_because") in [why for why in StopReason if why.is_pause]
    return False
