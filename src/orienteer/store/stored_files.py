"""Which files of an archive are in an object store: archive/stored.json.

A file is noted here when its upload is confirmed, and only then may it be deleted. Since the note says where to read
it, it is signed (see `files/signing`): that of a stranger leads nowhere, until the user has named the same place.

A *sealed* file is complete, though it is smaller than others: the next record begins a new one.
"""

from __future__ import annotations

import json
import os
from dataclasses import astuple
from pathlib import Path
from typing import Any, NamedTuple

from orienteer.errors import CrawlFolderError, InputError
from orienteer.files.durable import write_durably
from orienteer.files.plain import make_plain_folder
from orienteer.files.signing import is_signed, signature
from orienteer.store.failures import damaged, explained
from orienteer.store.object_store import Place, checked_place
from orienteer.wording import plain

STORED = "stored.json"
_PURPOSE = "where the files of an archive are"
_MAX_BYTES = 64 << 20
_MAX_FILES = 1_000_000


class StoredFile(NamedTuple):
    """A file of the archive, as it was when its upload was confirmed."""

    place: Place
    size_bytes: int
    sha256: str


class StoredFiles:
    """The note in the folder of an archive; without one, nothing is stored elsewhere.

    `trouble` is what went wrong last, "" where all is well.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / STORED
        self.files: dict[int, StoredFile] = {}
        self.sealed: set[int] = set()
        self.trouble = ""
        self.is_ours = True
        self.read()

    def read(self) -> None:
        """As it stands there now: another process may have written it."""
        with explained(self.path):
            try:
                descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            except FileNotFoundError:
                return
            with os.fdopen(descriptor, "rb") as file:
                text = file.read(_MAX_BYTES)
        try:
            self._take(json.loads(text))
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, InputError) as error:
            raise damaged(self.path, error) from None

    def add(self, number: int, stored: StoredFile) -> None:
        """The upload of a file is confirmed; durable when this returns."""
        self.files[number] = stored
        self.trouble = ""
        self._write()

    def seal(self, number: int) -> None:
        """Nothing more is appended to this file; durable when this returns."""
        if number not in self.sealed:
            self.sealed.add(number)
            self._write()

    def note_trouble(self, trouble: str) -> None:
        if trouble != self.trouble:
            self.trouble = trouble
            self._write()

    def allow(self, place: Place) -> None:
        """The user has named this place: a note that leads nowhere else is as good as the user's own."""
        if not self.is_ours and {stored.place for stored in self.files.values()} <= {place}:
            self.is_ours = True
            self._write()

    def expect_allowed(self, number: int) -> None:
        """Refuse to read a file where a stranger has said that it is."""
        if not self.is_ours:
            place = self.files[number].place
            where = plain(place.url, 200) + (f" at {plain(place.endpoint, 200)}" if place.endpoint else "")
            raise CrawlFolderError(
                f"{self.path}: a file of the archive is in {where}, which is not known to be yours; "
                f"`orienteer upload DIR --archive-to {plain(place.url, 200)}` allows to read it"
            )

    @property
    def can_be_kept(self) -> bool:
        """Whether it will be known again as this user's own."""
        return self.is_ours and signature(_PURPOSE, ()) is not None

    def _take(self, tables: dict[str, Any]) -> None:
        places = [checked_place(*_texts(place)) for place in tables["places"]]
        files = {
            int(number): StoredFile(places[int(place)], int(size_bytes), str(sha256))
            for number, (place, size_bytes, sha256) in tables["files"].items()
        }
        if not all(0 <= number < _MAX_FILES and stored.size_bytes > 0 for number, stored in files.items()):
            raise ValueError("no archive has such files")
        sealed, trouble = set(map(int, tables["sealed"])), plain(str(tables["trouble"]), 300)
        signed = bytes.fromhex(tables["signature"])
        # All or nothing: it is read again while it is in use.
        self.files, self.sealed, self.trouble = files, sealed, trouble
        self.is_ours = not files or is_signed(signed, _PURPOSE, [self._content()])

    def _tables(self) -> dict[str, Any]:
        places = list(dict.fromkeys(stored.place for stored in self.files.values()))
        return {
            "places": [astuple(place) for place in places],
            "files": {
                str(number): [places.index(stored.place), stored.size_bytes, stored.sha256]
                for number, stored in sorted(self.files.items())
            },
            "sealed": sorted(self.sealed),
        }

    def _content(self) -> bytes:
        """What is signed."""
        return json.dumps(self._tables()).encode()

    def _write(self) -> None:
        signed = signature(_PURPOSE, [self._content()]) if self.is_ours else None
        tables = self._tables() | {"trouble": self.trouble, "signature": (signed or b"").hex()}
        with explained(self.path):
            make_plain_folder(self.path.parent)
            write_durably(self.path, json.dumps(tables, indent=1) + "\n")


def _texts(place: Any) -> tuple[str, str | None, str | None]:
    url, endpoint, region = place
    if not all(text is None or isinstance(text, str) for text in place):
        raise TypeError("no place")
    return url, endpoint, region
