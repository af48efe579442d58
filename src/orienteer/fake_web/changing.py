"""A site that changes between the epochs of a crawl, and tells an unchanged page apart when it is asked again.

    site = ChangingSite(GraphSite(graph))
    with FakeWeb(site) as web:
        ...                                              # a crawl
        site.edit("http://h0.test/p1", "<p>Today")       # by hand,
        changes = next_epoch(rng, site, share_new=0.01)  # or by chance
        site.outage("h3.test", "maintenance")
        site.begin_epoch()                               # the counts begin anew
        ...                                              # a refresh
        assert site.traffic.n_not_modified > 0

Whatever is changed keeps its address: what linked to a deleted page still does. Faults that stay the same from epoch
to epoch are those of `Faulty`, which goes around this site.
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
from orienteer.fake_web import prose
from orienteer.fake_web.answers import NOT_FOUND, Answer, Headers, redirect_to
from orienteer.fake_web.site import RequestHeaders, Site, place_of

Validators = Literal["both", "etag", "modified", "none"]

BEGINNING = 1_577_836_800  # Unix time; what was never changed dates from here, and every change is a second later
_TAG = re.compile(r'"([^"]*)"')
_PROSE_BYTES = 400
_NEW_PAGE_BYTES = 3000
_N_LINKS_OF_NEW_PAGES = 3
_NO_HEADERS = RequestHeaders(b"")

MAINTENANCE = Answer(
    '<!DOCTYPE html>\n<html lang="en"><head><title>Maintenance</title></head>\n'
    "<body><h1>We will be back soon</h1>\n<p>Our pages are being worked on. Please come later.</p></body></html>\n"
)
_OUTAGES = {
    "refuse": Answer(reset=True),
    "503": Answer("<!DOCTYPE html><title>Unavailable</title><p>The service is unavailable.", 503),
    "timeout": Answer(raw=b"", hold=True),
    "404-everything": NOT_FOUND,
    "maintenance": redirect_to("/maintenance", 302),
    "same-page": MAINTENANCE,
}


@dataclass
class Traffic:
    """What was asked for in one epoch. `asked` counts (url, status); the status is 0 where no answer came.

    `bytes_sent` are those of heads and bodies, as if all were sent to their end.
    """

    asked: Counter[tuple[str, int]] = field(default_factory=Counter)
    bytes_sent: int = 0

    @property
    def n_requests(self) -> int:
        return self.asked.total()

    @property
    def n_not_modified(self) -> int:
        return sum(n for (_, status), n in self.asked.items() if status == 304)


class _Changed(NamedTuple):
    """A page that is no longer the wrapped site's, since the change of that number."""

    answer: Answer
    change: int


@runtime_checkable
class _Listed(Protocol):
    def urls(self) -> list[str]: ...


class ChangingSite(Site):
    """The site, with pages that are edited, added, deleted and restored, and hosts that break down for a while.

    Every 200 answer with HTML has the validators; `If-None-Match` or else `If-Modified-Since` that match them are
    answered 304. A page that is edited has new ones, even if it says the same. With "none" nothing is ever 304.
    Changes and requests may come from different threads.
    """

    def __init__(self, site: Site, validators: Validators = "both") -> None:
        if validators not in get_args(Validators):
            raise InputError(f"no validators {validators!r}; choose from: {', '.join(get_args(Validators))}")
        self.site = site
        self.validators = validators
        self.epochs = [Traffic()]
        self._lock = threading.Lock()
        self._n_changes = 0
        self._changed: dict[tuple[str, str], _Changed] = {}
        self._added: dict[tuple[str, str], None] = {}  # where the wrapped site had no page, in order
        self._deleted: dict[tuple[str, str], int] = {}  # with the status they answer
        self._outages: dict[str, str] = {}

    @property
    def traffic(self) -> Traffic:
        """Of this epoch; `epochs` has those before too."""
        return self.epochs[-1]

    def begin_epoch(self) -> None:
        """Count anew. Nothing changes by itself."""
        with self._lock:
            self.epochs.append(Traffic())

    def urls(self) -> list[str]:
        """The URL of every page there is now, for sites that can say."""
        if not isinstance(self.site, _Listed):
            raise InputError(f"a {type(self.site).__name__} cannot list its pages")
        with self._lock:
            places = dict.fromkeys([*map(place_of, self.site.urls()), *self._added])
            return [_url_of(place) for place in places if place not in self._deleted]

    def body_of(self, url: str) -> bytes:
        """What the page says now, outage or not."""
        with self._lock:
            return _bytes(self._page(place_of(url)).body)

    def edit(self, url: str, body: str | bytes) -> None:
        """From now on the page says this."""
        place = place_of(url)
        with self._lock:
            self._put(place, replace(self._page(place), body=body))

    def add(self, url: str, body: str | bytes) -> None:
        """A new page, where there is none (or no longer one)."""
        place = place_of(url)
        with self._lock:
            if self._current(place, _NO_HEADERS).status == 200:
                raise InputError(f"{url}: there is a page already; edit it")
            if self._deleted.pop(place, None) is None:
                self._added[place] = None
            self._put(place, Answer(body))

    def delete(self, url: str, status: int = 404) -> None:
        """The page is gone, and answers with that status."""
        place = place_of(url)
        if not 400 <= status < 600:
            raise InputError(f"status is {status}; a page that is gone answers 404, 410 or another error")
        with self._lock:
            self._page(place)
            self._deleted[place] = status

    def restore(self, url: str) -> None:
        """A page that was deleted is back, as it was: with the same validators."""
        with self._lock:
            if self._deleted.pop(place_of(url), None) is None:
                raise InputError(f"{url}: it is not deleted")

    def outage(self, host: str, kind: str = "503") -> None:
        """From now on the host answers no request as it should, not even for robots.txt.

        "refuse"          the connection is reset, as a host is for `Faulty` when it is dead
        "503"             to everything
        "timeout"         nothing is said, but the connection stays open
        "404-everything"  there is no page any more
        "maintenance"     302 to /maintenance, which is a page
        "same-page"       200 and that page for every URL
        """
        if kind not in _OUTAGES:
            raise InputError(f"no outage {kind!r}; choose from: {', '.join(_OUTAGES)}")
        with self._lock:
            self._outages[host.lower()] = kind

    def end_outage(self, host: str) -> None:
        with self._lock:
            if self._outages.pop(host.lower(), None) is None:
                raise InputError(f"{host}: it has no outage")

    def answer(self, host: str, target: str, headers: RequestHeaders) -> Answer:
        with self._lock:
            kind = self._outages.get(host)
            if kind is None:
                answer = self._validated((host, target), headers)
            else:
                answer = MAINTENANCE if (kind, target) == ("maintenance", "/maintenance") else _OUTAGES[kind]
            is_reset = answer.reset and answer.cut_after is None
            status = 0 if is_reset or answer.raw is not None else answer.status
            self.traffic.asked[_url_of((host, target)), status] += 1
            self.traffic.bytes_sent += 0 if is_reset else sum(map(len, answer.parts()))
            return answer

    def _put(self, place: tuple[str, str], answer: Answer) -> None:
        self._n_changes += 1
        self._changed[place] = _Changed(answer, self._n_changes)

    def _page(self, place: tuple[str, str]) -> Answer:
        """The page at that place; InputError where there is none."""
        answer = self._current(place, _NO_HEADERS)
        if answer.status != 200:
            raise InputError(f"{_url_of(place)}: there is no page, but {answer.status}")
        return answer

    def _current(self, place: tuple[str, str], headers: RequestHeaders) -> Answer:
        if place in self._deleted:
            return replace(NOT_FOUND, status=self._deleted[place])
        changed = self._changed.get(place)
        return self.site.answer(*place, headers) if changed is None else changed.answer

    def _validated(self, place: tuple[str, str], headers: RequestHeaders) -> Answer:
        """The answer with its validators, or 304 where those of the request match them."""
        answer = self._current(place, headers)
        is_html = (answer.content_type or "").startswith(("text/html", "application/xhtml+xml"))
        is_page = answer.status == 200 and is_html and answer.raw is None
        if not is_page or self.validators == "none":
            return answer
        change = self._changed[place].change if place in self._changed else 0
        tag = f"{blake2b(_bytes(answer.body), digest_size=8).hexdigest()}-{change}"
        modified = BEGINNING + change
        validators: Headers = ()
        if self.validators != "modified":
            validators += (("ETag", f'"{tag}"'),)
        if self.validators != "etag":
            validators += (("Last-Modified", formatdate(modified, usegmt=True)),)
        answer = replace(answer, headers=answer.headers + validators)
        if not _is_match(headers, self.validators, tag, modified):
            return answer
        return replace(answer, status=304, body=b"", content_type=None, gzip=False, chunked=False)


def _is_match(headers: RequestHeaders, validators: Validators, tag: str, modified: int) -> bool:
    """Whether the client has this page already, by what its request says (RFC 9110, section 13)."""
    none_match = headers.get("If-None-Match")
    if none_match is not None:
        # Compared weakly: W/"1" is "1". With this header the other one does not count.
        return none_match.strip() == "*" or (validators != "modified" and tag in _TAG.findall(none_match))
    since = headers.get("If-Modified-Since")
    if since is None or validators == "etag":
        return False
    date = parsedate_tz(since)
    try:
        return date is not None and modified <= mktime_tz(date)
    except (ValueError, OverflowError):  # a date that never was
        return False


class Changes(NamedTuple):
    """What an epoch changed, by URL: what a perfect refresh would find."""

    new: frozenset[str]
    edited: frozenset[str]
    deleted: frozenset[str]


def next_epoch(
    rng: np.random.Generator,
    site: ChangingSite,
    share_new: float = 0.0,
    share_edited: float = 0.0,
    share_deleted: float = 0.0,
    among: Collection[str] | None = None,
) -> Changes:
    """Change the site by chance. Shares are of the pages there are, or of those `among` which all is to happen.

    An edited page has a paragraph more, and some a link more; a new page is linked to by an edited one (so there is
    at least one), and links to a few pages that stay. Links to deleted pages stay.
    """
    shares = (share_new, share_edited, share_deleted)
    if min(shares) < 0 or share_edited + share_deleted > 1:
        raise InputError(f"the shares of new, edited and deleted pages are {shares}; the last two are at most 1 in all")
    there = site.urls()
    wanted = set(there) if among is None else {_url_of(place_of(url)) for url in among}
    urls = [url for url in there if url in wanted]
    n_new, n_edited, n_deleted = (round(share * len(urls)) for share in shares)
    n_edited = max(n_edited, min(n_new, 1))
    if n_edited + n_deleted > len(urls):
        raise InputError(f"{len(urls)} pages are too few to edit {n_edited} and delete {n_deleted} of them")
    chosen = [urls[k] for k in rng.permutation(len(urls))[: n_edited + n_deleted].tolist()]
    edited, deleted = chosen[:n_edited], set(chosen[n_edited:])
    staying = [url for url in there if url not in deleted]
    new_links = _add_pages(rng, site, n_new, edited, staying)
    for url in edited:
        links = new_links.get(url) or _drawn(rng, staying, int(rng.integers(2)))
        site.edit(url, _grown(site.body_of(url), _paragraph(url, rng, _PROSE_BYTES) + _list(rng, links)))
    for url in deleted:
        site.delete(url)
    new = (url for links in new_links.values() for url in links)
    return Changes(frozenset(new), frozenset(edited), frozenset(deleted))


def _add_pages(
    rng: np.random.Generator, site: ChangingSite, n_new: int, sources: list[str], targets: list[str]
) -> dict[str, list[str]]:
    """Add pages with links to some of the targets; to which of them each source is to link."""
    links: dict[str, list[str]] = {}
    for page in range(n_new):
        source = _drawn(rng, sources, 1)[0]
        url = _new_url(source, rng, page)
        site.add(url, _new_page(url, rng, [source, *_drawn(rng, targets, _N_LINKS_OF_NEW_PAGES)]))
        links.setdefault(source, []).append(url)
    return links


def _new_url(source: str, rng: np.random.Generator, page: int) -> str:
    """On the host of the page that will link to it; no other page has it."""
    return f"{'/'.join(source.split('/', 3)[:3])}/new/{int(rng.integers(1 << 62)):016x}-{page}"


def _drawn(rng: np.random.Generator, urls: list[str], n: int) -> list[str]:
    return [urls[k] for k in rng.integers(len(urls), size=n).tolist()]


def _topic(url: str) -> int:
    """The same for all new texts of a host."""
    return crc32(place_of(url)[0].encode()) % len(prose.TOPICS)


def _paragraph(url: str, rng: np.random.Generator, n_bytes: int) -> str:
    return f"<p>{prose.text(_topic(url), int(rng.integers(1 << 31)), n_bytes)}</p>\n"


def _list(rng: np.random.Generator, links: list[str]) -> str:
    """The links, each with a title."""
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
    """The page with more at its end."""
    end = body.lower().rfind(b"</body")
    return body + more.encode() if end < 0 else body[:end] + more.encode() + body[end:]


def _bytes(body: str | bytes) -> bytes:
    return body.encode() if isinstance(body, str) else body


def _url_of(place: tuple[str, str]) -> str:
    return "http://" + "".join(place)
