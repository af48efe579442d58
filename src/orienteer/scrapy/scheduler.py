"""The scheduler: Scrapy's engine gives it requests and asks for the next; Orienteer's crawl decides which.

    enqueue_request   a request is accepted as a new page, or dropped; either way it may be a link
    next_request      what the engine is done with is settled, and the best page whose host may be asked goes out
    close             the rest is settled and made durable; the certificate goes into the stats

The engine does not say when it is done with a request. It is when neither the downloader nor the scraper has it any
more: then the spider and the item pipelines have dealt with what came of it.
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
from scrapy.exceptions import CloseSpider
from scrapy.extensions.feedexport import FeedExporter
from scrapy.http import Response
from scrapy.utils.asyncio import CallLaterResult, call_later
from scrapy.utils.misc import load_object

from orienteer.answers.answer import outcome_of
from orienteer.answers.headers import Headers
from orienteer.answers.meaning import Verdict, verdict_of
from orienteer.errors import CrawlFolderError, OrienteerError
from orienteer.graph.survey.measured import Measured
from orienteer.pages.states import PageState
from orienteer.scrapy.links import PAGE, START, LinkNotes, taken_off
from orienteer.scrapy.plugin_settings import PluginSettings
from orienteer.scrapy.request_ledger import RequestLedger
from orienteer.scrapy.slots import Slots
from orienteer.scrapy.spider_crawl import warm_up

logger = logging.getLogger(__name__)

# Why the spider is closed.
COVERED, REACHABLE, FAILED = "closespider_coverage", "closespider_coverage_of_reachable", "orienteer_error"
_COMMIT_EVERY_S = 1.0
_PATIENCE_S = 0.25  # with a spider that is still at a page while nothing else can be asked for
_CERTIFICATE_SHARE = 0.05  # of the time may go into certificates for the stats


@dataclass(eq=False)
class HandedOut:
    """A request that the engine has, and what is known of it so far."""

    request: Request
    page: int
    slot: str
    is_downloading: bool = True
    status: int | None = None
    links: list[int] = field(default_factory=list)
    redirect_to: int | None = None
    again: Request | None = None  # takes its place

    def outcome(self) -> PageState:
        """The spider has dealt with what came below 400; the rest means what it means to any crawl.

        Whether to try again is up to Scrapy: by now it has, as often as it wanted to.
        """
        if self.redirect_to is not None or self.links or (self.status is not None and self.status < 400):
            return PageState.FETCHED
        if self.status is None:
            return PageState.BLOCKED
        verdict = verdict_of(outcome_of(self.status, Headers(), self.request.url), self.status)
        return PageState.FAILED if verdict is Verdict.FAILED else PageState.BLOCKED


class Scheduler(BaseScheduler):
    """`SCHEDULER = "orienteer.scrapy.Scheduler"`; see `orienteer.scrapy` for what it does."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._stats = crawler.stats
        self._fingerprint = crawler.request_fingerprinter.fingerprint
        self._notes = _link_notes(crawler)
        self._slots = Slots(crawler.engine.downloader)
        self._spider: Spider
        self._ledger: RequestLedger | None = None
        self._by_request: dict[Request, HandedOut] = {}
        self._by_page: dict[int, HandedOut] = {}
        self._error: OrienteerError | None = None
        self._alarm: CallLaterResult | None = None
        self._alarm_at = inf
        self._held_since = inf
        self._next_commit = self._next_certificate = 0.0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    # -- what the engine calls ----------------------------------------------------------------------------------

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
            logger.info("Resuming with %d requests of before", self._ledger.n_resumed, extra={"spider": spider})

    def close(self, reason: str) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        if self._ledger is None:
            return
        try:
            if self._error is None:
                self._settle()
                self._commit()
                self._tell_stats(1e-9)
        except OrienteerError as error:
            self._fail(error)
        finally:
            self._ledger.close()

    def has_pending_requests(self) -> bool:
        return len(self) > 0

    def __len__(self) -> int:
        """How many requests wait; none when they need not be fetched any more."""
        if self._ledger is None or self._error is not None:
            return 0
        try:
            self._settle()
            return 0 if self._ledger.crawl.is_covered else self._ledger.crawl.n_waiting()
        except OrienteerError as error:
            self._fail(error)
            return 0

    def enqueue_request(self, request: Request) -> bool:
        source, page_before = taken_off(request)
        if self._ledger is None or self._error is not None:
            return False
        try:
            is_accepted = self._take_in(self._ledger, request, source, page_before)
        except OrienteerError as error:
            self._fail(error)
            return False
        self._stats.inc_value("scheduler/enqueued" if is_accepted else "dupefilter/filtered")
        return is_accepted

    def next_request(self) -> Request | None:
        if self._ledger is None or self._error is not None:
            return None
        try:
            self._settle()
            self._commit_if_due()
            self._measure_if_due(self._ledger)
            return self._hand_out(self._ledger)
        except OrienteerError as error:
            self._fail(error)
            return None

    # -- requests come in ---------------------------------------------------------------------------------------

    def _take_in(self, ledger: RequestLedger, request: Request, source: int | None, page_before: int | None) -> bool:
        """Whether the request is accepted."""
        if request in self._by_request:
            request = request.copy()  # the spider yields the very one that the engine is still at
        fingerprint = self._fingerprint(request)
        replaced = self._by_page.get(page_before) if source is None and page_before is not None else None
        if replaced is not None and request.dont_filter:
            if fingerprint == self._fingerprint(replaced.request):
                replaced.again = request
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

    # -- requests go out ----------------------------------------------------------------------------------------

    def _hand_out(self, ledger: RequestLedger) -> Request | None:
        page = self._next_page(ledger)
        if page is None:
            return None
        request, slot = ledger.request(page), ledger.host_name(ledger.crawl.host(page))
        request.meta[PAGE] = page
        self._by_request[request] = self._by_page[page] = HandedOut(request, page, slot)
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
        """The best page that would be asked for at once; or else one whose host could be ready."""
        crawl = ledger.crawl
        while (page := crawl.next(now)) is not None:
            wait_s = self._slots.wait(ledger.host_name(crawl.host(page)), now).most_s
            if wait_s <= 0:
                return page
            crawl.put_back(page, now, wait_s)
        later = crawl.next_time()
        if later is None or (page := crawl.next(later)) is None:
            return None
        wait_s = self._slots.wait(ledger.host_name(crawl.host(page)), now).least_s
        if wait_s <= 0:
            return page
        crawl.put_back(page, later, 0.0)
        self._wake_engine_at(now + wait_s)
        return None

    def _may_run_ahead(self, now: float) -> bool:
        """Whether links may be followed that the spider yielded from pages that it is still at.

        It may be about to yield better ones; or it may wait for these.
        """
        slot = self._crawler.engine.scraper.slot
        if slot is None or not slot.active:
            self._held_since = inf
            return True
        self._held_since = min(self._held_since, now)
        if now - self._held_since < _PATIENCE_S:
            self._wake_engine_at(self._held_since + _PATIENCE_S)
            return False
        self._held_since = inf
        return True

    def _wake_engine_at(self, later: float) -> None:
        """The engine asks again when something happens; here something happens when time has passed."""
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

    # -- what comes of them -------------------------------------------------------------------------------------

    def _on_response(self, response: Response, request: Request) -> None:
        if (handed := self._by_request.get(request)) is not None:
            handed.status = response.status

    def _on_left(self, request: Request) -> None:
        if (handed := self._by_request.get(request)) is not None:
            self._leave_slot(handed)

    def _leave_slot(self, handed: HandedOut) -> None:
        if handed.is_downloading and self._ledger is not None:
            handed.is_downloading = False
            self._slots.leave(handed.slot)
            self._ledger.crawl.wake(self._ledger.crawl.host(handed.page))

    def _settle(self) -> None:
        """Tell the ledger of the requests that the engine is done with."""
        engine = self._crawler.engine
        in_scraper = engine.scraper.slot.active if engine.scraper.slot is not None else ()
        in_downloader = engine.downloader.active
        for request in [r for r in self._by_request if r not in in_downloader and r not in in_scraper]:
            handed = self._by_request.pop(request)
            del self._by_page[handed.page]
            self._leave_slot(handed)
            self._conclude(handed)

    def _conclude(self, handed: HandedOut) -> None:
        assert self._ledger is not None
        if handed.again is not None:
            self._ledger.retry(handed.page, handed.again)
        else:
            self._ledger.finish(handed.page, handed.outcome(), handed.redirect_to, handed.links)

    # -- durable, and told --------------------------------------------------------------------------------------

    def _commit_if_due(self) -> None:
        now = time.monotonic()
        if now < self._next_commit:
            return
        self._commit()
        if now >= self._next_certificate:
            self._tell_stats(1e-4)
            self._next_certificate = now + (time.monotonic() - now) / _CERTIFICATE_SHARE
        self._next_commit = time.monotonic() + _COMMIT_EVERY_S

    def _measure_if_due(self, ledger: RequestLedger) -> None:
        """Let walks begin when it is known where the crawl starts. That they have is durable before they do."""
        if self._notes.start_is_over and ledger.crawl.is_to_be_measured:
            n_before = ledger.count_survey()
            self._commit()
            ledger.crawl.measure(n_before, self._crawler.settings.getint("CONCURRENT_REQUESTS"))

    def _commit(self) -> None:
        assert self._ledger is not None
        _flush_feeds(self._crawler)
        self._ledger.commit()

    def _tell_stats(self, tolerance: float) -> None:
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
        if (walked := crawl.measured()) is not None:
            figures |= _survey_figures(*walked)
        figures |= {f"pages/{name}": n for name, n in crawl.counts().items()}
        for name, figure in figures.items():
            self._stats.set_value(f"orienteer/{name}", figure)

    def _on_opened(self) -> None:
        if self._error is not None:
            raise CloseSpider(FAILED)

    def _on_idle(self) -> None:
        if self._error is not None:
            raise CloseSpider(FAILED)
        if self._ledger is not None and self._ledger.crawl.is_covered and self._notes.start_is_over:
            raise CloseSpider(REACHABLE if self._ledger.crawl.has_impossible_goal else COVERED)

    def _fail(self, error: OrienteerError) -> None:
        """Say what is wrong, in one line, and hand out nothing more: the spider ends."""
        self._error = error
        logger.error("%s", error, extra={"spider": self._spider})


def _survey_figures(measured: Measured | None, evidence: float) -> dict[str, Any]:
    """What random walks say: the lower bound is claimed with the confidence once the evidence is 1."""
    figures: dict[str, Any] = {"measured/evidence": evidence}
    if measured is not None:
        names = ("estimate", "lower", "upper", "confidence")
        figures |= {f"measured/{name}": getattr(measured, name) for name in names}
        figures |= {"measured/walks": measured.n_walks, "measured/probes": measured.n_probes}
    return figures


def _link_notes(crawler: Crawler) -> LinkNotes:
    """The add-on puts it into the settings. Where only the scheduler is named, it comes in here."""
    notes = crawler.get_spider_middleware(LinkNotes)
    if notes is None:
        notes = LinkNotes.from_crawler(crawler)
        manager = crawler.engine.scraper.spidermw
        manager.middlewares += (notes,)
        manager._add_middleware(notes)
    return notes


def _flush_feeds(crawler: Crawler) -> None:
    """Items of acknowledged pages must not wait in a buffer of this process."""
    exporter = crawler.get_extension(FeedExporter)
    for slot in exporter.slots if exporter is not None else ():
        if slot.file is not None and not slot.file.closed:
            slot.file.flush()
