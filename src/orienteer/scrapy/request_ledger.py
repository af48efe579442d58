"""A spider's requests and their folder: each accepted request is a page, and is stored until the page is done.

Without a folder the requests are in memory. With one they are only there, except those that cannot be serialized. If
the process dies, everything since the last `commit` is lost: those pages are requested again.

A request is stored as a pickle, since meta and cb_kwargs may hold any value, and loading an untrusted pickle can run
any code. So each is signed with a key of the user that is not in the folder (`files/signing`), and unsigned ones are
not loaded.
"""

from __future__ import annotations

import logging
import pickle
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray
from scrapy import Request, Spider
from scrapy.utils.request import request_from_dict

from orienteer.errors import InputError
from orienteer.files.plain import state_folder
from orienteer.files.signing import signed_content, verified_content
from orienteer.pages.states import PageState
from orienteer.scrapy.project import PluginSettings
from orienteer.scrapy.spider_crawl import SpiderCrawl
from orienteer.store.failures import damaged
from orienteer.store.page_row import NO_LINKS
from orienteer.store.request_folder import RequestFolder, RequestRow

_PURPOSE = "request of a spider"

logger = logging.getLogger(__name__)


class RequestLedger:
    """Requests by page, pages by fingerprint, and the crawl that orders them."""

    def __init__(self, settings: PluginSettings, spider: Spider) -> None:
        self.crawl = SpiderCrawl(settings)
        self.n_resumed = 0  # pages that were known before this process
        self.n_unwritten = 0  # requests that could not be serialized
        self._spider = spider
        self._folder = None if settings.folder is None else RequestFolder(settings.folder, spider.name)
        self._tables = None if self._folder is None else self._folder.tables
        self._page_of: dict[bytes, int] = {}  # by fingerprint, if equal requests are dropped
        self._host_of: dict[str, int] = {}  # by name
        self._host_names: list[str] = []
        self._in_memory: dict[int, Request] = {}
        self._n_surveys = 0
        self._old_starts: Counter[bytes] = Counter()  # fingerprints of start requests that a restarted spider repeats
        try:
            self._restore()
        except BaseException:
            self.close()
            raise

    # -- requests -----------------------------------------------------------------------------------------------

    def find(self, fingerprint: bytes) -> int | None:
        """Return the page with this fingerprint, a duplicate of which is dropped unless it has `dont_filter`."""
        return self._page_of.get(fingerprint)

    def was_started_before(self, fingerprint: bytes) -> bool:
        """Return whether a start request was made before this process; each earlier request is matched once."""
        if self._old_starts[fingerprint] == 0:
            return False
        self._old_starts[fingerprint] -= 1
        return True

    def add(self, request: Request, fingerprint: bytes, host_name: str, is_start: bool) -> int:
        """Accept a request as a new page and return its number."""
        host = self._host(host_name)
        page = self.crawl.add(host, request.priority)
        is_registered = not request.dont_filter
        if is_registered:
            self._page_of[fingerprint] = page
        if self._tables is not None:
            row = (page, request.url, fingerprint, is_registered, host, request.priority, is_start)
            self._tables.add(RequestRow(*row))
        self._store(page, request)
        if is_start:
            self.crawl.start_from(page)
        return page

    def start_from(self, page: int) -> None:
        """Make a known page a start page, after a start request for it was dropped as a duplicate."""
        self.crawl.start_from(page)
        if self._tables is not None:
            self._tables.set_start(page)

    def request(self, page: int) -> Request:
        """Return the request of a page that is not done; an InputError if the spider cannot restore it.

        The cause is in the spider's code (such as a renamed callback), so the request is not dropped.
        """
        if page in self._in_memory:
            return self._in_memory[page]
        stored = None if self._tables is None else self._tables.request(page)
        if stored is None:
            raise InputError(f"the request of page {page} is not stored")
        content = verified_content(_PURPOSE, stored)
        if content is None:
            raise InputError(
                f"the request of page {page} was not written by you, or by an older version: it is a pickle, which "
                "could run any code, and is not loaded; begin with a new ORIENTEER_DIR"
            )
        try:
            return request_from_dict(pickle.loads(content), spider=self._spider)
        except Exception as error:  # classes of the project can raise anything
            raise InputError(f"a stored request cannot be restored ({error}); fix the spider, then resume") from None

    def host_name(self, host: int) -> str:
        return self._host_names[host]

    # -- outcomes of pages --------------------------------------------------------------------------------------

    def retry(self, page: int, request: Request) -> None:
        """Replace the request of a page by this one, to be requested again."""
        self.crawl.retry(page, request.priority)
        self._store(page, request)
        if self._tables is not None:
            self._tables.set_priority(page, request.priority)

    def finish(self, page: int, state: PageState, redirect_to: int | None = None, links: Iterable[int] = ()) -> None:
        targets = list(links)
        self.crawl.finish(page, state, redirect_to, targets)
        self._in_memory.pop(page, None)
        if self._tables is not None:
            self._tables.finish(page, int(state), redirect_to, targets)

    def count_survey(self) -> int:
        """Count a new survey and return the number of all earlier ones. Commit before the survey begins."""
        n_before = self._n_surveys if self._tables is None else self._tables.n_surveys()
        self._n_surveys = n_before + 1
        if self._tables is not None:
            self._tables.set_n_surveys(self._n_surveys)
        return n_before

    def commit(self) -> None:
        """Make all changes durable."""
        if self._tables is not None:
            self._tables.commit()

    def close(self) -> None:
        """Close the folder without a commit."""
        if self._folder is not None:
            self._folder.close()

    # -- writing and reading ------------------------------------------------------------------------------------

    def _host(self, name: str) -> int:
        host = self._host_of.get(name)
        if host is None:
            host = self._host_of[name] = len(self._host_names)
            self._host_names.append(name)
            if self._tables is not None:
                self._tables.add_host(host, name)
        return host

    def _store(self, page: int, request: Request) -> None:
        self._in_memory.pop(page, None)
        if self._tables is not None:
            try:
                signed = signed_content(_PURPOSE, pickle.dumps(request.to_dict(spider=self._spider), protocol=5))
                if signed is None:
                    raise ValueError(f"no key for its signature can be stored in {state_folder()}")
                return self._tables.set_request(page, signed)
            except (ValueError, TypeError, AttributeError, pickle.PicklingError) as error:
                self._warn_once(request, error)
        self._in_memory[page] = request

    def _warn_once(self, request: Request, error: Exception) -> None:
        if self.n_unwritten == 0:
            logger.warning(
                "%s cannot be serialized (%s): such requests are only in memory, and lost if the process dies",
                request,
                error,
                extra={"spider": self._spider},
            )
        self.n_unwritten += 1

    def _restore(self) -> None:
        """Restore the crawl from the folder."""
        if self._tables is None:
            return
        for name in self._tables.host_names():
            self._host_of[name] = len(self._host_names)
            self._host_names.append(name)
        done: set[int] = set()
        for events in self._tables.history():
            done.update(events.pages.tolist())
        with_request = self._tables.pages_with_request()
        lost = []
        for row in self._tables.rows():
            if row.host not in range(len(self._host_names)) or row.page != self.crawl.add(row.host, row.priority):
                raise damaged(self._tables.path, f"page {row.page} is not in its place, or has no host")
            if row.start:
                self.crawl.start_from(row.page)
            if row.page not in done and row.page not in with_request:
                lost.append(row.page)  # an equal request may be accepted again
                continue
            if row.registered:
                self._page_of[row.fingerprint] = row.page
            if row.start:
                self._old_starts[row.fingerprint] += 1
        self.n_resumed = self.crawl.n_pages
        self.crawl.restore(self._history(lost))
        if lost:
            logger.warning(
                "%d requests that could not be serialized are lost", len(lost), extra={"spider": self._spider}
            )

    def _history(self, lost: list[int]) -> Iterator[tuple[int, PageState, int | None, NDArray[np.uint32]]]:
        assert self._tables is not None
        for events in self._tables.history():
            for k, page in enumerate(events.pages.tolist()):
                target = int(events.redirects[k])
                links = events.links[events.link_offsets[k] : events.link_offsets[k + 1]]
                if max(page, target, int(links.max(initial=0))) >= self.crawl.n_pages:
                    raise damaged(self._tables.path, f"page {page} leads to a page that does not exist")
                yield page, PageState(int(events.states[k])), target if target >= 0 else None, links
        for page in lost:
            yield page, PageState.BLOCKED, None, NO_LINKS
