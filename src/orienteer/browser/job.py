"""What goes into the browser and what comes out of it: plain values, which may travel between processes."""

from __future__ import annotations

from typing import NamedTuple


class RenderJob(NamedTuple):
    """One page to be shown: its main document as it was fetched, unpacked.

    `scrolls` is how often the end of the page may be asked for more. Without `pictures` images, fonts and media are
    refused, and the owner hears nothing of them. `time_s` is the page's own time, which passes as fast as the page
    can follow; `wall_s` is real time, without what the owner takes for answers; `cpu_s` is of the page's process.
    """

    number: int
    url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    content: bytes
    user_agent: str
    scrolls: int = 0
    screenshot: bool = False
    pictures: bool = False
    max_requests: int = 200
    max_bytes: int = 50 << 20
    time_s: float = 5.0
    cpu_s: float = 10.0
    wall_s: float = 60.0


class Wanted(NamedTuple):
    """A page asks for something by GET. `kind` is script, style, fetch, frame, image, font, media or other."""

    job: int
    number: int
    url: str
    kind: str


class Supplied(NamedTuple):
    """The answer to a `Wanted`: content unpacked, redirects as they are. With `refused` (why), or without a status,
    the page sees a request that failed."""

    job: int
    number: int
    status: int
    headers: tuple[tuple[str, str], ...]
    content: bytes
    refused: str = ""


class Rendered(NamedTuple):
    """What a page shows.

    `url` is where it is in the end (history API). `redirect` is where a script, a form or an element sends the main
    frame: only the first document is shown. `dom` is HTML in UTF-8 with the open shadow roots as templates. `links` are
    the http(s) targets of its links, in shadow roots and in frames of its origin too, and the windows that it wanted
    to open; `routes` the URLs that it gave itself by the history API. `hash_routes`: it is an application whose pages
    differ by the fragment alone. `n_clickable` are things to click that are no links and may lead elsewhere.
    `still_growing`: with more scrolls there would have been more.

    `n_requests` came to the owner. `n_refused` were refused, by the owner or before (another method than GET, event
    streams, workers that outlive a page, too many); unwanted pictures do not count. `n_failed` got no answer, or an
    error. `trouble` says why this is not complete: time, cpu, memory, crashed, too many requests, too large, left
    (the page emptied itself), cancelled.
    """

    job: int
    url: str = ""
    redirect: str = ""
    dom: bytes = b""
    title: str = ""
    links: tuple[str, ...] = ()
    routes: tuple[str, ...] = ()
    hash_routes: bool = False
    n_clickable: int = 0
    still_growing: bool = False
    n_requests: int = 0
    n_refused: int = 0
    n_failed: int = 0
    screenshot: bytes = b""
    cpu_s: float = 0.0
    trouble: str = ""
