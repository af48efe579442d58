"""Commands on the crawls of a library: started, found again, stopped."""

from __future__ import annotations

from collections.abc import Mapping

from orienteer.library.job import ALIVE, OVER, Job
from orienteer.library.library import Library

__all__ = ["ALIVE", "KINDS", "OVER", "Job", "Jobs", "Options"]

KINDS = ("crawl", "refresh", "index", "estimate", "export")
Options = Mapping[str, str | int | float | bool]

# kind: options that may be given; strings as from a form are taken as well
#   crawl:    url (a new crawl; without it the crawl is resumed), scope, until, budget, delay, user_agent, render, index
#   refresh:  until, budget
#   index:    rebuild
#   estimate: budget
#   export:   format


class Jobs:
    """The jobs of a library. Anybody who opens the library sees the same ones; they outlive who started them."""

    def __init__(self, library: Library, allow_private: bool = False) -> None:
        """With `allow_private` crawls may be started at private, loopback and link-local addresses."""
        self.library = library
        self.allow_private = allow_private

    def check(self, kind: str, crawl: str, options: Options) -> None:
        """Raise what `start` would raise, and start nothing."""
        raise NotImplementedError

    def start(self, kind: str, crawl: str, options: Options) -> Job:
        """Start a command on a crawl. InputError: an option that cannot be; LibraryError: something works on it."""
        raise NotImplementedError

    def all(self) -> list[Job]:
        """All that are kept, the newest first."""
        raise NotImplementedError

    def of(self, crawl: str) -> list[Job]:
        """Those of a crawl, the newest first."""
        raise NotImplementedError

    def get(self, id: str) -> Job:
        """One of them; NotInLibraryError where there is none."""
        raise NotImplementedError

    def output(self, id: str) -> str:
        """The end of what it has printed, plain text of several lines."""
        raise NotImplementedError

    def stop(self, id: str) -> None:
        """Ask it to stop, as Ctrl-C does; a second time it stops at once."""
        raise NotImplementedError
