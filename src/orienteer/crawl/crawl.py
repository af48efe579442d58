"""One crawl as a state machine, without I/O and without a clock of its own. Read this first.

The life of a page is told in `pages/states.py`. Whoever drives it, a simulation or the network, does the same:

    page = crawl.next(now)                     # the best page whose host may be asked now, or None
    crawl.fetched(page, links, now)            # or .redirected, .failed, .skipped, .blocked, .retry, .put_off
    crawl.stopped_because                      # a StopReason, or None: go on

A failed or skipped page counts as fetched without links: the attempt found out what there is. A blocked one does not;
its mass is out of reach and reported. Where links of a page are not known (`n_unknown`, see graph/coverage) what may be
behind them is not covered. A page known from elsewhere than a link (`discover`: a sitemap) holds no mass, and comes
after all that are linked to. What comes of a page may be known without asking its host (`asked=False`: robots.txt
forbids it, or it was seen not long ago): that costs no budget, and the host need not rest for it.

To resume, tell a new Crawl the same events in the same order: `take` each page instead of asking for the `next`.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.arrays import grown
from orienteer.crawl.goal import Goal
from orienteer.frontier.frontier import LAST, Frontier
from orienteer.frontier.politeness import ANY_TIME, Politeness
from orienteer.graph.coverage import Coverage
from orienteer.graph.coverage_push import NEVER, Target
from orienteer.graph.growing_graph import GrowingGraph
from orienteer.graph.page_hosts import PageHosts
from orienteer.graph.proved import Certificate
from orienteer.graph.push import Links
from orienteer.graph.survey.crawl_survey import CrawlSurvey, Round, SurveyStart, again
from orienteer.notebook import facts_html
from orienteer.pages.states import TRANSITIONS, PageState
from orienteer.pages.stop_reason import StopReason
from orienteer.pages.unknown import NOBODY_KNOWS
from orienteer.policies.focused import AboutPage, FocusedPolicy
from orienteer.policies.policy import Policy, Priorities, TrustedPages
from orienteer.policies.policy_state import check_state
from orienteer.wording import counted

# Plain numbers, for arrays of states and for every step: a member of an Enum takes its time.
_KNOWN, _IN_FLIGHT, _FETCHED, _FAILED, _BLOCKED, _SKIPPED = map(int, PageState)
_NO_LINKS = np.empty(0, np.uint32)
FIRST = 1e300  # the priority of pages that walks of a survey need, by the number of the walk
_POSSIBLE = {(int(old), int(new)) for old, news in TRANSITIONS.items() for new in news}


class Crawl:
    """The state of a crawl: what is known, what was fetched, what comes next, how much is covered."""

    def __init__(
        self,
        policy: Policy,
        trusted: TrustedPages,
        goal: Goal | None = None,
        politeness: Politeness = ANY_TIME,
        hosts: ArrayLike | PageHosts | None = None,
        known_trust: float = 1.0,
        survey: SurveyStart | None = None,
        rounds: Sequence[Round] = (),
    ) -> None:
        """`hosts` are those of the trusted pages, or those of all pages, as whoever numbers pages knows them.

        `survey` and `rounds` are what a crawl that is resumed began with.
        """
        self.policy = policy
        self.trusted = trusted
        self.goal = goal or Goal()
        self.web = GrowingGraph(hosts if isinstance(hosts, PageHosts) else None)
        self.frontier = Frontier(politeness, self.web.page_hosts)
        self.order = array("I")
        self.n_asked = 0  # pages done that cost a request: what a budget counts
        self.stopped_because: StopReason | None = None
        self.web.know(int(trusted.pages.max()) + 1)
        if hosts is not None and not isinstance(hosts, PageHosts):
            self.web.set_hosts(trusted.pages, hosts)
        self.coverage = Coverage(trusted.vector(self.web.n_pages), policy.damping, known_trust)
        self._state: NDArray[np.uint8] = np.zeros(1024, np.uint8)
        # With the priority each would have in the frontier; None: that which the policy shares.
        self._in_flight: dict[int, float | None] = {}
        self._n_own = 0  # of these, those that are not None, or more
        self._put_off: set[int] = set()  # of these, those that nobody is asked for now
        self._answered: set[int] = set()  # of these, those whose hosts have answered
        self.own_proof_holds = known_trust == 1.0  # a policy's proof does not reckon with redirects and the like
        self.blocked_pages = array("I")
        self.survey = None if survey is None else self._new_survey(survey, rounds)
        self._probes: set[int] = set()  # pages that walks of the survey wait for
        begun = policy.begin(self.web, trusted)
        self._is_shared = policy.priorities(self.web.n_pages) is not None
        self._apply(begun)
        check_state(policy)

    def state(self, page: int) -> PageState:
        return PageState(int(self._state[page])) if page < len(self._state) else PageState.KNOWN

    def next(self, now: float = 0.0, only_quick: bool = False) -> int | None:
        """The page to fetch now; None when the crawl has stopped, or no host (no quick one) may be asked yet."""
        if self.is_closed:
            return None
        taken = self.frontier.take_out(now, only_quick)
        if taken is None:
            return None
        page, priority, is_apart = taken
        self._put_in_flight(page, priority, is_apart)
        self._move(page, _IN_FLIGHT)
        return page

    @property
    def is_closed(self) -> bool:
        """No page is handed out, whatever the hosts: it has stopped, or what is in flight takes all that is left."""
        return self.stopped_because is not None or self._budget_is_spent()

    def take(self, page: int) -> None:
        """Choose this very page, whoever's turn it is."""
        is_here = page in self.frontier
        priority, is_apart = self.frontier.own_priority(page) if is_here else (LAST, True)
        self._move(page, _IN_FLIGHT)
        if is_here:
            self.frontier.remove(page)
        self._put_in_flight(page, priority, is_apart)

    def discover(self, pages: ArrayLike, hosts: ArrayLike | None = None) -> None:
        """These pages are there, though no fetched page links to them; those not known yet wait behind all others."""
        ids = np.unique(np.asarray(pages, np.int64))
        self.web.know(int(ids.max(initial=-1)) + 1)
        if hosts is not None:
            self.web.set_hosts(pages, hosts)
        self._know()
        waiting = ids[self._state[ids] == _KNOWN]
        new = waiting[~self.frontier.are_here(waiting)]
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
        asked: bool = True,
        about: AboutPage | None = None,
        n_unknown: int = 0,
    ) -> None:
        """The page came back with these links; `hosts` are those of the targets. A focused policy hears `about` it.

        `n_unknown` links of the page are not among them; NOBODY_KNOWS: nobody knows how many.
        """
        self._arrive(page, _FETCHED, now, None if asked else 0.0)
        self._leave_unknown(page, n_unknown)
        self.web.add(page, links)
        if hosts is not None:
            self.web.set_hosts(links, hosts)
        if about is not None and isinstance(self.policy, FocusedPolicy):
            self.policy.learn(page, about, self.web)
        self._take_in(page, self.policy.fetched(page, self.web), asked)

    def failed(self, page: int, now: float = 0.0, asked: bool = True) -> None:
        """There is no page: it counts as one without links."""
        self._end_without_links(page, _FAILED, now, asked)

    def skipped(self, page: int, now: float = 0.0, asked: bool = True, n_unknown: int = 0) -> None:
        """What is there was not asked for, a picture say: it counts as a page without links, but for `n_unknown`."""
        self._leave_unknown(page, n_unknown)
        self._end_without_links(page, _SKIPPED, now, asked)

    def _end_without_links(self, page: int, state: int, now: float, asked: bool) -> None:
        self._arrive(page, state, now, None if asked else 0.0)
        self.web.add(page, _NO_LINKS)
        self._take_in(page, self.policy.failed(page, self.web), asked)

    def redirected(self, page: int, target: int, now: float = 0.0, host: int | None = None, asked: bool = True) -> None:
        """The page is another name of `target`: its whole mass goes there, undamped.

        One that comes back to itself is blocked: a surfer who accepts cookies, say, may well get on.
        """
        if self.n_redirects_from(target, until=page) is None:
            return self.blocked(page, now, asked, is_redirect=True)
        self.coverage.know(max(page, target) + 1)
        self.coverage.set_aliases(page)
        self.own_proof_holds = False
        self.fetched(page, [target], now, None if host is None else [host], asked)

    def n_redirects_from(self, page: int, until: int) -> int | None:
        """How many redirects one follows from this page on; None if they lead to the page `until`."""
        n = 0
        while page != until:
            if not self.coverage.is_alias(page):
                return n
            links = self.web.links(page)
            if len(links) == 0:  # blocked: nobody knows where it leads
                return n
            page = int(links[0])
            n += 1
        return None

    def blocked(
        self, page: int, now: float = 0.0, asked: bool = True, is_redirect: bool = False, was_answered: bool = False,
        is_missing: bool = False,
    ) -> None:  # fmt: skip
        """The page must not or cannot be fetched. A redirect is another name of a page that is not known.

        One that was answered (403, say) counts in the budget; one that was asked for in vain does not. One that
        `is_missing` (in an archive) could be fetched elsewhere: it is not out of reach.
        """
        if self.state(page) is PageState.IN_FLIGHT:
            self._arrive(page, _BLOCKED, now, None if asked else 0.0)
        else:
            self._move(page, _BLOCKED)
            self.frontier.remove(page)
        self.blocked_pages.append(page)
        self.n_asked += was_answered
        self._apply(self.policy.lost(page, self.web))
        if is_redirect:
            self._leave_unknown(page, NOBODY_KNOWS)
            self.coverage.set_aliases(page)
        elif not is_missing:
            self.coverage.know(page + 1)
            self.coverage.block(np.array([page], np.uint32))
        self._tell_survey(page, is_fetched=is_redirect)
        self._see_whether_to_stop([page] if is_redirect else [])

    def find_more_links(self, pages: NDArray[np.uint32], n_more: NDArray[np.int32]) -> None:
        """So many links of these fetched pages count that did not before: the scope has become wider."""
        before = self.coverage.n_unknown[pages]
        self.coverage.set_unknown(pages, np.where(before == NOBODY_KNOWS, NOBODY_KNOWS, before + n_more))
        self.own_proof_holds = False
        self.coverage = self.coverage.over_again(self.trusted.vector(self.web.n_pages), self._links())
        self.coverage.settle(self._links())  # what is impossible must not seem possible for a while
        if self.survey is not None:
            self.begin_survey(again(self.survey.start, self.survey.start.of_reachable))
        self.reconsider()

    def _leave_unknown(self, page: int, n_unknown: int) -> None:
        if n_unknown:
            self.coverage.know(page + 1)
            self.coverage.set_unknown(page, n_unknown)
            self.own_proof_holds = False

    def retry(self, page: int, now: float = 0.0, delay_s: float | None = None) -> None:
        """The fetch did not work out; the page waits again, and its host rests for the delay.

        One that was put off waits again from now on, whatever its host does.
        """
        priority = self._arrive(page, _KNOWN, now, delay_s)
        self._share_priorities()
        if priority is None:
            self.frontier.enter(np.array([page], np.uint32))
        else:
            self.frontier.put([page], [priority])

    def put_off(self, page: int, now: float = 0.0) -> None:
        """The fetch did not work out; the page stays in flight, without a request, until `retry`. Its host is free."""
        if page in self._answered:
            self._answered.remove(page)
        else:
            self.frontier.release(int(self.web.hosts[page]), now, page=page)
        self._put_off.add(page)

    def answered(self, page: int, now: float = 0.0) -> None:
        """The host of a page in flight has answered, though it is not known yet what came of it: the host is free."""
        self.frontier.release(int(self.web.hosts[page]), now, page=page)
        self._answered.add(page)

    def is_probe(self, page: int) -> bool:
        """Whether a walk of the survey waits for this page."""
        return page in self._probes

    def waiting(self) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
        """All pages that are not done, with their priorities: the frontier, and what is in flight."""
        pages, priorities = self.frontier.all()
        in_flight = np.fromiter(self._in_flight, np.uint32, len(self._in_flight))
        shared = self.policy.priorities(self.web.n_pages)
        values = [
            own if own is not None or shared is None else float(shared[page]) for page, own in self._in_flight.items()
        ]
        return np.append(pages, in_flight), np.append(priorities, np.array(values, np.float64))

    def states(self) -> NDArray[np.uint8]:
        """The PageState of every known page."""
        self._know()
        return self._state[: self.web.n_pages]

    def n_other_names(self) -> int:
        """How many fetched pages are other names of pages: redirects, and what was merged with another page."""
        self.coverage.know(self.web.n_pages)
        states = self.states()
        return int(np.count_nonzero(self.coverage.alias[: len(states)] & (states == PageState.FETCHED)))

    def reinstate(
        self,
        order: array[int],
        blocked: array[int],
        states: NDArray[np.uint8],
        own_proof_holds: bool,
        n_asked: int,
        waiting: tuple[NDArray[np.uint32], NDArray[np.float64]],
    ) -> None:
        """Take over what another Crawl of the same pages had come to (see ledger/checkpoint.py)."""
        self.order, self.blocked_pages, self.own_proof_holds = order, blocked, own_proof_holds
        self.n_asked = n_asked
        self._state = np.where(states == _IN_FLIGHT, np.uint8(_KNOWN), states)
        self.frontier = Frontier(self.frontier.politeness, self.web.page_hosts)
        pages, priorities = waiting
        shared = self._share_priorities()
        if shared is not None:
            is_apart = priorities != shared[pages]
            self.frontier.enter(pages[~is_apart])
            pages, priorities = pages[is_apart], priorities[is_apart]
        self.frontier.put(pages, priorities)
        self._probes = set() if self.survey is None else self.survey.needed()

    def begin_survey(self, start: SurveyStart) -> None:
        """Measure from now on; an earlier survey is forgotten, with its walks.

        Where the goal is impossible it measures what is reachable.
        """
        self._probes.clear()
        start = replace(start, of_reachable=start.of_reachable or self.goal_is_impossible)
        events = [(page, True) for page in self.order]
        events += [(page, self.coverage.is_alias(page)) for page in self.blocked_pages]
        self.survey = self._new_survey(replace(start, n_told=len(events)), ())
        for page, is_fetched in events:
            self._tell_survey(page, is_fetched)

    def reconsider(self) -> None:
        """See whether the goal is reached with what is there, after a resume or with a new goal."""
        self.stopped_because = None
        self._see_whether_to_stop([])

    def certificate(self, tolerance: float = 1e-9) -> Certificate:
        """What is proved of the pages fetched so far."""
        self.coverage.settle(self._links(), tolerance)
        return self.coverage.certificate()

    @property
    def goal_is_impossible(self) -> bool:
        """Whether the coverage that is asked for can never be proved, by what has been pushed so far.

        It stays so: what is out of reach only grows, also where links are found that nobody knew of. A refresh, which
        asks for blocked pages again, has a Crawl of its own.
        """
        until, goal = self.goal.until, self.goal
        is_judged = goal.or_reachable and not goal.of_reachable
        return until is not None and is_judged and self.coverage.makes_impossible(until)

    @property
    def guarantee(self) -> float:
        """The coverage proved by the policy itself, or by the certificate where it proves none."""
        return self.policy.guarantee if self._believes_policy() else self.certificate().lower

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

    def _believes_policy(self) -> bool:
        """Whether the policy's own proof decides. It does not hold with redirects, hidden trust, or sitemaps."""
        by_certificate = self.goal.by_certificate or self.goal.of_reachable
        return self.policy.proves and self.own_proof_holds and not by_certificate

    def _target(self) -> Target:
        """What the certificate is to prove."""
        until = self.goal.until
        if until is None:
            return Target()
        if self.goal.of_reachable:
            return Target(of_reachable=until)
        last_resort = until if self.goal.or_reachable else NEVER
        if self._believes_policy():
            return Target(last_resort=last_resort if self.blocked_pages else NEVER)
        return Target(until, last_resort=last_resort)

    def _links(self) -> Links:
        return Links.of(self.web)

    def _new_survey(self, start: SurveyStart, rounds: Sequence[Round]) -> CrawlSurvey:
        trust = self.trusted.vector(self.web.n_pages)
        return CrawlSurvey(start, trust, self.policy.damping, 1.0 - self.coverage.hidden, tuple(rounds))

    def _tell_survey(self, page: int, is_fetched: bool) -> None:
        """A page is done: walks go on that waited for it, and those pages come first that they need now."""
        survey = self.survey
        if survey is None:
            return
        self._probes.discard(page)
        self.coverage.know(self.web.n_pages)
        if survey.start.of_reachable and not is_fetched and not self.coverage.is_blocked(page):
            return  # it is missing, and not out of reach: walks that need it wait for ever
        needed = survey.told(page, is_fetched, self.coverage, self._links())
        self._know()
        self._share_priorities()
        for probe, life in needed:
            self._probes.add(probe)
            priority = FIRST / (1 + life)
            if self._state[probe] == _KNOWN:
                if probe not in self.frontier or self.frontier.own_priority(probe)[0] != priority:
                    self.frontier.put([probe], [priority])
            elif probe in self._in_flight:
                self._put_in_flight(probe, priority, is_apart=True)
        if self.goal_is_impossible and not survey.start.of_reachable:
            self.begin_survey(again(survey.start, of_reachable=True))

    def _budget_is_spent(self) -> bool:
        n_under_way = len(self._in_flight) - len(self._put_off)
        return self.goal.budget is not None and self.n_asked + n_under_way >= self.goal.budget

    def _know(self) -> None:
        """Make room for the states of all known pages."""
        self._state = grown(self._state, self.web.n_pages)

    def _move(self, page: int, new: int) -> None:
        self._state = grown(self._state, page + 1)
        old = int(self._state[page])
        if (old, new) not in _POSSIBLE:
            raise ValueError(f"page {page} cannot become {PageState(new).name}: it is {PageState(old).name}")
        self._state[page] = new

    def _put_in_flight(self, page: int, priority: float, is_apart: bool) -> None:
        is_own = is_apart or not self._is_shared
        self._in_flight[page] = priority if is_own else None
        self._n_own += is_own

    def _arrive(self, page: int, new: int, now: float, delay_s: float | None = None) -> float | None:
        """A page in flight is back; the priority it would have in the frontier, None for that which is shared."""
        self._move(page, new)
        if page in self._put_off:
            self._put_off.remove(page)
        elif page in self._answered:
            self._answered.remove(page)
        else:
            self.frontier.release(int(self.web.page_hosts.array[page]), now, delay_s, page)
        priority = self._in_flight.pop(page)
        if not self._in_flight:
            self._n_own = 0
        return priority

    def _take_in(self, page: int, changed: Priorities, asked: bool) -> None:
        """A page and its links are in the web: note it, reorder the frontier, see whether the goal is reached."""
        self.order.append(page)
        self.n_asked += asked
        links = self.web.links(page)
        if self._n_own:
            self._note_links(links)
        self._apply(changed, links if self.policy.follows_links else _NO_LINKS)
        self._tell_survey(page, is_fetched=True)
        self._see_whether_to_stop([page])

    def _note_links(self, links: NDArray[np.uint32]) -> None:
        """A page in flight that is linked to now is LAST no more, as in the frontier."""
        self._know()
        for target in links[self._state[links] == _IN_FLIGHT].tolist():
            if self._in_flight[target] == LAST:
                self._in_flight[target] = None if self._is_shared else 0.0

    def _apply(self, changed: Priorities, links: NDArray[np.uint32] = _NO_LINKS) -> None:
        """Reorder the frontier: the policy has changed priorities, and there are links to these pages."""
        pages, values = changed.pages, changed.values
        if self._probes:
            is_left = ~np.isin(pages, list(self._probes))
            pages, values = pages[is_left], values[is_left]
        self._know()
        if self._n_own:
            self._change_in_flight(pages, values)
        if self._share_priorities() is not None:
            self.frontier.follow(pages, links, self._state)
            return
        self.frontier.follow(_NO_LINKS, links, self._state)
        if len(pages):
            waiting = self._state[pages] == _KNOWN
            self.frontier.put(pages[waiting], values[waiting])

    def _change_in_flight(self, pages: NDArray[np.uint32], values: NDArray[np.float64]) -> None:
        in_flight = self._state[pages] == _IN_FLIGHT
        for page, value in zip(pages[in_flight].tolist(), values[in_flight].tolist(), strict=True):
            self._in_flight[page] = None if self._is_shared else value

    def _share_priorities(self) -> NDArray[np.float64] | None:
        """Let the frontier go by the priorities of the policy, where that keeps them; they move as they grow."""
        shared = self.policy.priorities(self.web.n_pages) if self._is_shared else None
        if shared is not None:
            self.frontier.share(shared)
        return shared

    def _see_whether_to_stop(self, fetched: list[int]) -> None:
        until, target = self.goal.until, self._target()
        self.coverage.know(self.web.n_pages)
        if fetched:
            is_proved = self.coverage.fetch(np.array(fetched, np.uint32), self._links(), target) > 0
        else:
            is_proved = self.coverage.proves(self._links(), target)
        is_empty = len(self.frontier) == 0 and not self._in_flight
        reached = is_proved and (self.goal.of_reachable or self.coverage.lower >= target.until)
        if until is not None and self._believes_policy():
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
        elif self.goal.budget is not None and self.n_asked >= self.goal.budget:
            self.stopped_because = StopReason.BUDGET
        elif is_empty:
            self.stopped_because = StopReason.FRONTIER_EMPTY
