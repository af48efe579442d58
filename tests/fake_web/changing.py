"""A site that changes between the epochs of a crawl, and answers conditional requests for unchanged pages with 304.

    site = ChangingSite(GraphSite(graph))
    with FakeWeb(site) as web:
        ...                                              # a crawl
        site.edit("http://h0.test/p1", "<p>Today")       # by hand,
        changes = next_epoch(rng, site, share_new=0.01)  # or by chance
        site.outage("h3.test", "maintenance")
        site.begin_epoch()                               # reset the counts
        ...                                              # a refresh
        assert site.traffic.n_not_modified > 0

Changes keep URLs: links to a deleted page stay. For faults that are the same in all epochs, wrap this site in `Faulty`.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from email.utils import formatdate, mktime_tz, parsedate_tz
from hashlib import blake2b
from html import escape
from typing import Literal, NamedTuple, Protocol, get_args, runtime_checkable
from zlib import crc32

import numpy as np

from orienteer.errors import InputError
from orienteer.fake_web.site import SiteChanges
from tests.fake_web import prose
from tests.fake_web.fake_response import NOT_FOUND, FakeResponse, Headers, redirect_to
from tests.fake_web.site import RequestHeaders, Site, host_and_target

Validators = Literal["both", "etag", "modified", "none"]

BEGINNING = 1_577_836_800  # Unix time of unchanged pages; each change is a second later
_TAG = re.compile(r'"([^"]*)"')
_PROSE_BYTES = 400
_NEW_PAGE_BYTES = 3000
_N_LINKS_OF_NEW_PAGES = 3
_NO_HEADERS = RequestHeaders(b"")

MAINTENANCE = FakeResponse(
    '<!DOCTYPE html>\n<html lang="en"><head><title>Maintenance</title></head>\n'
    "<body><h1>We will be back soon</h1>\n<p>Our pages are being worked on. Please come later.</p></body></html>\n"
)
_OUTAGES = {
    "refuse": FakeResponse(reset=True),
    "503": FakeResponse("<!DOCTYPE html><title>Unavailable</title><p>The service is unavailable.", 503),
    "timeout": FakeResponse(raw=b"", hold=True),
    "404-everything": NOT_FOUND,
    "maintenance": redirect_to("/maintenance", 302),
    "same-page": MAINTENANCE,
}


@dataclass
class Traffic:
    """The requests of one epoch. `requests` counts (url, status); the status is 0 if there was no response.

    `bytes_sent` counts heads and bodies, as if all were sent completely.
    """

    requests: Counter[tuple[str, int]] = field(default_factory=Counter)
    bytes_sent: int = 0

    @property
    def n_requests(self) -> int:
        return self.requests.total()

    @property
    def n_not_modified(self) -> int:
        return sum(n for (_, status), n in self.requests.items() if status == 304)


class _ChangedPage(NamedTuple):
    """A page that replaces one of the wrapped site, with the number of its last change."""

    response: FakeResponse
    change: int


@runtime_checkable
class _ListableSite(Protocol):
    def urls(self) -> list[str]: ...


class ChangingSite(Site):
    """A site whose pages can be edited, added, deleted and restored, and whose hosts can have outages.

    Every 200 response with HTML has validators; a request whose `If-None-Match`, or else `If-Modified-Since`, matches
    them gets a 304. Editing a page changes its validators, even if the text stays the same. With "none" there are no
    304 responses. Changes and requests may come from different threads.
    """

    def __init__(self, site: Site, validators: Validators = "both") -> None:
        if validators not in get_args(Validators):
            raise InputError(f"no validators {validators!r}; choose from: {', '.join(get_args(Validators))}")
        self.site = site
        self.validators = validators
        self.epochs = [Traffic()]
        self._lock = threading.Lock()
        self._n_changes = 0
        self._changed: dict[tuple[str, str], _ChangedPage] = {}
        self._added: dict[tuple[str, str], None] = {}  # not in the wrapped site; in order
        self._deleted: dict[tuple[str, str], int] = {}  # with the status of the response
        self._outages: dict[str, str] = {}

    @property
    def traffic(self) -> Traffic:
        """The traffic of this epoch; `epochs` also has the earlier ones."""
        return self.epochs[-1]

    def begin_epoch(self) -> None:
        """Begin a new epoch of the counts; no page changes by itself."""
        with self._lock:
            self.epochs.append(Traffic())

    def urls(self) -> list[str]:
        """Return the URL of every current page, if the wrapped site can list its pages."""
        if not isinstance(self.site, _ListableSite):
            raise InputError(f"a {type(self.site).__name__} cannot list its pages")
        with self._lock:
            places = dict.fromkeys([*map(host_and_target, self.site.urls()), *self._added])
            return [_url_of(place) for place in places if place not in self._deleted]

    def body_of(self, url: str) -> bytes:
        """Return the current body of a page, regardless of outages."""
        with self._lock:
            return _bytes(self._page(host_and_target(url)).body)

    def edit(self, url: str, body: str | bytes) -> None:
        """Replace the body of a page."""
        place = host_and_target(url)
        with self._lock:
            self._store_page(place, replace(self._page(place), body=body))

    def add(self, url: str, body: str | bytes) -> None:
        """Add a page at a URL without one (or with a deleted one)."""
        place = host_and_target(url)
        with self._lock:
            if self._current(place, _NO_HEADERS).status == 200:
                raise InputError(f"{url}: the page exists already; use edit")
            if self._deleted.pop(place, None) is None:
                self._added[place] = None
            self._store_page(place, FakeResponse(body))

    def delete(self, url: str, status: int = 404) -> None:
        """Delete a page; it responds with `status` from now on."""
        place = host_and_target(url)
        if not 400 <= status < 600:
            raise InputError(f"status is {status}; a deleted page has 404, 410 or another error")
        with self._lock:
            self._page(place)
            self._deleted[place] = status

    def restore(self, url: str) -> None:
        """Restore a deleted page unchanged, with the same validators."""
        with self._lock:
            if self._deleted.pop(host_and_target(url), None) is None:
                raise InputError(f"{url}: it is not deleted")

    def outage(self, host: str, kind: str = "503") -> None:
        """Begin an outage of a host, including its robots.txt.

        "refuse"          connections are reset, as with a dead host of `Faulty`
        "503"             503 for every URL
        "timeout"         no response, but the connection stays open
        "404-everything"  404 for every URL
        "maintenance"     302 to /maintenance, which is a page
        "same-page"       200 with that page for every URL
        """
        if kind not in _OUTAGES:
            raise InputError(f"no outage {kind!r}; choose from: {', '.join(_OUTAGES)}")
        with self._lock:
            self._outages[host.lower()] = kind

    def end_outage(self, host: str) -> None:
        with self._lock:
            if self._outages.pop(host.lower(), None) is None:
                raise InputError(f"{host}: it has no outage")

    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        with self._lock:
            kind = self._outages.get(host)
            if kind is None:
                response = self._validated((host, target), headers)
            else:
                response = MAINTENANCE if (kind, target) == ("maintenance", "/maintenance") else _OUTAGES[kind]
            is_reset = response.reset and response.cut_after is None
            status = 0 if is_reset or response.raw is not None else response.status
            self.traffic.requests[_url_of((host, target)), status] += 1
            self.traffic.bytes_sent += 0 if is_reset else sum(map(len, response.encode()))
            return response

    def _store_page(self, place: tuple[str, str], response: FakeResponse) -> None:
        self._n_changes += 1
        self._changed[place] = _ChangedPage(response, self._n_changes)

    def _page(self, place: tuple[str, str]) -> FakeResponse:
        """Return the page at that host and target; InputError if there is none."""
        response = self._current(place, _NO_HEADERS)
        if response.status != 200:
            raise InputError(f"{_url_of(place)}: no page here; the status is {response.status}")
        return response

    def _current(self, place: tuple[str, str], headers: RequestHeaders) -> FakeResponse:
        if place in self._deleted:
            return replace(NOT_FOUND, status=self._deleted[place])
        changed = self._changed.get(place)
        return self.site.response(*place, headers) if changed is None else changed.response

    def _validated(self, place: tuple[str, str], headers: RequestHeaders) -> FakeResponse:
        """Return the response with its validators, or a 304 if those of the request match."""
        response = self._current(place, headers)
        is_html = (response.content_type or "").startswith(("text/html", "application/xhtml+xml"))
        is_page = response.status == 200 and is_html and response.raw is None
        if not is_page or self.validators == "none":
            return response
        change = self._changed[place].change if place in self._changed else 0
        tag = f"{blake2b(_bytes(response.body), digest_size=8).hexdigest()}-{change}"
        modified = BEGINNING + change
        validators: Headers = ()
        if self.validators != "modified":
            validators += (("ETag", f'"{tag}"'),)
        if self.validators != "etag":
            validators += (("Last-Modified", formatdate(modified, usegmt=True)),)
        response = replace(response, headers=response.headers + validators)
        if not _is_match(headers, self.validators, tag, modified):
            return response
        return replace(response, status=304, body=b"", content_type=None, gzip=False, chunked=False)


def _is_match(headers: RequestHeaders, validators: Validators, tag: str, modified: int) -> bool:
    """Whether the conditional request matches this page (RFC 9110, section 13)."""
    none_match = headers.get("If-None-Match")
    if none_match is not None:
        # Weak comparison: W/"1" equals "1". If-Modified-Since is ignored if this header is present.
        return none_match.strip() == "*" or (validators != "modified" and tag in _TAG.findall(none_match))
    since = headers.get("If-Modified-Since")
    if since is None or validators == "etag":
        return False
    date = parsedate_tz(since)
    try:
        return date is not None and modified <= mktime_tz(date)
    except (ValueError, OverflowError):  # an impossible date
        return False


def next_epoch(
    rng: np.random.Generator,
    site: ChangingSite,
    share_new: float = 0.0,
    share_edited: float = 0.0,
    share_deleted: float = 0.0,
    among: Collection[str] | None = None,
) -> SiteChanges:
    """Change random pages of the site. Shares are of all current pages, or of those in `among`.

    An edited page gets another paragraph, and some get another link. Each new page is linked from an edited page (so
    there is at least one of those), and links to a few pages that stay. Links to deleted pages stay.
    """
    shares = (share_new, share_edited, share_deleted)
    if min(shares) < 0 or share_edited + share_deleted > 1:
        raise InputError(f"the shares of new, edited and deleted pages are {shares}; the last two are at most 1 in all")
    current = site.urls()
    allowed = set(current) if among is None else {_url_of(host_and_target(url)) for url in among}
    urls = [url for url in current if url in allowed]
    n_new, n_edited, n_deleted = (round(share * len(urls)) for share in shares)
    n_edited = max(n_edited, min(n_new, 1))
    if n_edited + n_deleted > len(urls):
        raise InputError(f"{len(urls)} pages are too few to edit {n_edited} and delete {n_deleted} of them")
    chosen = [urls[k] for k in rng.permutation(len(urls))[: n_edited + n_deleted].tolist()]
    edited, deleted = chosen[:n_edited], set(chosen[n_edited:])
    staying = [url for url in current if url not in deleted]
    new_links = _add_pages(rng, site, n_new, edited, staying)
    for url in edited:
        links = new_links.get(url) or _drawn(rng, staying, int(rng.integers(2)))
        site.edit(url, _grown(site.body_of(url), _paragraph(url, rng, _PROSE_BYTES) + _list(rng, links)))
    for url in deleted:
        site.delete(url)
    new = (url for links in new_links.values() for url in links)
    return SiteChanges(frozenset(new), frozenset(edited), frozenset(deleted))


def _add_pages(
    rng: np.random.Generator, site: ChangingSite, n_new: int, sources: list[str], targets: list[str]
) -> dict[str, list[str]]:
    """Add pages that link to some of the targets; return the new links of each source."""
    links: dict[str, list[str]] = {}
    for page in range(n_new):
        source = _drawn(rng, sources, 1)[0]
        url = _new_url(source, rng, page)
        site.add(url, _new_page(url, rng, [source, *_drawn(rng, targets, _N_LINKS_OF_NEW_PAGES)]))
        links.setdefault(source, []).append(url)
    return links


def _new_url(source: str, rng: np.random.Generator, page: int) -> str:
    """Return an unused URL on the host of the page that will link to it."""
    return f"{'/'.join(source.split('/', 3)[:3])}/new/{int(rng.integers(1 << 62)):016x}-{page}"


def _drawn(rng: np.random.Generator, urls: list[str], n: int) -> list[str]:
    return [urls[k] for k in rng.integers(len(urls), size=n).tolist()]


def _topic(url: str) -> int:
    """Return the topic of a host, for all its new texts."""
    return crc32(host_and_target(url)[0].encode()) % len(prose.TOPICS)


def _paragraph(url: str, rng: np.random.Generator, n_bytes: int) -> str:
    return f"<p>{prose.text(_topic(url), int(rng.integers(1 << 31)), n_bytes)}</p>\n"


def _list(rng: np.random.Generator, links: list[str]) -> str:
    """Return the links as an HTML list with titles."""
    items = [
        f'<li><a href="{escape(link)}">{prose.title(_topic(link), int(rng.integers(10_000)))}</a></li>\n'
        for link in links
    ]
    return f"<ul>\n{''.join(items)}</ul>\n" if items else ""


def _new_page(url: str, rng: np.random.Generator, links: list[str]) -> str:
    title = prose.title(_topic(url), int(rng.integers(10_000)))
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>\n'
        f"<body><h1>{title}</h1>\n{_paragraph(url, rng, _NEW_PAGE_BYTES)}{_list(rng, links)}</body></html>\n"
    )


def _grown(body: bytes, more: str) -> bytes:
    """Append to the body of a page."""
    end = body.lower().rfind(b"</body")
    return body + more.encode() if end < 0 else body[:end] + more.encode() + body[end:]


def _bytes(body: str | bytes) -> bytes:
    return body.encode() if isinstance(body, str) else body


def _url_of(place: tuple[str, str]) -> str:
    return "http://" + "".join(place)
