"""One crawl as a state machine, without I/O and without its own clock. Read this first.

The states of a page are in `pages/states.py`. A simulation and a live crawl drive it in the same way:

    page = crawl.next(now)                     # the best page whose host may be requested now, or None
    crawl.fetched(page, links, now)            # or .redirected, .failed, .skipped, .blocked, .retry, .defer_retry
    crawl.stopped_because                      # a StopReason, or None: continue

A failed or skipped page counts as fetched without links, since its content is known. A blocked page does not count;
its mass is reported as unreachable. Pages behind the unknown links of a page (`n_unknown`, see graph/coverage) are not
covered. A page that was discovered without a link (`discover`: from a sitemap) holds no mass and has the lowest
priority. The outcome of a page may be known without a request (`was_requested=False`: robots.txt forbids it, or it was
fetched recently): it costs no budget and starts no delay of its host.

To resume, apply the same events in the same order to a new Crawl: `take` each page instead of calling `next`.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.arrays import grown
from orienteer.crawl.frontier import LAST, Frontier
from orienteer.crawl.goal import Goal
from orienteer.crawl.politeness import ANY_TIME, Politeness
from orienteer.graph.coverage import Coverage
from orienteer.graph.coverage_push import NEVER, ProofTarget
from orienteer.graph.growing_graph import GrowingGraph, PageHosts
from orienteer.graph.proved import Certificate
from orienteer.graph.push import LinkRows
from orienteer.graph.survey.crawl_survey import CrawlSurvey, SurveyRound, SurveyStart, restarted
from orienteer.notebook import facts_html
from orienteer.pages.states import TRANSITIONS, PageState
from orienteer.pages.stop_reason import StopReason
from orienteer.pages.unknown import UNKNOWN_COUNT
from orienteer.policies.focused import AboutPage, FocusedPolicy
from orienteer.policies.policy import Policy, Priorities, TrustedPages
from orienteer.policies.policy_state import check_state
from orienteer.wording import counted

# Plain numbers, for arrays of states and for every step: members of an Enum are slow.
_KNOWN, _IN_FLIGHT, _FETCHED, _FAILED, _BLOCKED, _SKIPPED = map(int, PageState)
_NO_LINKS = np.empty(0, np.uint32)
_NO_TARGET = ProofTarget()
FIRST = 1e300  # the priority of pages that walks of a survey need, by the number of the walk
_TRANSITIONS = {(int(old), int(new)) for old, targets in TRANSITIONS.items() for new in targets}


class Crawl:
    """The state of a crawl: known and fetched pages, the frontier, and the coverage."""

    def __init__(
        self,
        policy: Policy,
        trusted: TrustedPages,
        goal: Goal | None = None,
        politeness: Politeness = ANY_TIME,
        hosts: ArrayLike | PageHosts | None = None,
        known_trust: float = 1.0,
        survey: SurveyStart | None = None,
        rounds: Sequence[SurveyRound] = (),
    ) -> None:
        """`hosts` are those of the trusted pages, or a PageHosts with those of all pages.

        `survey` and `rounds` restore the survey of a resumed crawl.
        """
        self.policy = policy
        self.trusted = trusted
        self.goal = goal or Goal()
        self.web = GrowingGraph(hosts if isinstance(hosts, PageHosts) else None)
        self.frontier = Frontier(politeness, self.web.page_hosts)
        self.order = array("I")
        self.n_requested = 0  # pages done that cost a request: what a budget counts
        self.stopped_because: StopReason | None = None
        self.web.grow_to(int(trusted.pages.max()) + 1)
        if hosts is not None and not isinstance(hosts, PageHosts):
            self.web.set_hosts(trusted.pages, hosts)
        self.coverage = Coverage(trusted.vector(self.web.n_pages), policy.damping, known_trust)
        self._state: NDArray[np.uint8] = np.zeros(1024, np.uint8)
        # By page, its priority if it returns to the frontier; None: the shared priority of the policy.
        self._in_flight: dict[int, float | None] = {}
        self._n_own = 0  # an upper bound of the number of own priorities in `_in_flight`
        self._deferred: set[int] = set()  # pages in flight without a request at the moment
        self._host_is_free: set[int] = set()  # pages in flight whose hosts have responded
        self.own_proof_holds = known_trust == 1.0  # a policy's proof does not cover redirects and the like
        self.blocked_pages = array("I")
        self.survey = None if survey is None else self._new_survey(survey, rounds)
        self._probes: set[int] = set()  # pages that walks of the survey wait for
        initial = policy.begin(self.web, trusted)
        self._is_shared = policy.priorities(self.web.n_pages) is not None
        self._apply(initial)
        check_state(policy, self.web)

    def state(self, page: int) -> PageState:
        return PageState(int(self._state[page])) if page < len(self._state) else PageState.KNOWN

    def next(self, now: float = 0.0, only_quick: bool = False) -> int | None:
        """Take the page to fetch now; None if the crawl has stopped, or no host is ready.

        With `only_quick` only the pages of quick hosts are considered.
        """
        if self.is_closed:
            return None
        taken = self.frontier.take_entry(now, only_quick)
        if taken is None:
            return None
        page, priority, overrides = taken
        self._put_in_flight(page, priority, overrides)
        self._set_state(page, _IN_FLIGHT)
        return page

    @property
    def is_closed(self) -> bool:
        """Whether `next` returns None for any hosts: the crawl has stopped, or all of the budget is in flight."""
        return self.stopped_because is not None or self._budget_is_spent()

    def take(self, page: int) -> None:
        """Take this page, regardless of its priority and of the delay of its host."""
        is_waiting = page in self.frontier
        priority, overrides = self.frontier.own_priority(page) if is_waiting else (LAST, True)
        self._set_state(page, _IN_FLIGHT)
        if is_waiting:
            self.frontier.remove(page)
        self._put_in_flight(page, priority, overrides)

    def discover(self, pages: ArrayLike, hosts: ArrayLike | None = None) -> None:
        """Add pages that no fetched page links to; new ones get the lowest priority, LAST."""
        ids = np.unique(np.asarray(pages, np.int64))
        self.web.grow_to(int(ids.max(initial=-1)) + 1)
        if hosts is not None:
            self.web.set_hosts(pages, hosts)
        self._grow_states()
        waiting = ids[self._state[ids] == _KNOWN]
        new = waiting[~self.frontier.contains_each(waiting)]
        self._share_priorities()
        self.frontier.put(new, np.full(len(new), LAST))
        self.own_proof_holds = False
        if len(new) and self.stopped_because is StopReason.FRONTIER_EMPTY:
            self.stopped_because = None

    def fetched(
        self,
        page: int,
        links: ArrayLike,
        now: float = 0.0,
        hosts: ArrayLike | None = None,
        was_requested: bool = True,
        about: AboutPage | None = None,
        n_unknown: int = 0,
    ) -> None:
        """Record a fetched page with its links, and the `hosts` of their targets; a focused policy gets `about`.

        `n_unknown` further links of the page are not known; UNKNOWN_COUNT: nor is their number.
        """
        self._end_request(page, _FETCHED, now, None if was_requested else 0.0)
        self._count_unknown(page, n_unknown)
        self.web.add(page, links)
        if hosts is not None:
            self.web.set_hosts(links, hosts)
        if about is not None and isinstance(self.policy, FocusedPolicy):
            self.policy.learn(page, about, self.web)
        self._record_page(page, self.policy.fetched(page, self.web), was_requested)

    def failed(self, page: int, now: float = 0.0, was_requested: bool = True) -> None:
        """Record that the page does not exist: it counts as a page without links."""
        self._end_without_links(page, _FAILED, now, was_requested)

    def skipped(self, page: int, now: float = 0.0, was_requested: bool = True, n_unknown: int = 0) -> None:
        """Record content of another type, such as an image: a page without links, except for `n_unknown`."""
        self._count_unknown(page, n_unknown)
        self._end_without_links(page, _SKIPPED, now, was_requested)

    def _end_without_links(self, page: int, state: int, now: float, was_requested: bool) -> None:
        self._end_request(page, state, now, None if was_requested else 0.0)
        self.web.add(page, _NO_LINKS)
        self._record_page(page, self.policy.failed(page, self.web), was_requested)

    def redirected(
        self, page: int, target: int, now: float = 0.0, host: int | None = None, was_requested: bool = True
    ) -> None:
        """Record that the page is an alias of `target`, which gets its whole mass, undamped.

        A redirect loop is blocked, not failed: the same redirects may end for a visitor with cookies.
        """
        if self.n_redirects_from(target, until=page) is None:
            return self.blocked(page, now, was_requested, is_redirect=True)
        self.coverage.grow_to(max(page, target) + 1)
        self.coverage.set_aliases(page)
        self.own_proof_holds = False
        self.fetched(page, [target], now, None if host is None else [host], was_requested)

    def n_redirects_from(self, page: int, until: int) -> int | None:
        """Return the length of the chain of redirects from this page; None if it leads to the page `until`."""
        n = 0
        while page != until:
            if not self.coverage.is_alias(page):
                return n
            links = self.web.links(page)
            if len(links) == 0:  # blocked: its target is not known
                return n
            page = int(links[0])
            n += 1
        return None

    def blocked(
        self, page: int, now: float = 0.0, was_requested: bool = True, is_redirect: bool = False,
        got_response: bool = False, is_missing: bool = False,
    ) -> None:  # fmt: skip
        """Record that the page must not or cannot be fetched. A redirect is an alias of an unknown page.

        The page counts in the budget only if it `got_response` (403, for example). A page that `is_missing` in an
        archive could be fetched from the web, so its mass is not unreachable.
        """
        if self.state(page) is PageState.IN_FLIGHT:
            self._end_request(page, _BLOCKED, now, None if was_requested else 0.0)
        else:
            self._set_state(page, _BLOCKED)
            self.frontier.remove(page)
        self.blocked_pages.append(page)
        self.n_requested += got_response
        self._apply(self.policy.lost(page, self.web))
        if is_redirect:
            self._count_unknown(page, UNKNOWN_COUNT)
            self.coverage.set_aliases(page)
        elif not is_missing:
            self.coverage.grow_to(page + 1)
            self.coverage.block(np.array([page], np.uint32))
        self._update_survey(page, is_fetched=is_redirect)
        self._check_goal([page] if is_redirect else [])

    def add_unknown_links(self, pages: NDArray[np.uint32], n_more: NDArray[np.int32]) -> None:
        """Count `n_more` unknown links of each of these fetched pages, because the scope has become wider."""
        before = self.coverage.n_unknown[pages]
        self.coverage.set_unknown(pages, np.where(before == UNKNOWN_COUNT, UNKNOWN_COUNT, before + n_more))
        self.own_proof_holds = False
        self.coverage = self.coverage.rebuilt(self.trusted.vector(self.web.n_pages), self._links())
        self.coverage.settle(self._links())  # bounds must be settled before `goal_is_impossible` is read
        if self.survey is not None:
            self.begin_survey(restarted(self.survey.start, self.survey.start.of_reachable))
        self.recheck_goal()

    def _count_unknown(self, page: int, n_unknown: int) -> None:
        if n_unknown:
            self.coverage.grow_to(page + 1)
            self.coverage.set_unknown(page, n_unknown)
            self.own_proof_holds = False

    def retry(self, page: int, now: float = 0.0, delay_s: float | None = None) -> None:
        """Return a page to the frontier after a failed attempt, and start the delay of its host.

        A page whose retry was deferred returns to the frontier without any effect on its host.
        """
        priority = self._end_request(page, _KNOWN, now, delay_s)
        self._share_priorities()
        if priority is None:
            self.frontier.enter(np.array([page], np.uint32))
        else:
            self.frontier.put([page], [priority])

    def defer_retry(self, page: int, now: float = 0.0) -> None:
        """Release the host of a page after a failed attempt; until `retry` the page is in flight without a request."""
        if page in self._host_is_free:
            self._host_is_free.remove(page)
        else:
            self.frontier.release(int(self.web.hosts[page]), now, page=page)
        self._deferred.add(page)

    def free_host(self, page: int, now: float = 0.0) -> None:
        """Release the host of a page in flight, which has responded; the outcome of the page is not known yet."""
        self.frontier.release(int(self.web.hosts[page]), now, page=page)
        self._host_is_free.add(page)

    # -- hosts: only these methods change the frontier for a scheduler of hosts ------------------------------------

    @property
    def politeness(self) -> Politeness:
        return self.frontier.politeness

    @property
    def n_quick_waiting(self) -> int:
        """The number of quick hosts that have waiting pages."""
        return self.frontier.n_quick_waiting

    def has_pages(self, host: int) -> bool:
        """Whether a page waits for the slot of this host."""
        return self.frontier.has_pages(host)

    def take_slot(self, host: int, now: float) -> int | None:
        """Take the slot of a host for a request other than a page, until `end_slot`; None if it is not free."""
        return self.frontier.take_slot(host, now)

    def end_slot(self, slot: int, now: float) -> None:
        self.frontier.end_slot(slot, now)

    def snooze(self, host: int, until: float) -> None:
        """Return no page of the host from `next` before that time."""
        self.frontier.snooze(host, until)

    def wake(self, host: int) -> None:
        """End the snooze of the host: it may be requested now."""
        self.frontier.wake(host)

    def set_delay(self, host: int, delay_s: float) -> None:
        """Give the host its own delay from now on."""
        self.frontier.set_delay(host, delay_s)

    def set_quick(self, host: int, is_quick: bool) -> None:
        """Mark the host as one that responds quickly, or not."""
        self.frontier.set_quick(host, is_quick)

    def share_slot(self, hosts: ArrayLike, pages: ArrayLike, with_host: int | None = None) -> None:
        """Let these hosts share one slot, that of `with_host` or a new one; `pages` are all their waiting pages."""
        self.frontier.share_slot(hosts, pages, with_host)

    # -- pages ------------------------------------------------------------------------------------------------------

    def prioritize(self, pages: ArrayLike, priorities: ArrayLike) -> None:
        """Give pages that are not in flight these priorities, until the policy changes them.

        Pages that walks of the survey wait for stay first.
        """
        self.frontier.put(*self._without_probes(np.asarray(pages, np.int64), np.asarray(priorities, np.float64)))

    def drop_waiting(self) -> None:
        """Remove all pages from the frontier; a link or `prioritize` adds them again."""
        for page in self.frontier.all()[0].tolist():
            self.frontier.remove(page)

    def waiting(self) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
        """Return all pages that are not done, with their priorities: the frontier, and those in flight."""
        pages, priorities = self.frontier.all()
        in_flight = np.fromiter(self._in_flight, np.uint32, len(self._in_flight))
        shared = self.policy.priorities(self.web.n_pages)
        values = [
            own if own is not None or shared is None else float(shared[page]) for page, own in self._in_flight.items()
        ]
        return np.append(pages, in_flight), np.append(priorities, np.array(values, np.float64))

    def states(self) -> NDArray[np.uint8]:
        """Return the PageState of every known page."""
        self._grow_states()
        return self._state[: self.web.n_pages]

    def n_aliases(self) -> int:
        """Count the fetched pages that are aliases: redirects, and pages merged with another one."""
        self.coverage.grow_to(self.web.n_pages)
        states = self.states()
        return int(np.count_nonzero(self.coverage.alias[: len(states)] & (states == PageState.FETCHED)))

    def restore_state(
        self,
        order: array[int],
        blocked: array[int],
        states: NDArray[np.uint8],
        own_proof_holds: bool,
        n_requested: int,
        waiting: tuple[NDArray[np.uint32], NDArray[np.float64]],
    ) -> None:
        """Restore the state of another Crawl of the same pages (see ledger/event_replay.py)."""
        self.order, self.blocked_pages, self.own_proof_holds = order, blocked, own_proof_holds
        self.n_requested = n_requested
        self._state = np.where(states == _IN_FLIGHT, np.uint8(_KNOWN), states)
        self.frontier = Frontier(self.frontier.politeness, self.web.page_hosts)
        pages, priorities = waiting
        shared = self._share_priorities()
        if shared is not None:
            overrides = priorities != shared[pages]
            self.frontier.enter(pages[~overrides])
            pages, priorities = pages[overrides], priorities[overrides]
        self.frontier.put(pages, priorities)
        self._probes = set() if self.survey is None else self.survey.needed()

    def begin_survey(self, start: SurveyStart) -> None:
        """Begin a survey, which replaces an earlier one and its walks.

        If the goal is impossible, the survey measures the coverage of what is reachable.
        """
        self._probes.clear()
        start = replace(start, of_reachable=start.of_reachable or self.goal_is_impossible)
        events = [(page, True) for page in self.order]
        events += [(page, self.coverage.is_alias(page)) for page in self.blocked_pages]
        self.survey = self._new_survey(replace(start, n_events=len(events)), ())
        for page, is_fetched in events:
            self._update_survey(page, is_fetched)

    def recheck_goal(self) -> None:
        """Check whether a resumed crawl, or one with a new goal, has reached its goal already."""
        self.stopped_because = None
        self._check_goal([])

    def certificate(self, tolerance: float = 1e-9) -> Certificate:
        """Return the bounds that the pages fetched so far prove."""
        self.coverage.settle(self._links(), tolerance)
        return self.coverage.certificate()

    @property
    def goal_is_impossible(self) -> bool:
        """Whether the mass pushed so far shows that the coverage of the goal can never be proved.

        Once true it stays true: unreachable mass only grows, even where unknown links are found. A refresh, which
        requests blocked pages again, has its own Crawl.
        """
        until, goal = self.goal.until, self.goal
        may_change = goal.or_reachable and not goal.of_reachable
        return until is not None and may_change and self.coverage.is_impossible(until)

    @property
    def guarantee(self) -> float:
        """The coverage proved by the policy itself, or by the certificate where it proves none."""
        return self.policy.guarantee if self._trusts_policy() else self.certificate().lower

    def __repr__(self) -> str:
        (_, n_done), (_, n_blocked), (_, n_waiting) = self._counts()
        blocked = f"{n_blocked:,} blocked, " if n_blocked else ""
        why = "" if self.stopped_because is None else f"; stopped by {self.stopped_because}"
        return f"<Crawl by {self.policy.name}: {counted(n_done, 'page')} done, {blocked}{n_waiting:,} to fetch{why}>"

    def _repr_html_(self) -> str:
        proved = self.coverage.certificate()
        facts = [("policy", self.policy.name), *self._counts(), ("certificate", str(proved))]
        return facts_html("Crawl", [*facts, ("stopped by", self.stopped_because or "")])

    def _counts(self) -> list[tuple[str, int]]:
        n_waiting = len(self.frontier) + len(self._in_flight)
        return [("pages done", len(self.order)), ("blocked", len(self.blocked_pages)), ("to fetch", n_waiting)]

    def _trusts_policy(self) -> bool:
        """Whether the policy's own proof decides. It does not hold with redirects, hidden trust, or sitemaps."""
        by_certificate = self.goal.by_certificate or self.goal.of_reachable
        return self.policy.proves and self.own_proof_holds and not by_certificate

    def _target(self) -> ProofTarget:
        """Return the bounds that the certificate must prove."""
        until = self.goal.until
        if until is None:
            return _NO_TARGET
        if self.goal.of_reachable:
            return ProofTarget(of_reachable=until)
        last_resort = until if self.goal.or_reachable else NEVER
        if self._trusts_policy():
            return ProofTarget(last_resort=last_resort if self.blocked_pages else NEVER)
        return ProofTarget(until, last_resort=last_resort)

    def _links(self) -> LinkRows:
        return LinkRows.of(self.web)

    def _new_survey(self, start: SurveyStart, rounds: Sequence[SurveyRound]) -> CrawlSurvey:
        trust = self.trusted.vector(self.web.n_pages)
        return CrawlSurvey(start, trust, self.policy.damping, 1.0 - self.coverage.hidden, tuple(rounds))

    def _update_survey(self, page: int, is_fetched: bool) -> None:
        """Continue the walks that waited for a page that is done; the pages that walks need next come first."""
        survey = self.survey
        if survey is None:
            return
        self._probes.discard(page)
        if survey.start.of_reachable and not is_fetched and not self.coverage.is_blocked(page):
            return  # it is missing, not unreachable: walks that need it never end
        needed = survey.record_page(page, is_fetched, self.coverage, self._links())
        if needed:
            self._grow_states()
            self._share_priorities()
        for probe, walk in needed:
            self._probes.add(probe)
            priority = FIRST / (1 + walk)
            if self._state[probe] == _KNOWN:
                self.frontier.put([probe], [priority])
            elif probe in self._in_flight:
                self._put_in_flight(probe, priority, overrides=True)
        if not survey.start.of_reachable and self.goal_is_impossible:
            self.begin_survey(restarted(survey.start, of_reachable=True))

    def _budget_is_spent(self) -> bool:
        n_in_flight = len(self._in_flight) - len(self._deferred)
        return self.goal.budget is not None and self.n_requested + n_in_flight >= self.goal.budget

    def _grow_states(self) -> None:
        """Grow the array of states to all known pages."""
        if self.web.n_pages > len(self._state):
            self._state = grown(self._state, self.web.n_pages)

    def _set_state(self, page: int, new: int) -> None:
        if page >= len(self._state):
            self._state = grown(self._state, page + 1)
        old = int(self._state[page])
        if (old, new) not in _TRANSITIONS:
            raise ValueError(f"page {page} cannot become {PageState(new).name}: it is {PageState(old).name}")
        self._state[page] = new

    def _put_in_flight(self, page: int, priority: float, overrides: bool) -> None:
        is_own = overrides or not self._is_shared
        self._in_flight[page] = priority if is_own else None
        self._n_own += is_own

    def _end_request(self, page: int, new: int, now: float, delay_s: float | None = None) -> float | None:
        """End the request of a page in flight; return its own priority, None if it has the shared one."""
        self._set_state(page, new)
        if page in self._deferred:
            self._deferred.remove(page)
        elif page in self._host_is_free:
            self._host_is_free.remove(page)
        else:
            self.frontier.release(int(self.web.page_hosts.array[page]), now, delay_s, page)
        priority = self._in_flight.pop(page)
        if not self._in_flight:
            self._n_own = 0
        return priority

    def _record_page(self, page: int, changed: Priorities, was_requested: bool) -> None:
        """Record a page whose links are in the web, reorder the frontier, and check the goal."""
        self.order.append(page)
        self.n_requested += was_requested
        links = self.web.links(page)
        if self._n_own:
            self._link_in_flight(links)
        self._apply(changed, links if self.policy.follows_links else _NO_LINKS)
        self._update_survey(page, is_fetched=True)
        self._check_goal([page])

    def _link_in_flight(self, links: NDArray[np.uint32]) -> None:
        """Raise pages in flight from LAST once a page links to them, as the frontier does with waiting pages."""
        self._grow_states()
        for target in links[self._state[links] == _IN_FLIGHT].tolist():
            if self._in_flight[target] == LAST:
                self._in_flight[target] = None if self._is_shared else 0.0

    def _apply(self, changed: Priorities, links: NDArray[np.uint32] = _NO_LINKS) -> None:
        """Reorder the frontier by priorities that the policy has changed, and by new links to these pages."""
        pages, values = self._without_probes(changed.pages, changed.values)
        self._grow_states()
        if self._n_own:
            self._update_in_flight(pages, values)
        if self._share_priorities() is not None:
            self.frontier.follow(pages, links, self._state)
            return
        self.frontier.follow(_NO_LINKS, links, self._state)
        if len(pages):
            waiting = self._state[pages] == _KNOWN
            self.frontier.put(pages[waiting], values[waiting])

    def _without_probes(
        self, pages: NDArray[Any], values: NDArray[np.float64]
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        if self._probes:
            is_probe = (pages[:, np.newaxis] == np.fromiter(self._probes, np.uint32)).any(axis=1)
            if is_probe.any():
                return pages[~is_probe], values[~is_probe]
        return pages, values

    def _update_in_flight(self, pages: NDArray[np.uint32], values: NDArray[np.float64]) -> None:
        in_flight = self._state[pages] == _IN_FLIGHT
        for page, value in zip(pages[in_flight].tolist(), values[in_flight].tolist(), strict=True):
            self._in_flight[page] = None if self._is_shared else value

    def _share_priorities(self) -> NDArray[np.float64] | None:
        """Share the policy's array of priorities with the frontier, if it has one; growing may reallocate it."""
        shared = self.policy.priorities(self.web.n_pages) if self._is_shared else None
        if shared is not None:
            self.frontier.share(shared)
        return shared

    def _check_goal(self, fetched: list[int]) -> None:
        until, target = self.goal.until, self._target()
        self.coverage.grow_to(self.web.n_pages)
        if fetched:
            is_proved = self.coverage.fetch(np.array(fetched, np.uint32), self._links(), target) > 0
        else:
            is_proved = self.coverage.proves(self._links(), target)
        is_empty = len(self.frontier) == 0 and not self._in_flight
        reached = is_proved and (self.goal.of_reachable or self.coverage.lower >= target.until)
        if until is not None and self._trusts_policy():
            if is_empty:
                self.policy.conclude(self.web, until)
            reached = self.policy.guarantee >= until
        if reached:
            self.stopped_because = StopReason.COVERAGE
        elif is_proved:
            self.stopped_because = StopReason.REACHABLE
        elif self.survey is not None and self.survey.is_reached:
            is_goal = self.survey.start.of_reachable == self.goal.of_reachable
            self.stopped_because = StopReason.MEASURED if is_goal else StopReason.REACHABLE
        elif is_empty:
            self.stopped_because = StopReason.FRONTIER_EMPTY
        elif self.goal.budget is not None and self.n_requested >= self.goal.budget:
            self.stopped_because = StopReason.BUDGET
