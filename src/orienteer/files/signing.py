"""Signatures that distinguish this user's files from untrusted ones, with a key that is in no crawl folder.

The key is made when it is needed, in `orienteer/key` of the state directory ($XDG_STATE_HOME, or ~/.local/state). Where
no key can be stored nothing is signed, and so nothing counts as signed.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from orienteer.files.plain import state_folder

SIGNATURE_BYTES = 32
_KEY_BYTES = 32


def signature(purpose: str, chunks: Iterable[bytes | memoryview]) -> bytes | None:
    """Return the signature of some bytes, for one purpose only; None if no key can be stored."""
    key = _key()
    return None if key is None else _signed(key, purpose, chunks)


def is_signed(signed: bytes, purpose: str, chunks: Iterable[bytes | memoryview]) -> bool:
    """Whether this user has signed these bytes for this purpose."""
    key = _key()
    return key is not None and hmac.compare_digest(signed, _signed(key, purpose, chunks))


def signed_content(purpose: str, content: bytes) -> bytes | None:
    """Return some bytes with their signature before them; None if no key can be stored."""
    signed = signature(purpose, [content])
    return None if signed is None else signed + content


def verified_content(purpose: str, signed: bytes) -> bytes | None:
    """Return the bytes that `signed_content` was given; None if this user did not sign them for this purpose."""
    content = signed[SIGNATURE_BYTES:]
    return content if is_signed(signed[:SIGNATURE_BYTES], purpose, [content]) else None


def _signed(key: bytes, purpose: str, chunks: Iterable[bytes | memoryview]) -> bytes:
    digest = hashlib.blake2b(
        key=key, digest_size=SIGNATURE_BYTES, person=hashlib.blake2b(purpose.encode(), digest_size=16).digest()
    )
    for chunk in chunks:
        digest.update(memoryview(chunk).nbytes.to_bytes(8, "little"))  # else another split would have the same digest
        digest.update(chunk)
    return digest.digest()


def _key() -> bytes | None:
    """Read the key each time: the file is small, and another process may have made it just now."""
    try:
        path = state_folder() / "key"
    except RuntimeError:  # there is no home
        return None
    return _read(path) or _make_key(path)


def _read(path: Path) -> bytes | None:
    """Read the key, if it is a file that only this user can read or write."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        signed = os.fstat(descriptor)
        is_ours = stat.S_ISREG(signed.st_mode) and signed.st_uid == os.geteuid() and not signed.st_mode & 0o077
        key = os.read(descriptor, _KEY_BYTES + 1) if is_ours else b""
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return key if len(key) == _KEY_BYTES else None


def _make_key(path: Path) -> bytes | None:
    """Make a key; return that of another process if it was quicker. A file of another user is not replaced."""
    new = path.with_name(f".new-{os.getpid()}-{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, secrets.token_bytes(_KEY_BYTES))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        with suppress(FileExistsError):
            os.link(new, path)
    except OSError:
        return None
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)
    return _read(path)
