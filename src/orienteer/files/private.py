"""Files that only this user can read, for secrets."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from orienteer.errors import InputError

_MAX_BYTES = 4 << 20


def read_private(path: Path) -> bytes:
    """Read a private file; an InputError if others can read it (as ssh refuses such a key), or it is unreadable."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if stat.S_ISDIR(status.st_mode):
            raise InputError(f"{path}: it is a folder")
        if status.st_uid not in (os.geteuid(), 0):
            raise InputError(f"{path}: it belongs to another user; secrets are read from files of your own only")
        if status.st_mode & 0o077:
            raise InputError(f"{path}: others can read it, or write it; `chmod 600 {path}` keeps its secrets")
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise InputError(f"{path}: it is larger than {_MAX_BYTES >> 20} MiB")
    return data


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only this user can read, replacing the old one."""
    new = path.with_name(f".new-{os.getpid()}-{path.name}")
    new.unlink(missing_ok=True)
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)
