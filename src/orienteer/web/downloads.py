"""Downloads of exports: a file unchanged, a folder as a ZIP file that is streamed."""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Iterator
from io import RawIOBase
from pathlib import Path
from urllib.parse import quote

from starlette.responses import FileResponse, Response, StreamingResponse

from orienteer.errors import NotInLibraryError
from orienteer.library.jobs import Job, Jobs

_PIECE_BYTES = 1 << 18
_GONE = "This export is no longer there; export it again."


def download(jobs: Jobs, job: Job) -> Response:
    """Return the output of an export as a response; never a file outside the folder of exports."""
    path = exported(jobs, job)
    if path is None:
        raise NotInLibraryError(_GONE)
    if path.is_file() and len(list(path.parent.iterdir())) == 1:
        return FileResponse(path, 200, _saved_as(path.name), "application/octet-stream")
    # The format writes a folder, or more files than one.
    folder = path if path.is_dir() else path.parent
    return StreamingResponse(filter(None, zipped(folder)), 200, _saved_as(path.name + ".zip"), "application/zip")


def exported(jobs: Jobs, job: Job) -> Path | None:
    """Return the file or folder of an export if it exists and its path contains no link."""
    path, home = job.result, jobs.library.exports_path
    if path is None or path.parent != home / job.id:
        return None
    try:
        kinds = [stat.S_IFMT(each.lstat().st_mode) for each in (home, path.parent, path)]
    except OSError:
        return None
    is_plain = kinds[:2] == [stat.S_IFDIR, stat.S_IFDIR] and kinds[2] in (stat.S_IFDIR, stat.S_IFREG)
    return path if is_plain else None


def zipped(folder: Path) -> Iterator[bytes]:
    """Yield the bytes of a ZIP file of a folder, without its links."""
    pieces = _Pieces()
    with zipfile.ZipFile(pieces, "w", compresslevel=1) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_symlink() or not path.is_file():
                continue
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix())
            entry.compress_type = zipfile.ZIP_DEFLATED
            with path.open("rb") as source, archive.open(entry, "w", force_zip64=True) as target:
                while piece := source.read(_PIECE_BYTES):
                    target.write(piece)
                    yield pieces.taken()
            yield pieces.taken()
    yield pieces.taken()


class _Pieces(RawIOBase):
    """A buffer that `zipfile` writes to, and that the response empties with `taken`."""

    def __init__(self) -> None:
        super().__init__()
        self._held = bytearray()
        self._n_written = 0

    def writable(self) -> bool:
        return True

    def write(self, piece: object) -> int:
        taken = bytes(memoryview(piece))  # type: ignore[arg-type]
        self._held += taken
        self._n_written += len(taken)
        return len(taken)

    def tell(self) -> int:
        return self._n_written

    def taken(self) -> bytes:
        held, self._held = bytes(self._held), bytearray()
        return held


def _saved_as(name: str) -> dict[str, str]:
    return {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
