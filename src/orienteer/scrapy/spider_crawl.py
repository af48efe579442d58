"""The Crawl of a spider's requests, whose start pages arrive one after the other; independent of Scrapy.

A Crawl needs all start pages when it is created; a spider yields them over time, possibly without end. So when there
are new start pages, a new Crawl is created that trusts all of them, and all events are *replayed*: rarely enough that
it costs almost nothing. Pages that no fetched page links to (start pages waiting for the next replay, and links of a
page that the spider is still processing) come after all others, and only after `discover`.

The coverage may be measured by random walks (`measure`). They only use the spider's own requests: every page that is
not done has a queued one, so a page that a walk needs is returned first. The measurement depends on the start pages:
with new ones the walks begin again, with less of the allowed error.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orienteer.arrays import grown
from orienteer.crawl.crawl import Crawl
from orienteer.crawl.politeness import Politeness
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.proved import Certificate
from orienteer.graph.survey.crawl_survey import SurveyStart, restarted, survey_seed
from orienteer.graph.survey.measured import Measured
from orienteer.inspect.survey_progress import walk_of
from orienteer.pages.states import PageState
from orienteer.pages.stop_reason import StopReason
from orienteer.policies.policy import Policy, Priorities, Run, TrustedPages
from orienteer.scrapy.project import PluginSettings

_TIMES_PER_POINT = 10.0
_MAX_POINTS = 100  # more would exceed the range of floats
# Scrapy's downloader enforces delays and limits, so the frontier has none.
_UNLIMITED = Politeness(delay_s=0.0, connections=1_000_000)
_REBUILD_SHARE = 0.02  # of the time may be spent on replays
_COVERED = (StopReason.COVERAGE, StopReason.MEASURED, StopReason.REACHABLE)


class Boosts:
    """A factor for every page: ten to the power of its priority, by default 1."""

    def __init__(self) -> None:
        self._exponents: NDArray[np.int32] = np.zeros(1024, np.int32)
        self.any = False  # whether any factor differs from 1

    def set(self, page: int, points: int) -> None:
        self._exponents = grown(self._exponents, page + 1)
        self._exponents[page] = max(-_MAX_POINTS, min(points, _MAX_POINTS))
        self.any = self.any or points != 0

    def of(self, pages: NDArray[np.uint32]) -> NDArray[np.float64]:
        self._exponents = grown(self._exponents, int(pages.max(initial=0)) + 1)
        return np.power(_TIMES_PER_POINT, self._exponents[pages])

    def applied(self, changed: Priorities) -> Priorities:
        """Return boosted priorities; negative ones are boosted towards 0, so that a boost always means sooner."""
        if not self.any or len(changed.pages) == 0:
            return changed
        factors, values = self.of(changed.pages), changed.values
        return Priorities(changed.pages, np.where(values > 0, values * factors, values / factors))


class Boosted(Policy):
    """Another policy with boosts. It has no guarantee of its own; the certificate is independent of it."""

    name: ClassVar[str] = "boosted"

    def __init__(self, policy: Policy, boosts: Boosts) -> None:
        self._policy = policy
        self._boosts = boosts
        self.damping = policy.damping

    def begin(self, web: GrowingGraph, trusted: TrustedPages) -> Priorities:
        return self._boosts.applied(self._policy.begin(web, trusted))

    def fetched(self, page: int, web: GrowingGraph) -> Priorities:
        return self._boosts.applied(self._policy.fetched(page, web))

    def failed(self, page: int, web: GrowingGraph) -> Priorities:
        return self._boosts.applied(self._policy.failed(page, web))

    def lost(self, page: int, web: GrowingGraph) -> Priorities:
        return self._boosts.applied(self._policy.lost(page, web))

    def run(self, graph: LinkGraph, trusted: TrustedPages) -> Run:
        raise NotImplementedError("boosts are for real requests, not for simulations")


class SpiderCrawl:
    """Pages are numbered from 0 in the order in which they are added; hosts are numbered by the caller."""

    def __init__(self, settings: PluginSettings) -> None:
        self._settings = settings
        self._crawl: Crawl | None = None
        self._hosts: NDArray[np.int32] = np.zeros(1024, np.int32)
        self._boosts = Boosts()
        self._starts: dict[int, None] = {}  # in order
        self._n_trusted = 0  # start pages that the Crawl trusts
        self._unlinked: set[int] = set()  # not in the frontier
        self._in_flight: set[int] = set()
        self._next_rebuild = 0.0
        self.n_pages = 0

    # -- new pages ----------------------------------------------------------------------------------------------

    def add(self, host: int, priority: int) -> int:
        """Add a new page, which is not in the frontier yet, and return its number."""
        page = self.n_pages
        self.n_pages += 1
        self._hosts = grown(self._hosts, self.n_pages)
        self._hosts[page] = host
        self._boosts.set(page, priority)
        self._unlinked.add(page)
        return page

    def start_from(self, page: int) -> None:
        """Make a page a start page."""
        self._starts[page] = None

    def host(self, page: int) -> int:
        return int(self._hosts[page])

    # -- the next page ------------------------------------------------------------------------------------------

    def next(self, now: float) -> int | None:
        """Return the best page whose host is ready, according to `put_back`, or None."""
        self._add_new_starts(now)
        if self._crawl is None:
            return None
        page = self._crawl.next(now)
        if page is not None:
            self._in_flight.add(page)
        return page

    def discover(self) -> bool:
        """Queue pages that no fetched page links to, behind all others; return whether there were any."""
        if not self._unlinked or self._crawl is None:
            return False
        pages = np.array(sorted(self._unlinked), np.int64)
        self._unlinked.clear()
        self._crawl.discover(pages, self._hosts[pages])
        return True

    def put_back(self, page: int, now: float, wait_s: float) -> None:
        """Return a page to the frontier that was not requested because its host must wait."""
        self._in_flight.discard(page)
        self._known.retry(page, now, wait_s)

    def next_time(self) -> float | None:
        """Return the time when the next host is ready; None if unknown."""
        later = None if self._crawl is None else self._crawl.frontier.next_time()
        return later if later is not None and later < float("inf") else None

    # -- measuring ----------------------------------------------------------------------------------------------

    @property
    def needs_survey(self) -> bool:
        """Whether walks are configured, and none have begun for the current start pages."""
        goal = self._settings.goal()
        if goal.until is None or goal.confidence is None or self._crawl is None:
            return False
        is_settled = self._n_trusted == len(self._starts) and self._crawl.stopped_because is None
        return is_settled and self._crawl.survey is None

    def measure(self, n_before: int, width: int) -> None:
        """Begin walks, after `n_before` earlier surveys; about `width` requests are made at a time."""
        until, confidence = self._settings.until, self._settings.confidence
        assert until is not None
        assert confidence is not None
        start = SurveyStart(until, confidence, survey_seed(secrets.token_bytes(16)), width=width)
        for _ in range(2 * n_before):  # each of those may have been restarted for the reachable coverage
            start = restarted(start, of_reachable=False)
        self._known.begin_survey(start)
        self._known.recheck_goal()

    def measured(self) -> tuple[Measured | None, float] | None:
        """Return the result of the walks and their progress; None if there are none."""
        survey = None if self._crawl is None else self._crawl.survey
        return None if survey is None else (survey.measured(self.certificate(1e-4)), survey.progress)

    # -- hosts --------------------------------------------------------------------------------------------------

    def wake(self, host: int) -> None:
        """Mark a host as ready."""
        if self._crawl is not None:
            self._crawl.wake(host)

    def n_waiting(self) -> int:
        """Return the number of known pages that are neither done nor in flight."""
        if self._crawl is None:
            self._rebuild()
        self.discover()
        return 0 if self._crawl is None else len(self._crawl.frontier)

    @property
    def is_covered(self) -> bool:
        """Whether the goal is reached, at least for what is reachable, with the start pages known so far."""
        if self._crawl is None or self._crawl.stopped_because not in _COVERED:
            return False
        if self._n_trusted < len(self._starts):
            self._rebuild()
        return self._crawl.stopped_because in _COVERED

    @property
    def has_impossible_goal(self) -> bool:
        return self._crawl is not None and self._crawl.goal_is_impossible

    # -- what becomes of pages ----------------------------------------------------------------------------------

    def retry(self, page: int, priority: int) -> None:
        """Queue a page again, with the priority of its new request."""
        self._in_flight.discard(page)
        before = self._boosts.of(np.array([page], np.uint32))[0]
        self._boosts.set(page, priority)
        crawl = self._known
        crawl.retry(page)
        value = crawl.frontier.priority(page)
        if np.isfinite(value) and walk_of(value) is None:
            factor = self._boosts.of(np.array([page], np.uint32))[0] / before
            crawl.prioritize([page], [value * factor if value > 0 else value / factor])

    def finish(self, page: int, state: PageState, redirect_to: int | None = None, links: Iterable[int] = ()) -> None:
        """Record the state of a page that is done: FETCHED, FAILED or BLOCKED."""
        targets = np.fromiter(links, np.uint32)
        self._in_flight.discard(page)
        self._apply(self._known, page, state, redirect_to, targets)

    def restore(self, history: Iterable[tuple[int, PageState, int | None, NDArray[np.uint32]]]) -> None:
        """Replay the history before this process, after all pages were added again."""
        if self._starts:
            self._crawl = self._new_crawl()
            for page, state, redirect_to, links in history:
                if state is not PageState.BLOCKED:
                    self._crawl.take(page)
                self._apply(self._crawl, page, state, redirect_to, links)
            self._crawl.recheck_goal()

    # -- figures ------------------------------------------------------------------------------------------------

    def certificate(self, tolerance: float = 1e-9) -> Certificate:
        """Return the bounds proved by the pages that are done."""
        if self._n_trusted < len(self._starts):
            self._rebuild()
        return Certificate(0.0, 1.0, frontier=1.0) if self._crawl is None else self._crawl.certificate(tolerance)

    def counts(self) -> dict[str, int]:
        """Return the number of pages by state."""
        states = self._crawl.states() if self._crawl is not None else np.zeros(0, np.uint8)
        by_state = np.bincount(states, minlength=len(PageState))
        return {
            "fetched": int(by_state[PageState.FETCHED]),
            "failed": int(by_state[PageState.FAILED]),
            "blocked": int(by_state[PageState.BLOCKED]),
            "known": self.n_pages,
            "started_from": len(self._starts),
        }

    # -- events and replay --------------------------------------------------------------------------------------

    @property
    def _known(self) -> Crawl:
        assert self._crawl is not None, "a page was returned by next, so there is a crawl"
        return self._crawl

    def _apply(
        self, crawl: Crawl, page: int, state: PageState, redirect_to: int | None, links: NDArray[np.uint32]
    ) -> None:
        self._unlinked.discard(page)
        if state is PageState.BLOCKED:
            crawl.blocked(page)
        elif state is PageState.FAILED:
            crawl.failed(page)
        elif redirect_to is not None:
            self._unlinked.discard(redirect_to)
            crawl.redirected(page, redirect_to, host=self.host(redirect_to))
        else:
            self._unlinked.difference_update(links.tolist())
            crawl.fetched(page, links, hosts=self._hosts[links])

    def _new_crawl(self) -> Crawl:
        pages = np.sort(np.fromiter(self._starts, np.uint32))
        trusted = TrustedPages(pages, np.full(len(pages), 1.0 / len(pages)))
        policy = Boosted(self._settings.new_policy(), self._boosts)
        crawl = Crawl(policy, trusted, self._settings.goal(), _UNLIMITED, self._hosts[pages])
        crawl.web.grow_to(self.n_pages)
        crawl.web.set_hosts(np.arange(self.n_pages), self._hosts[: self.n_pages])
        self._n_trusted = len(self._starts)
        self._unlinked.difference_update(self._starts)
        return crawl

    def _add_new_starts(self, now: float) -> None:
        if self._n_trusted == len(self._starts):
            return
        is_idle = self._crawl is None or self._crawl.stopped_because in _COVERED
        if is_idle or now >= self._next_rebuild:
            began = time.monotonic()
            self._rebuild()
            self._next_rebuild = now + (time.monotonic() - began) / _REBUILD_SHARE

    def _rebuild(self) -> None:
        """Replace the Crawl by a new one that trusts all start pages, and replay all events to it."""
        if not self._starts:
            return
        old, new = self._crawl, self._new_crawl()
        if old is not None:
            unlinked = np.flatnonzero(old.states() == PageState.KNOWN).tolist()
            for page, state, redirect_to, links in _history(old):
                new.take(page)
                self._apply(new, page, state, redirect_to, links)
            for page in old.blocked_pages:
                new.blocked(page)
            for page in self._in_flight:
                new.take(page)
            self._unlinked.update(page for page in unlinked if page not in new.frontier)
        self._crawl = new
        new.recheck_goal()


def _history(crawl: Crawl) -> Iterator[tuple[int, PageState, int | None, NDArray[np.uint32]]]:
    """Yield the events of the fetched and failed pages of a Crawl, in order."""
    for page in crawl.order:
        links = crawl.web.links(page)
        is_alias = crawl.coverage.is_alias(page)
        yield page, crawl.state(page), int(links[0]) if is_alias else None, links


def warm_up(settings: PluginSettings) -> None:
    """Crawl a few artificial pages, so that kernels are compiled before the first request."""
    from orienteer.live.warm_up import warm_up_crawl

    warm_up_crawl(Boosted(settings.new_policy(), Boosts()), _UNLIMITED)
