"""Arrays in a signed file: kernels index without bounds checks, so arrays of an untrusted file could corrupt memory.

The file is that of np.savez followed by the user's signature (see `files/signing`), which NumPy ignores. The signature
is verified before the file is parsed.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from orienteer.files.plain import expect_plain, replaced_inside
from orienteer.files.signing import SIGNATURE_BYTES, is_signed, signature

_PURPOSE = "checkpoint"
_CHUNK_BYTES = 1 << 20


def write_signed_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write or replace the file. If this user cannot sign, the file is removed: it would not be trusted."""
    if signature(_PURPOSE, ()) is None:
        path.unlink(missing_ok=True)
        return
    with replaced_inside(path) as new:
        np.savez(new, **arrays)  # type: ignore[arg-type]  # a name could be one of its own arguments
        with new.open("r+b") as file:
            n_bytes = file.seek(0, os.SEEK_END)
            signed = signature(_PURPOSE, _content(file, n_bytes))
            file.seek(n_bytes)
            file.write(signed or bytes(SIGNATURE_BYTES))


def read_signed_arrays(path: Path) -> dict[str, NDArray[Any]] | None:
    """Return the arrays; None if there are none, this user did not sign them, or they are damaged."""
    try:
        expect_plain(path, alone=False)
        with path.open("rb") as file:
            n_bytes = file.seek(0, os.SEEK_END) - SIGNATURE_BYTES
            if n_bytes <= 0:
                return None
            file.seek(n_bytes)
            if not is_signed(file.read(SIGNATURE_BYTES), _PURPOSE, _content(file, n_bytes)):
                return None
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                return dict(arrays)
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error):
        return None


def _content(file: BinaryIO, n_bytes: int) -> Iterator[bytes]:
    file.seek(0)
    while n_bytes > 0:
        chunk = file.read(min(n_bytes, _CHUNK_BYTES))
        if not chunk:
            return
        n_bytes -= len(chunk)
        yield chunk
