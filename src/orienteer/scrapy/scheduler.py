"""The Scrapy scheduler: the engine enqueues requests and takes the next one, which Orienteer's crawl chooses.

    enqueue_request   a request is accepted as a new page, or dropped; either way it may be a link
    next_request      finished requests are recorded, and the best page whose host is ready is returned
    close             remaining results are recorded and made durable; the certificate is written to the stats

The engine does not signal when it has finished a request. A request counts as finished when neither the downloader nor
the scraper holds it any more: then the spider and the item pipelines have processed the result.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from math import inf
from typing import Any, Self

from scrapy import Request, Spider, signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler
from scrapy.dupefilters import RFPDupeFilter
from scrapy.exceptions import CloseSpider, NotConfigured
from scrapy.extensions.feedexport import FeedExporter
from scrapy.http import Response
from scrapy.settings import Settings
from scrapy.utils.asyncio import CallLaterResult, call_later
from scrapy.utils.misc import load_object

from orienteer.errors import CrawlFolderError, OrienteerError
from orienteer.graph.survey.measured import Measured
from orienteer.pages.states import PageState
from orienteer.responses.headers import Headers
from orienteer.responses.response import outcome_of
from orienteer.responses.verdict import VerdictKind, verdict_kind_of
from orienteer.scrapy.project import PAGE, START, LinkNotes, PluginSettings, Slots, pop_marks
from orienteer.scrapy.request_ledger import RequestLedger
from orienteer.scrapy.spider_crawl import warm_up

logger = logging.getLogger(__name__)

# Reasons for closing the spider.
COVERED, REACHABLE, FAILED = "closespider_coverage", "closespider_coverage_of_reachable", "orienteer_error"
_COMMIT_EVERY_S = 1.0
_SPIDER_TIMEOUT_S = 0.25  # to wait for a spider that is processing a page when there is nothing else to request
_CERTIFICATE_SHARE = 0.05  # of the time that may be spent on certificates for the stats


@dataclass(eq=False)
class ActiveRequest:
    """A request held by the engine, and its results so far."""

    request: Request
    page: int
    slot: str
    is_downloading: bool = True
    status: int | None = None
    links: list[int] = field(default_factory=list)
    redirect_to: int | None = None
    retry_with: Request | None = None  # the request that replaces it

    def outcome(self) -> PageState:
        """Return the state: FETCHED for a status below 400, otherwise as in any crawl.

        Scrapy has made its retries by now.
        """
        if self.redirect_to is not None or self.links or (self.status is not None and self.status < 400):
            return PageState.FETCHED
        if self.status is None:
            return PageState.BLOCKED
        verdict = verdict_kind_of(outcome_of(self.status, Headers(), self.request.url), self.status)
        return PageState.FAILED if verdict is VerdictKind.FAILED else PageState.BLOCKED


class Scheduler(BaseScheduler):
    """`SCHEDULER = "orienteer.scrapy.Scheduler"`; see `orienteer.scrapy` for its behaviour."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._stats = crawler.stats
        self._fingerprint = crawler.request_fingerprinter.fingerprint
        self._notes = _link_notes(crawler)
        self._slots = Slots(crawler.engine.downloader)
        self._spider: Spider
        self._ledger: RequestLedger | None = None
        self._by_request: dict[Request, ActiveRequest] = {}
        self._by_page: dict[int, ActiveRequest] = {}
        self._error: OrienteerError | None = None
        self._alarm: CallLaterResult | None = None
        self._alarm_at = inf
        self._held_since = inf
        self._next_commit = self._next_certificate = 0.0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    # -- called by the engine -----------------------------------------------------------------------------------

    def open(self, spider: Spider) -> None:
        self._spider = spider
        connect = self._crawler.signals.connect
        connect(self._on_opened, signal=signals.spider_opened)
        connect(self._on_idle, signal=signals.spider_idle)
        connect(self._on_response, signal=signals.response_received)
        connect(self._on_left, signal=signals.request_left_downloader)
        settings = self._crawler.settings
        if load_object(settings["DUPEFILTER_CLASS"]) is not RFPDupeFilter:
            logger.warning("DUPEFILTER_CLASS is not used: REQUEST_FINGERPRINTER_CLASS says which requests are the same")
        try:
            plugin_settings = PluginSettings.of_project(settings)
            warm_up(plugin_settings)
            self._ledger = RequestLedger(plugin_settings, spider)
        except OrienteerError as error:
            return self._fail(error)
        except OSError as error:  # no room for compiled kernels
            return self._fail(CrawlFolderError(f"{error.filename or 'the disk'}: {error.strerror or error}"))
        if self._ledger.n_resumed:
            self._stats.set_value("orienteer/resumed", self._ledger.n_resumed)
            logger.info("Resuming with %d earlier requests", self._ledger.n_resumed, extra={"spider": spider})

    def close(self, reason: str) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        if self._ledger is None:
            return
        try:
            if self._error is None:
                self._record_finished()
                self._commit()
                self._update_stats(1e-9)
        except OrienteerError as error:
            self._fail(error)
        finally:
            self._ledger.close()

    def has_pending_requests(self) -> bool:
        return len(self) > 0

    def __len__(self) -> int:
        """Return the number of queued requests; 0 once the goal is reached."""
        if self._ledger is None or self._error is not None:
            return 0
        try:
            self._record_finished()
            return 0 if self._ledger.crawl.is_covered else self._ledger.crawl.n_waiting()
        except OrienteerError as error:
            self._fail(error)
            return 0

    def enqueue_request(self, request: Request) -> bool:
        source, page_before = pop_marks(request)
        if self._ledger is None or self._error is not None:
            return False
        try:
            is_accepted = self._accept(self._ledger, request, source, page_before)
        except OrienteerError as error:
            self._fail(error)
            return False
        self._stats.inc_value("scheduler/enqueued" if is_accepted else "dupefilter/filtered")
        return is_accepted

    def next_request(self) -> Request | None:
        if self._ledger is None or self._error is not None:
            return None
        try:
            self._record_finished()
            self._commit_if_due()
            self._measure_if_due(self._ledger)
            return self._take_next(self._ledger)
        except OrienteerError as error:
            self._fail(error)
            return None

    # -- incoming requests --------------------------------------------------------------------------------------

    def _accept(self, ledger: RequestLedger, request: Request, source: int | None, page_before: int | None) -> bool:
        """Record a request as a link, a retry or a start; return whether it is accepted as a new page."""
        if request in self._by_request:
            request = request.copy()  # the spider yields the object that the engine still holds
        fingerprint = self._fingerprint(request)
        replaced = self._by_page.get(page_before) if source is None and page_before is not None else None
        if replaced is not None and request.dont_filter:
            if fingerprint == self._fingerprint(replaced.request):
                replaced.retry_with = request
                return True
        linking = self._by_page.get(source) if source is not None else None
        is_start = replaced is None and linking is None
        if source == START and ledger.was_started_before(fingerprint):
            return False
        page = None if request.dont_filter else ledger.find(fingerprint)
        is_new = page is None
        if page is None:
            page = ledger.add(request, fingerprint, self._slots.name(request), is_start)
        elif is_start:
            ledger.start_from(page)
        if replaced is not None:
            replaced.redirect_to = page
        elif linking is not None:
            linking.links.append(page)
        return is_new

    # -- outgoing requests --------------------------------------------------------------------------------------

    def _take_next(self, ledger: RequestLedger) -> Request | None:
        page = self._next_page(ledger)
        if page is None:
            return None
        request, slot = ledger.request(page), ledger.host_name(ledger.crawl.host(page))
        request.meta[PAGE] = page
        self._by_request[request] = self._by_page[page] = ActiveRequest(request, page, slot)
        self._slots.enter(slot)
        self._stats.inc_value("scheduler/dequeued")
        return request

    def _next_page(self, ledger: RequestLedger) -> int | None:
        now = time.monotonic()
        page = self._ready_page(ledger, now)
        if page is None and self._may_run_ahead(now) and ledger.crawl.discover():
            page = self._ready_page(ledger, now)
        return page

    def _ready_page(self, ledger: RequestLedger, now: float) -> int | None:
        """Return the best page that would be requested at once, or else one whose host may be ready."""
        crawl = ledger.crawl
        while (page := crawl.next(now)) is not None:
            wait_s = self._slots.wait(ledger.host_name(crawl.host(page)), now).max_s
            if wait_s <= 0:
                return page
            crawl.put_back(page, now, wait_s)
        later = crawl.next_time()
        if later is None or (page := crawl.next(later)) is None:
            return None
        wait_s = self._slots.wait(ledger.host_name(crawl.host(page)), now).min_s
        if wait_s <= 0:
            return page
        crawl.put_back(page, later, 0.0)
        self._wake_engine_at(now + wait_s)
        return None

    def _may_run_ahead(self, now: float) -> bool:
        """Return whether to follow links from pages that the spider is still processing.

        The spider may be about to yield better ones, or it may wait for the responses to these: hence a timeout.
        """
        slot = self._crawler.engine.scraper.slot
        if slot is None or not slot.active:
            self._held_since = inf
            return True
        self._held_since = min(self._held_since, now)
        if now - self._held_since < _SPIDER_TIMEOUT_S:
            self._wake_engine_at(self._held_since + _SPIDER_TIMEOUT_S)
            return False
        self._held_since = inf
        return True

    def _wake_engine_at(self, later: float) -> None:
        """Schedule a call of the engine, which otherwise only asks for requests after events."""
        if later < self._alarm_at:
            if self._alarm is not None:
                self._alarm.cancel()
            self._alarm_at = later
            self._alarm = call_later(max(later - time.monotonic(), 0.0), self._wake_engine)

    def _wake_engine(self) -> None:
        self._alarm, self._alarm_at = None, inf
        slot = self._crawler.engine._slot
        if slot is not None:
            slot.nextcall.schedule()

    # -- results ------------------------------------------------------------------------------------------------

    def _on_response(self, response: Response, request: Request) -> None:
        if (active := self._by_request.get(request)) is not None:
            active.status = response.status

    def _on_left(self, request: Request) -> None:
        if (active := self._by_request.get(request)) is not None:
            self._leave_slot(active)

    def _leave_slot(self, active: ActiveRequest) -> None:
        if active.is_downloading and self._ledger is not None:
            active.is_downloading = False
            self._slots.leave(active.slot)
            self._ledger.crawl.wake(self._ledger.crawl.host(active.page))

    def _record_finished(self) -> None:
        """Record the results of the requests that the engine has finished."""
        engine = self._crawler.engine
        in_scraper = engine.scraper.slot.active if engine.scraper.slot is not None else ()
        in_downloader = engine.downloader.active
        for request in [r for r in self._by_request if r not in in_downloader and r not in in_scraper]:
            active = self._by_request.pop(request)
            del self._by_page[active.page]
            self._leave_slot(active)
            self._record(active)

    def _record(self, active: ActiveRequest) -> None:
        assert self._ledger is not None
        if active.retry_with is not None:
            self._ledger.retry(active.page, active.retry_with)
        else:
            self._ledger.finish(active.page, active.outcome(), active.redirect_to, active.links)

    # -- commits and stats --------------------------------------------------------------------------------------

    def _commit_if_due(self) -> None:
        now = time.monotonic()
        if now < self._next_commit:
            return
        self._commit()
        if now >= self._next_certificate:
            self._update_stats(1e-4)
            self._next_certificate = now + (time.monotonic() - now) / _CERTIFICATE_SHARE
        self._next_commit = time.monotonic() + _COMMIT_EVERY_S

    def _measure_if_due(self, ledger: RequestLedger) -> None:
        """Begin walks once all start pages are known; the count of surveys is durable before they begin."""
        if self._notes.start_has_ended and ledger.crawl.needs_survey:
            n_before = ledger.count_survey()
            self._commit()
            ledger.crawl.measure(n_before, self._crawler.settings.getint("CONCURRENT_REQUESTS"))

    def _commit(self) -> None:
        assert self._ledger is not None
        _flush_feeds(self._crawler)
        self._ledger.commit()

    def _update_stats(self, tolerance: float) -> None:
        assert self._ledger is not None
        crawl = self._ledger.crawl
        proved = crawl.certificate(tolerance)
        figures: dict[str, Any] = {
            "coverage_lower": proved.lower,
            "unknown": proved.unknown,
            "coverage_upper": min(proved.upper, 1.0),
            "blocked": proved.blocked,
            "frontier": proved.frontier,
            "unwritten_requests": self._ledger.n_unwritten,
        }
        if (measured := crawl.measured()) is not None:
            figures |= _survey_figures(*measured)
        figures |= {f"pages/{name}": n for name, n in crawl.counts().items()}
        for name, figure in figures.items():
            self._stats.set_value(f"orienteer/{name}", figure)

    def _on_opened(self) -> None:
        if self._error is not None:
            raise CloseSpider(FAILED)

    def _on_idle(self) -> None:
        if self._error is not None:
            raise CloseSpider(FAILED)
        if self._ledger is not None and self._ledger.crawl.is_covered and self._notes.start_has_ended:
            raise CloseSpider(REACHABLE if self._ledger.crawl.has_impossible_goal else COVERED)

    def _fail(self, error: OrienteerError) -> None:
        """Log an error and return no more requests, so that the spider closes."""
        self._error = error
        logger.error("%s", error, extra={"spider": self._spider})


def _survey_figures(measured: Measured | None, evidence: float) -> dict[str, Any]:
    """Return the results of random walks; the lower bound is claimed with the confidence once the evidence is 1."""
    figures: dict[str, Any] = {"measured/evidence": evidence}
    if measured is not None:
        names = ("estimate", "lower", "upper", "confidence")
        figures |= {f"measured/{name}": getattr(measured, name) for name in names}
        figures |= {"measured/walks": measured.n_walks, "measured/probes": measured.n_probes}
    return figures


def _link_notes(crawler: Crawler) -> LinkNotes:
    """Return the spider middleware; without the add-on, which puts it into the settings, install it here."""
    notes = crawler.get_spider_middleware(LinkNotes)
    if notes is None:
        notes = LinkNotes.from_crawler(crawler)
        manager = crawler.engine.scraper.spidermw
        manager.middlewares += (notes,)
        manager._add_middleware(notes)
    return notes


def _flush_feeds(crawler: Crawler) -> None:
    """Flush feed files: items of acknowledged pages must not be lost with a buffer of this process."""
    exporter = crawler.get_extension(FeedExporter)
    for slot in exporter.slots if exporter is not None else ():
        if slot.file is not None and not slot.file.closed:
            slot.file.flush()


class Addon:
    """`ADDONS = {"orienteer.scrapy.Addon": 500}`."""

    def update_settings(self, settings: Settings) -> None:
        settings.set("SCHEDULER", Scheduler, "addon")
        if load_object(settings["SCHEDULER"]) is not Scheduler:
            raise NotConfigured(f"SCHEDULER is set to {settings['SCHEDULER']}, but the add-on needs its own")
        settings.setdefault_in_component_priority_dict("SPIDER_MIDDLEWARES", LinkNotes, 0)
