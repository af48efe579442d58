"""Limit the number of connections by the limit of open files.

Connections need file descriptors, and so do the database, the archive and checkpoints: a crawl that uses all of them
for connections cannot store its results. So the soft limit (`ulimit -n`) is raised to the hard limit, some descriptors
are reserved, and the others are divided between fetches in flight and idle connections.
"""

from __future__ import annotations

from typing import NamedTuple

from orienteer.errors import InputError

MAX_IDLE_CONNECTIONS = 256
MIN_FILES = 64

_RESERVED_FILES = 40  # the database, the archive, the log, a checkpoint, Python's own
_PER_FETCH = 3  # its socket, and a pair of sockets while its name is resolved
_MANY = 1 << 16


class ConnectionLimits(NamedTuple):
    n_fetches: int  # in flight
    n_idle: int  # connections kept open for reuse


def limits_within(n_files: int) -> ConnectionLimits:
    """Return the limits for a process that may open `n_files`; InputError if these are too few.

    >>> limits_within(64)
    ConnectionLimits(n_fetches=4, n_idle=12)
    >>> limits_within(20_000)
    ConnectionLimits(n_fetches=6568, n_idle=256)
    """
    if n_files < MIN_FILES:
        raise InputError(f"this process may open {n_files} files (ulimit -n); a crawl needs at least {MIN_FILES}")
    n_idle = min((n_files - _RESERVED_FILES) // 2, MAX_IDLE_CONNECTIONS)
    return ConnectionLimits((n_files - _RESERVED_FILES - n_idle) // _PER_FETCH, n_idle)


def connection_limits() -> ConnectionLimits:
    """Raise the soft limit of this process to its hard limit, and return the connection limits."""
    return limits_within(_raised_limit())


def _raised_limit() -> int:
    try:
        import resource
    except ImportError:  # a system without such limits
        return _MANY
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _MANY if hard == resource.RLIM_INFINITY else min(hard, _MANY)
    if soft != resource.RLIM_INFINITY and soft < limit:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
            soft = limit
        except (ValueError, OSError):  # some systems allow less than the hard limit
            pass
    return _MANY if soft == resource.RLIM_INFINITY else int(soft)
