"""The open *views* of archived pages: the page in each frame, and the assets that it lacks; and their addresses.

An address on the origin of archived pages is /VIEW/KIND/TIME/URL, with the URL unquoted and including its query:

    rendered    a page in the frame, as a browser rendered it, if one did
    sent        a page in the frame, as the server sent it
    frame       a page in a frame of a page
    asset       pictures, styles and fonts of a page
    file        a file to be saved

A time selects the nearest record: 20260131180509, with up to six more digits for fractions of a second.

A view is created when an archived page is opened. Its id is the key to the second origin: a secret that no other site
in the same browser can guess. A page cannot read the location of a frame of another origin, but the server sees every
request of the frame, so the location is recorded here.

A view belongs to a single crawl. It opens the archive for each request, since unused crawls may be closed meanwhile.
"""

from __future__ import annotations

import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from orienteer.inspect.archived_page import is_archived

if TYPE_CHECKING:
    from orienteer.web.served_archive import ServedArchive

RENDERED, SENT, FRAME, ASSET, FILE = "rendered", "sent", "frame", "asset", "file"
_ADDRESS = re.compile(r"/([\w-]{8,64})/(rendered|sent|frame|asset|file)/(\d{4,20})/(https?:/.+)", re.ASCII | re.DOTALL)
_FIRST = "00010101000000000000"
_BEGIN = datetime(1970, 1, 1, tzinfo=UTC)


class ViewAddress(NamedTuple):
    view: str
    kind: str
    time: float
    url: str


def address_in(target: str) -> ViewAddress | None:
    """Parse the target of a request; None if it is not such an address."""
    found = _ADDRESS.fullmatch(target)
    time = time_in(found[3]) if found else None
    if found is None or time is None:
        return None
    url = re.sub("^(https?:)/+", r"\1//", found[4])  # proxies like to make one slash of two
    return ViewAddress(found[1], found[2], time, url)


def path_to(view: str, kind: str, time: float, url: str) -> str:
    return f"/{view}/{kind}/{time_text(time)}/{url}"


def time_text(time: float) -> str:
    """
    >>> time_text(1769882709.0), time_text(1769882709.25)
    ('20260131180509', '20260131180509250000')
    """
    moment = _BEGIN + timedelta(microseconds=round(time * 1e6))
    text = moment.strftime("%Y%m%d%H%M%S").zfill(14)
    return text + (f"{moment.microsecond:06}" if moment.microsecond else "")


def time_in(text: str) -> float | None:
    """Parse the digits of a time; missing digits mean the earliest time. None if there is no such time.

    >>> time_in("20260131180509"), time_in("1970"), time_in("20261331")
    (1769882709.0, 0.0, None)
    """
    if not (text.isascii() and text.isdecimal() and 4 <= len(text) <= 20):
        return None
    digits = text + _FIRST[len(text) :]
    try:
        moment = datetime.strptime(digits, "%Y%m%d%H%M%S%f").replace(tzinfo=UTC)
    except ValueError:
        return None
    return (moment - _BEGIN).total_seconds()


Opening = Callable[[], "AbstractContextManager[ServedArchive]"]

MAX_MISSING = 200  # URLs stored for one page
_MAX_VIEWS = 4_096
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")


@dataclass(frozen=True)
class FramedPage:
    """A page in a frame: the requested URL and time, and the time of its capture, None if it was not archived."""

    url: str
    requested: float
    time: float | None
    is_rendered: bool


@dataclass
class FrameView:
    """A view. `pages` is the origin of the page that contains the frame, `own` that of the archived pages; `crawl` is
    the path of its crawl, and `archive` opens the crawl's archive. `missing` are assets that the page in the frame
    requested but the archive lacks, with the HTTP status of the archived response, 0 if there is none.
    """

    id: str
    pages: str
    own: str
    crawl: str
    archive: Opening
    page: FramedPage | None = None
    n_assets: int = 0
    n_missing: int = 0
    missing: dict[str, int] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """The prefix of all addresses of the view."""
        return f"{self.own}/{self.id}/"


class Views:
    """The views of a server, for many threads. Beyond a large number the oldest are dropped."""

    def __init__(self) -> None:
        self._views: OrderedDict[str, FrameView] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, pages: str, own: str, crawl: str, archive: Opening) -> FrameView:
        view = FrameView(secrets.token_urlsafe(24), pages, own, crawl, archive)
        with self._lock:
            self._views[view.id] = view
            while len(self._views) > _MAX_VIEWS:
                self._views.popitem(last=False)
        return view

    def get(self, id: str) -> FrameView | None:
        with self._lock:
            view = self._views.get(id)
            if view is not None:
                self._views.move_to_end(id)
            return view

    def set_page(self, view: FrameView, page: FramedPage) -> None:
        """Record the page that the frame navigated to."""
        with self._lock:
            view.page = page
            view.n_assets = view.n_missing = 0
            view.missing = {}

    def note_asset(self, view: FrameView, url: str, status: int) -> None:
        """Record an asset that the page requested; its archived response has this status, 0 if there is none."""
        is_missing = not is_archived(status)
        with self._lock:
            view.n_assets += 1
            view.n_missing += is_missing
            if is_missing and len(view.missing) < MAX_MISSING:
                view.missing[url] = status


def origin_of(scheme: str, host: str, port: int | None = None) -> str | None:
    """Return the origin of a Host header, on another port if one is given; None if it is invalid.

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
