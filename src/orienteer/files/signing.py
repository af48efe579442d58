"""What this user has written can be told from what a stranger has: it is signed with a key that no folder holds.

The key is made when it is needed, in `orienteer/key` of the state directory ($XDG_STATE_HOME, or ~/.local/state). Where
no key can be kept nothing is signed, and so nothing counts as signed.
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

from orienteer.files.user_folders import state_folder

_KEY_BYTES = 32


def signature(purpose: str, parts: Iterable[bytes | memoryview]) -> bytes | None:
    """The signature of some bytes, for one purpose alone; None where the user has no key and cannot have one."""
    key = _key()
    return None if key is None else _signed(key, purpose, parts)


def is_signed(found: bytes, purpose: str, parts: Iterable[bytes | memoryview]) -> bool:
    """Whether this user has signed these bytes for this purpose."""
    key = _key()
    return key is not None and hmac.compare_digest(found, _signed(key, purpose, parts))


def _signed(key: bytes, purpose: str, parts: Iterable[bytes | memoryview]) -> bytes:
    made = hashlib.blake2b(key=key, digest_size=32, person=hashlib.blake2b(purpose.encode(), digest_size=16).digest())
    for part in parts:
        made.update(memoryview(part).nbytes.to_bytes(8, "little"))  # or parts could be divided otherwise
        made.update(part)
    return made.digest()


def _key() -> bytes | None:
    """Read each time: it is a small file, and it may have been made by another process just now."""
    try:
        path = state_folder() / "key"
    except RuntimeError:  # there is no home
        return None
    return _read(path) or _made(path)


def _read(path: Path) -> bytes | None:
    """The key, if it is a file of this user that nobody else can read or write."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = os.fstat(descriptor)
        is_ours = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
        key = os.read(descriptor, _KEY_BYTES + 1) if is_ours else b""
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return key if len(key) == _KEY_BYTES else None


def _made(path: Path) -> bytes | None:
    """A new key; that of another process, if it was quicker. One that is there and is not ours is left alone."""
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
