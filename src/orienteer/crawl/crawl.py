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
from orienteer.graph.coverage import NEVER, Certificate, Coverage, Target
from orienteer.graph.growing_graph import GrowingGraph
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
_KNOWN, _IN_FLIGHT = int(PageState.KNOWN), int(PageState.IN_FLIGHT)
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
        hosts: ArrayLike | None = None,
        known_trust: float = 1.0,
        survey: SurveyStart | None = None,
        rounds: Sequence[Round] = (),
    ) -> None:
        """`hosts` are those of the trusted pages; `survey` and `rounds` what a crawl that is resumed began with."""
        self.policy = policy
        self.trusted = trusted
        self.goal = goal or Goal()
        self.web = GrowingGraph()
        self.frontier = Frontier(politeness)
        self.order = array("I")
        self.n_asked = 0  # pages done that cost a request: what a budget counts
        self.stopped_because: StopReason | None = None
        self.web.know(int(trusted.pages.max()) + 1)
        if hosts is not None:
            self.web.set_hosts(trusted.pages, hosts)
        self.coverage = Coverage(trusted.vector(self.web.n_pages), policy.damping, known_trust)
        self._state: NDArray[np.uint8] = np.zeros(1024, np.uint8)
        self._in_flight: dict[int, float] = {}  # with the priority each would have in the frontier
        self._put_off: set[int] = set()  # of these, those that nobody is asked for now
        self.own_proof_holds = known_trust == 1.0  # a policy's proof does not reckon with redirects and the like
        self.blocked_pages = array("I")
        self.survey = None if survey is None else self._new_survey(survey, rounds)
        self._probes: set[int] = set()  # pages that walks of the survey wait for
        self._apply(policy.begin(self.web, trusted))
        check_state(policy)

    def state(self, page: int) -> PageState:
        return PageState(int(self._state[page])) if page < len(self._state) else PageState.KNOWN

    def next(self, now: float = 0.0, only_quick: bool = False) -> int | None:
        """The page to fetch now; None when the crawl has stopped, or no host (no quick one) may be asked yet."""
        if self.is_closed:
            return None
        taken = self.frontier.take(now, only_quick)
        if taken is None:
            return None
        page, self._in_flight[taken[0]] = taken
        self._move(page, PageState.IN_FLIGHT)
        return page

    @property
    def is_closed(self) -> bool:
        """No page is handed out, whatever the hosts: it has stopped, or what is in flight takes all that is left."""
        return self.stopped_because is not None or self._budget_is_spent()

    def take(self, page: int) -> None:
        """Choose this very page, whoever's turn it is."""
        priority = self.frontier.priority(page) if page in self.frontier else LAST
        self._move(page, PageState.IN_FLIGHT)
        self.frontier.remove(page)
        self._in_flight[page] = priority

    def discover(self, pages: ArrayLike, hosts: ArrayLike | None = None) -> None:
        """These pages are there, though no fetched page links to them; those not known yet wait behind all others."""
        ids = np.unique(np.asarray(pages, np.int64))
        self.web.know(int(ids.max(initial=-1)) + 1)
        if hosts is not None:
            self.web.set_hosts(pages, hosts)
        self._state = grown(self._state, self.web.n_pages)
        waiting = ids[self._state[ids] == _KNOWN]
        new = np.array([page for page in waiting if page not in self.frontier], np.int64)
        self.frontier.put(new, np.full(len(new), LAST), self.web.hosts[new])
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
        self._arrive(page, PageState.FETCHED, now, None if asked else 0.0)
        self._leave_unknown(page, n_unknown)
        self.web.add(page, links)
        if hosts is not None:
            self.web.set_hosts(links, hosts)
        if about is not None and isinstance(self.policy, FocusedPolicy):
            self.policy.learn(page, about, self.web)
        self._take_in(page, self.policy.fetched(page, self.web), asked)

    def failed(self, page: int, now: float = 0.0, asked: bool = True) -> None:
        """There is no page: it counts as one without links."""
        self._end_without_links(page, PageState.FAILED, now, asked)

    def skipped(self, page: int, now: float = 0.0, asked: bool = True, n_unknown: int = 0) -> None:
        """What is there was not asked for, a picture say: it counts as a page without links, but for `n_unknown`."""
        self._leave_unknown(page, n_unknown)
        self._end_without_links(page, PageState.SKIPPED, now, asked)

    def _end_without_links(self, page: int, state: PageState, now: float, asked: bool) -> None:
        self._arrive(page, state, now, None if asked else 0.0)
        self.web.add(page, [])
        self._take_in(page, self.policy.failed(page, self.web), asked)

    def redirected(self, page: int, target: int, now: float = 0.0, host: int | None = None, asked: bool = True) -> None:
        """The page is another name of `target`: its whole mass goes there, undamped.

        One that comes back to itself is blocked: a surfer who accepts cookies, say, may well get on.
        """
        if self.n_redirects_from(target, until=page) is None:
            return self.blocked(page, now, asked, is_redirect=True)
        self.coverage.know(max(page, target) + 1)
        self.coverage.alias[page] = True
        self.own_proof_holds = False
        self.fetched(page, [target], now, None if host is None else [host], asked)

    def n_redirects_from(self, page: int, until: int) -> int | None:
        """How many redirects one follows from this page on; None if they lead to the page `until`."""
        n = 0
        while page != until:
            if page >= len(self.coverage.alias) or not self.coverage.alias[page]:
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
            self._arrive(page, PageState.BLOCKED, now, None if asked else 0.0)
        else:
            self._move(page, PageState.BLOCKED)
            self.frontier.remove(page)
        self.blocked_pages.append(page)
        self.n_asked += was_answered
        self._apply(self.policy.lost(page, self.web))
        if is_redirect:
            self._leave_unknown(page, NOBODY_KNOWS)
            self.coverage.alias[page] = True
        elif not is_missing:
            self.coverage.know(page + 1)
            self.coverage.block(np.array([page], np.uint32))
        self._tell_survey(page, is_fetched=is_redirect)
        self._see_whether_to_stop([page] if is_redirect else [])

    def find_more_links(self, pages: NDArray[np.uint32], n_more: NDArray[np.int32]) -> None:
        """So many links of these fetched pages count that did not before: the scope has become wider."""
        n_unknown = self.coverage.n_unknown
        n_unknown[pages] = np.where(n_unknown[pages] == NOBODY_KNOWS, NOBODY_KNOWS, n_unknown[pages] + n_more)
        self.own_proof_holds = False
        self.coverage = self.coverage.over_again(self.trusted.vector(self.web.n_pages), self._links())
        self.coverage.settle(self._links())  # what is impossible must not seem possible for a while
        if self.survey is not None:
            self.begin_survey(again(self.survey.start, self.survey.start.of_reachable))
        self.reconsider()

    def _leave_unknown(self, page: int, n_unknown: int) -> None:
        if n_unknown:
            self.coverage.know(page + 1)
            self.coverage.n_unknown[page] = n_unknown
            self.own_proof_holds = False

    def retry(self, page: int, now: float = 0.0, delay_s: float | None = None) -> None:
        """The fetch did not work out; the page waits again, and its host rests for the delay.

        One that was put off waits again from now on, whatever its host does.
        """
        priority = self._arrive(page, PageState.KNOWN, now, delay_s)
        self.frontier.put([page], [priority], [int(self.web.hosts[page])])

    def put_off(self, page: int, now: float = 0.0) -> None:
        """The fetch did not work out; the page stays in flight, without a request, until `retry`. Its host is free."""
        self.frontier.release(int(self.web.hosts[page]), now, page=page)
        self._put_off.add(page)

    def is_probe(self, page: int) -> bool:
        """Whether a walk of the survey waits for this page."""
        return page in self._probes

    def waiting(self) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
        """All pages that are not done, with their priorities: the frontier, and what is in flight."""
        pages, priorities = self.frontier.all()
        in_flight = np.fromiter(self._in_flight, np.uint32, len(self._in_flight))
        values = np.fromiter(self._in_flight.values(), np.float64, len(self._in_flight))
        return np.append(pages, in_flight), np.append(priorities, values)

    def states(self) -> NDArray[np.uint8]:
        """The PageState of every known page."""
        self._state = grown(self._state, self.web.n_pages)
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
        self.frontier = Frontier(self.frontier.politeness)
        self.frontier.put(*waiting, self.web.hosts[waiting[0]])
        self._probes = set() if self.survey is None else self.survey.needed()

    def begin_survey(self, start: SurveyStart) -> None:
        """Measure from now on; an earlier survey is forgotten, with its walks.

        Where the goal is impossible it measures what is reachable.
        """
        self._probes.clear()
        start = replace(start, of_reachable=start.of_reachable or self.goal_is_impossible)
        events = [(page, True) for page in self.order]
        events += [(page, bool(self.coverage.alias[page])) for page in self.blocked_pages]
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
        if survey.start.of_reachable and not is_fetched and not self.coverage.blocked[page]:
            return  # it is missing, and not out of reach: walks that need it wait for ever
        needed = survey.told(page, is_fetched, self.coverage, self._links())
        self._state = grown(self._state, self.web.n_pages)
        for probe, life in needed:
            self._probes.add(probe)
            priority = FIRST / (1 + life)
            if self._state[probe] == _KNOWN:
                self.frontier.put([probe], [priority], [int(self.web.hosts[probe])])
            elif probe in self._in_flight:
                self._in_flight[probe] = priority
        if self.goal_is_impossible and not survey.start.of_reachable:
            self.begin_survey(again(survey.start, of_reachable=True))

    def _budget_is_spent(self) -> bool:
        n_under_way = len(self._in_flight) - len(self._put_off)
        return self.goal.budget is not None and self.n_asked + n_under_way >= self.goal.budget

    def _move(self, page: int, new: PageState) -> None:
        self._state = grown(self._state, page + 1)
        old = int(self._state[page])
        if (old, new) not in _POSSIBLE:
            raise ValueError(f"page {page} cannot become {new.name}: it is {PageState(old).name}")
        self._state[page] = new

    def _arrive(self, page: int, new: PageState, now: float, delay_s: float | None = None) -> float:
        """A page in flight is back; the priority it would have in the frontier."""
        self._move(page, new)
        if page in self._put_off:
            self._put_off.remove(page)
        else:
            self.frontier.release(int(self.web.hosts[page]), now, delay_s, page)
        return self._in_flight.pop(page)

    def _take_in(self, page: int, changed: Priorities, asked: bool) -> None:
        """A page and its links are in the web: note it, reorder the frontier, see whether the goal is reached."""
        self.order.append(page)
        self.n_asked += asked
        links = self.web.links(page)
        self._state = grown(self._state, self.web.n_pages)
        states = self._state[links]
        if self.policy.follows_links:
            waiting = links[states == _KNOWN]
            self.frontier.add(waiting, self.web.hosts[waiting])
        for target in links[states == _IN_FLIGHT].tolist():
            if self._in_flight[target] == LAST:  # now that it is linked to, it is LAST no more, as in the frontier
                self._in_flight[target] = 0.0
        self._apply(changed)
        self._tell_survey(page, is_fetched=True)
        self._see_whether_to_stop([page])

    def _apply(self, changed: Priorities) -> None:
        pages, values = changed.pages, changed.values
        if self._probes:
            is_left = ~np.isin(pages, list(self._probes))
            pages, values = pages[is_left], values[is_left]
        if len(pages) == 0:
            return
        self._state = grown(self._state, self.web.n_pages)
        state = self._state[pages]
        if self._in_flight:
            in_flight = state == _IN_FLIGHT
            self._in_flight.update(zip(pages[in_flight].tolist(), values[in_flight].tolist(), strict=True))
        waiting = state == _KNOWN
        if not waiting.all():
            pages, values = pages[waiting], values[waiting]
        self.frontier.put(pages, values, self.web.hosts[pages])

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
