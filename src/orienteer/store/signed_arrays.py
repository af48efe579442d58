"""Arrays in a signed file: kernels index without bounds checks, so arrays of an untrusted file could corrupt memory.

The file is an .npz followed by the user's signature (see `files/signing`), which NumPy ignores. The signature is
verified before the file is parsed. Arrays of which a sample becomes much smaller are compressed; masses and the like
would take longer and hardly shrink.
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
_SMALL_BYTES = 1 << 20  # arrays up to this size are compressed without a look
_N_SAMPLES, _SAMPLE_BYTES = 16, 1 << 12


def write_signed_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write or replace the file. If this user cannot sign, the file is removed: it would not be trusted."""
    if signature(_PURPOSE, ()) is None:
        path.unlink(missing_ok=True)
        return
    with replaced_inside(path) as new:
        _write_arrays(new, arrays)
        with new.open("r+b") as file:
            n_bytes = file.seek(0, os.SEEK_END)
            signed = signature(_PURPOSE, _content(file, n_bytes))
            file.seek(n_bytes)
            file.write(signed or bytes(SIGNATURE_BYTES))


def _write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write the arrays as numpy.load reads them, those that are worth it compressed."""
    compressed = {name for name, array in arrays.items() if _is_worth_compressing(array)}
    for names, method in ((compressed, zipfile.ZIP_DEFLATED), (arrays.keys() - compressed, zipfile.ZIP_STORED)):
        with zipfile.ZipFile(path, "a", method, compresslevel=1) as members:
            for name in sorted(names):
                with members.open(f"{name}.npy", "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, arrays[name], allow_pickle=False)


def _is_worth_compressing(array: NDArray[Any]) -> bool:
    """Return whether pieces from all over the array shrink to a third or less, or the array is small."""
    content = array.ravel().view(np.uint8)
    if len(content) <= _SMALL_BYTES:
        return True
    starts = np.linspace(0, len(content) - _SAMPLE_BYTES, _N_SAMPLES).astype(np.int64).tolist()
    sample = b"".join(content[start : start + _SAMPLE_BYTES].tobytes() for start in starts)
    return 3 * len(zlib.compress(sample, 1)) <= len(sample)


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
