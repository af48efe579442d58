"""The upload of an archive, in a process that dies at one step of the way of a file.

python -m tests.faults.uploading STEP FOLDER PLACE FILE BYTES      the last two are the end of the archive
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from orienteer.store.archive import Archive, ArchiveEnd
from orienteer.store.object_store import parse_location
from orienteer.store.stored_files import StoredFiles
from orienteer.store.uploads import Uploads

CODE = 9


def _dies(*_: Any) -> None:
    os._exit(CODE)


def _dies_after(call: Callable[..., Any]) -> Callable[..., None]:
    """After a call with something to do."""

    def called(*arguments: Any) -> None:
        call(*arguments)
        if arguments[1:]:
            _dies()

    return called


STEPS: dict[str, tuple[Any, str, Callable[..., None]]] = {
    "sent": (StoredFiles, "add", _dies),
    "note written": (os, "replace", _dies),
    "noted": (Uploads, "_drop", _dies),
    "deleted": (Uploads, "_drop", _dies_after(Uploads._drop)),
}


def main(step: str, folder: str, place: str, *end: str) -> None:
    uploads = Uploads(Archive(Path(folder), ArchiveEnd(*map(int, end))), parse_location(place), drop_local=True)
    setattr(*STEPS[step])
    uploads.finish()


if __name__ == "__main__":
    main(*sys.argv[1:])
