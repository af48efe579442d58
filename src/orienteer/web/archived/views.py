"""What is open in browsers: each *view* of archived pages, where its frame is, and what it was not given.

A view begins when somebody opens a page as archived. Its id is the way in to the other origin, since no site that is
open in the same browser can guess it. A frame tells nobody where it has gone to; but all it shows comes from here, so
this is where it is known.

A view is of one crawl. It holds no archive, but asks for it each time, since crawls that nobody looks at
may be closed meanwhile.
"""

from __future__ import annotations

import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orienteer.web.served_archive import ServedArchive

Opening = Callable[[], "AbstractContextManager[ServedArchive]"]

MAX_MISSING = 200  # URLs that are kept in mind of one page
_MAX_VIEWS = 4_096
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")


@dataclass(frozen=True)
class Shown:
    """A page in a frame: what was asked for, and the time it was archived at; None where it was not."""

    url: str
    wanted: float
    time: float | None
    as_shown: bool


@dataclass
class View:
    """`pages` is the origin that the frame is in, `own` the one that it shows archived pages from; `crawl` is the path
    under which its crawl is served, and `archive` opens what that has archived."""

    id: str
    pages: str
    own: str
    crawl: str
    archive: Opening
    shown: Shown | None = None
    n_parts: int = 0
    n_missing: int = 0
    missing: dict[str, None] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """Where all that it shows is."""
        return f"{self.own}/{self.id}/"


class Views:
    """The views of a server; the oldest are forgotten where there are very many. Several threads may ask."""

    def __init__(self) -> None:
        self._views: OrderedDict[str, View] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, pages: str, own: str, crawl: str, archive: Opening) -> View:
        view = View(secrets.token_urlsafe(24), pages, own, crawl, archive)
        with self._lock:
            self._views[view.id] = view
            while len(self._views) > _MAX_VIEWS:
                self._views.popitem(last=False)
        return view

    def get(self, id: str) -> View | None:
        with self._lock:
            view = self._views.get(id)
            if view is not None:
                self._views.move_to_end(id)
            return view

    def show(self, view: View, shown: Shown) -> None:
        """The frame has gone to a page."""
        with self._lock:
            view.shown = shown
            view.n_parts = view.n_missing = 0
            view.missing = {}

    def note_part(self, view: View, url: str, is_there: bool) -> None:
        """The page in the frame has asked for a part of it."""
        with self._lock:
            view.n_parts += 1
            view.n_missing += not is_there
            if not is_there and len(view.missing) < MAX_MISSING:
                view.missing[url] = None


def origin_of(scheme: str, host: str, port: int | None = None) -> str | None:
    """The origin of a Host header, on another port if one is given; None where there is no such.

    >>> origin_of("http", "localhost:8765", 8766), origin_of("https", "crawl.example.org"), origin_of("http", "a b")
    ('http://localhost:8766', 'https://crawl.example.org', None)
    """
    name, colon, stated = host.rpartition(":")
    if not colon or not stated.isdecimal():
        name, stated = host, ""
    if not _HOST.fullmatch(name) or scheme not in ("http", "https") or len(stated) > 5:
        return None
    number = str(port) if port is not None else stated
    return f"{scheme}://{name}" + (f":{number}" if number else "")
