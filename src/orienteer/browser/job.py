"""Input and output of the browser: plain values that can be sent between processes."""

from __future__ import annotations

from typing import NamedTuple


class RenderJob(NamedTuple):
    """One page to render; `content` is its main document, decoded.

    `scrolls` is how often to scroll to the end to load more. Without `pictures` requests for images, fonts and media
    are refused without asking the owner. `time_s` is virtual time, which passes as fast as the page can run; `wall_s`
    is real time, without the time that the owner takes for responses; `cpu_s` is of the page's process.
    `with_credentials`: the document was fetched with credentials, so requests of its own origin may carry them, too.
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
    with_credentials: bool = False


class BrowserRequest(NamedTuple):
    """A request of a page. `kind` is script, style, fetch, frame, image, font, media, preflight or other.

    `method` is GET, or OPTIONS for a preflight. `headers` are the CORS request headers. `with_credentials`: the request
    certainly comes from the page's own origin and may carry its credentials.
    """

    job: int
    number: int
    url: str
    kind: str
    with_credentials: bool = False
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()


class BrowserResponse(NamedTuple):
    """The response to a `BrowserRequest`: content decoded, redirects not followed. With `refused` (the reason), or
    with status 0, the request fails in the page."""

    job: int
    number: int
    status: int
    headers: tuple[tuple[str, str], ...]
    content: bytes
    refused: str = ""


class RenderResult(NamedTuple):
    """A rendered page.

    `url` is the final URL (history API). `redirect` is the target of a navigation of the main frame: only the first
    document is rendered. `dom` is HTML in UTF-8 with the open shadow roots as templates. `links` are the http(s)
    targets of links, also in shadow roots and frames of the same origin, and of windows that the page tried to open;
    `routes` are the URLs that it set by the history API. `hash_routes`: the pages of the application differ only by
    fragments that begin with `#/` or `#!`; `named_routes` are links to other fragments that are pages, too. `anchors`
    are the route fields that only scroll the page (`browser/routes`). `n_clickable` counts clickable elements that are
    not links and may open other pages, and links to fragments that may be pages. `can_grow`: more scrolling would have
    loaded more.

    `n_requests` were passed to the owner. `n_refused` were refused, by the owner or before (methods other than GET,
    event streams, workers that outlive a page, too many); unwanted pictures do not count. `n_failed` got an error or no
    response. `problem` is why the rendering is incomplete: time, cpu, memory, crashed, too many requests, too large,
    not loaded (the browser shows an error page of its own), left (the page emptied itself), cancelled.
    """

    job: int
    url: str = ""
    redirect: str = ""
    dom: bytes = b""
    title: str = ""
    links: tuple[str, ...] = ()
    routes: tuple[str, ...] = ()
    hash_routes: bool = False
    named_routes: tuple[str, ...] = ()
    anchors: tuple[str, ...] = ()
    n_clickable: int = 0
    can_grow: bool = False
    n_requests: int = 0
    n_refused: int = 0
    n_failed: int = 0
    screenshot: bytes = b""
    cpu_s: float = 0.0
    problem: str = ""
