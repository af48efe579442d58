"""How many connections fit into the files that the system lets this process have open.

A connection is an open file, and so is a part of the database, of the archive, of a checkpoint: a crawl that uses up
its files for connections cannot write down what it has fetched. So the limit (`ulimit -n`) is raised as far as it goes,
some files are kept free, and the rest is shared between fetches under way and idle connections that are kept for later.
"""

from __future__ import annotations

from typing import NamedTuple

from orienteer.errors import InputError

MAX_IDLE_CONNECTIONS = 256
MIN_FILES = 64

_KEPT_FREE = 40  # the database, the archive, the log, a checkpoint, Python's own
_PER_FETCH = 3  # its socket, and a pair of sockets while its name is resolved
_MANY = 1 << 16


class Room(NamedTuple):
    n_fetches: int  # under way at once
    n_idle: int  # connections kept


def room_within(n_files: int) -> Room:
    """Room for connections in a process that may have so many files open; InputError if there is next to none.

    >>> room_within(64), room_within(256), room_within(20_000)
    (Room(n_fetches=4, n_idle=12), Room(n_fetches=36, n_idle=108), Room(n_fetches=6568, n_idle=256))
    """
    if n_files < MIN_FILES:
        raise InputError(f"this process may open {n_files} files (ulimit -n); a crawl needs at least {MIN_FILES}")
    n_idle = min((n_files - _KEPT_FREE) // 2, MAX_IDLE_CONNECTIONS)
    return Room((n_files - _KEPT_FREE - n_idle) // _PER_FETCH, n_idle)


def room_for_connections() -> Room:
    """The room that this process has, after raising its limit as far as it goes."""
    return room_within(_raised_limit())


def _raised_limit() -> int:
    try:
        import resource
    except ImportError:  # a system without such limits
        return _MANY
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MANY if hard == resource.RLIM_INFINITY else min(hard, _MANY)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        except (ValueError, OSError):  # some systems allow less than they say
            pass
    return _MANY if soft == resource.RLIM_INFINITY else int(soft)
