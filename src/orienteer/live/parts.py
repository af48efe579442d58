"""Fetches what pages are shown with (*parts*): pictures, styles, fonts, scripts, frames, what a script asks for.

They are no pages of the crawl: outside graph, budget and certificate. But they are asked for as pages are: in the turns
of their hosts, with their delays, as robots.txt allows, within limits, and into the archive.

    parts.want(url, kind, then)   for a browser that waits: `then` is called once, with the answer or with a refusal
    parts.want_all(urls)          for pages that are kept with all they are shown with; these wishes survive a kill
    parts.ask(now)                starts what may be started now
    parts.take_in(answer)         an answer to what was started here
    parts.next_time()             when something may be started next

What a browser waits for goes first. Of the others, one and then a page of its host take turns, and they have half of
the workers at most.

A failure of a part says nothing about the pages of its host: hosts in trouble rest, but none is given up for pages.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from orienteer.access.keyring import Keyring
from orienteer.answers.answer import Request
from orienteer.frontier.host_health import HostHealth
from orienteer.ledger.ledger import Ledger
from orienteer.live.errands import Errand
from orienteer.live.host_turns import HostTurns
from orienteer.live.kept_parts import KeptParts
from orienteer.live.part_queues import PartQueue, PartQueues, Then, Wish
from orienteer.live.part_turns import PartTurns, Taken
from orienteer.pages.outcome import Outcome
from orienteer.store.log import Log
from orienteer.url import canonical_url, host_of
from orienteer.wording import counted
from orienteer.workers.crew import Crew
from orienteer.workers.received import Received

MAX_HOPS = 5  # of a redirect
MAX_FRAME_DEPTH = 3  # of documents in frames that are read for what they are shown with
MAX_DEPTH = 6  # of styles in styles
STOPPED = "the crawl was stopped"
NO_URL = "no URL that could be fetched"

_TRIES = 2
_FAILURES = 3  # of a host in a row, after which it is given up for parts
_MAX_LOST = 3
_HOST_FAILURES = frozenset((Outcome.SLOW_DOWN, Outcome.NO_ADDRESS, Outcome.NO_CONNECTION))
_TRIED_AGAIN = frozenset((Outcome.TIMED_OUT, Outcome.SERVER_ERROR, Outcome.BROKEN))
_ANSWERED = frozenset((Outcome.OK, Outcome.REDIRECT, Outcome.NOT_MODIFIED, Outcome.CLIENT_ERROR, Outcome.SERVER_ERROR,
                       Outcome.SLOW_DOWN, Outcome.LEADS_NOWHERE))  # fmt: skip
_DOCUMENTS = frozenset(("document", "frame"))
_HTML = frozenset(("text/html", "application/xhtml+xml"))


class Parts:
    """The parts of a live crawl; `n_done`, `n_failed` and `n_bytes` count those of this run."""

    def __init__(
        self, ledger: Ledger, crew: Crew, turns: HostTurns, health: HostHealth, keyring: Keyring, log: Log, workers: int
    ) -> None:
        self.n_done = self.n_failed = self.n_bytes = 0
        self._ledger, self._crew, self._keyring, self._log = ledger, crew, keyring, log
        self._workers = workers
        self._errands = turns.errands
        self._turns = PartTurns(ledger, turns)
        self._kept = KeptParts(ledger)
        self._health_of_pages = health
        retry = ledger.plan.retry
        self._health = HostHealth(replace(retry, give_up_after=min(retry.give_up_after, _FAILURES)))
        self._numbers: dict[str, int] = {}  # of hosts that were asked for parts
        self._wishes: dict[str, Wish] = {}  # by URL, also those under way
        self._awaited: dict[str, dict[str, Wish]] = {}  # by host, by URL
        self._awaited_due: dict[str, float] = {}  # by host: when to try again
        self._queues = PartQueues()
        self._under_way: dict[int, tuple[Wish | Errand, Taken]] = {}  # by the page of the request
        self._asks_robots: set[str] = set()  # hosts
        self._n_started = 0
        self._is_told = False
        if ledger.plan.crawl.requisites:
            for row in ledger.database.parts_wanted():
                self._enqueue(Wish(row.url, host_of(row.url), row.id, depth=1))

    @property
    def n_waiting(self) -> int:
        """Parts that are wanted, and not asked for yet."""
        return len(self._wishes) - sum(isinstance(what, Wish) for what, _ in self._under_way.values())

    @property
    def n_under_way(self) -> int:
        return len(self._under_way)

    def news(self) -> str:
        """Once, after all pages are done: how many parts are still to be fetched."""
        if self._is_told or not self.n_waiting:
            return ""
        self._is_told = True
        parts = counted(self.n_waiting, "picture, style or the like is", "pictures, styles and the like are")
        return f"all pages are done; {parts} still to be fetched"

    # -- wishes -------------------------------------------------------------------------------------------------

    def want(self, url: str, kind: str, then: Then) -> None:
        """A browser wants a part, which is of this kind: "document", "image", "script" and so on.

        `then` is called once: at once with what is kept, or later from `ask`, `take_in` or `cancel`. It hears the
        answer, a redirect like any other; or in one line why there is none.
        """
        wanted = canonical_url(url)
        if wanted is None:
            return then(NO_URL)
        wish = self._wishes.get(wanted)
        if wish is None:
            kept = self._kept.answer(wanted)
            if kept is not None:
                return then(_in_words(kept) if isinstance(kept, str) else kept)
            wish = Wish(wanted, host_of(wanted), self._kept.row_wanted(wanted), kind)
            self._wishes[wanted] = wish
            self._awaited.setdefault(wish.host, {})[wanted] = wish
        elif self._queues.remove(wish):
            self._awaited.setdefault(wish.host, {})[wanted] = wish
        wish.thens.append(then)

    def want_all(self, urls: Iterable[str], depth: int = 1, n_hops: int = 0) -> None:
        """A page, or a part of one, is shown with these; they are fetched once in an epoch, be it after a resume."""
        for url in urls:
            wish = self._wishes.get(url)
            if wish is not None:
                wish.row = self._kept.want(url) if wish.row is None else wish.row
            elif not self._kept.is_known(url):
                self._enqueue(Wish(url, host_of(url), self._kept.want(url), depth=depth, n_hops=n_hops))

    def want_of_page(self, page: int, answer: Received) -> None:
        """What a page is shown with that has just been taken in; of one that is as it was, as the archive has it."""
        if not self._ledger.plan.crawl.requisites:
            return
        urls: Iterable[str] = answer.requisites
        if answer.outcome is Outcome.NOT_MODIFIED:
            urls = self._kept.requisites_of_page(page)
        self.want_all(urls)

    def want_of_earlier_pages(self) -> None:
        """What pages are shown with that were fetched while nobody asked for it."""
        if self._ledger.plan.crawl.requisites:
            for page in self._kept.pages_since_noted():
                self.want_all(self._kept.requisites_of_page(page))

    def acknowledge(self) -> None:
        """All that pages are shown with is wanted by now; that is acknowledged with the pages."""
        if self._ledger.plan.crawl.requisites:
            self._kept.note_position()

    def cancel(self) -> None:
        """Nobody waits any longer; what is wanted stays so."""
        waiting = [wish for wish in self._wishes.values() if wish.thens]
        for wish in waiting:
            is_under_way = wish.url not in self._awaited.get(wish.host, {})
            thens, wish.thens = wish.thens, []
            if wish.row is None and not is_under_way:
                del self._wishes[wish.url]
            elif not is_under_way:
                self._enqueue(wish)
            for then in thens:
                then(STOPPED)
        self._awaited.clear()

    def _enqueue(self, wish: Wish) -> None:
        self._wishes[wish.url] = wish
        self._queues.add(wish)

    # -- asking -------------------------------------------------------------------------------------------------

    def ask(self, now: float, only_awaited: bool = False) -> None:
        """Start what may be started now, while there are workers; `only_awaited`: what a browser waits for."""
        self._turns.adopt(now)
        for host in list(self._awaited):
            self._ask_awaited(host, now)
        if only_awaited:
            return
        for queue in self._queues.due(now) if self._has_room() else ():
            self._ask_queue(queue, now)
            if not self._has_room():
                return

    def next_time(self) -> float | None:
        """When something may be started next, unless an answer comes before; None if nobody knows."""
        wanted = self._queues.next_time() if self._has_room() else math.inf
        soonest = min([wanted, *self._awaited_due.values()])
        return None if soonest == math.inf else soonest

    def freed(self, host: int) -> None:
        """A page of the host has come: it may be the turn of a part."""
        if self._queues:
            self._queues.freed(self._ledger.seen.host_name(host), 0.0, by_page=True)

    def _has_room(self) -> bool:
        """Whether there are workers for what nobody waits for."""
        return len(self._under_way) < max(1, self._workers // 2) and self._crew.n_under_way < self._workers

    def _ask_awaited(self, host: str, now: float) -> None:
        self._awaited_due.pop(host, None)
        wishes = self._awaited.get(host, {})
        while wishes and len(self._under_way) < self._workers:  # of pages all may be waiting for parts
            wish = next(iter(wishes.values()))
            later = self._tried(wish, now)
            if later is not None:
                self._awaited_due[host] = later
                return
            wishes.pop(wish.url, None)
        if not wishes:
            self._awaited.pop(host, None)

    def _ask_queue(self, queue: PartQueue, now: float) -> None:
        while queue.wishes:
            if not self._has_room():
                return self._queues.look_at(queue, now)
            if queue.owes_page and self._page_waits(queue.host):
                return self._queues.look_at(queue, math.inf)
            wish, n_started = queue.first, self._n_started
            later = self._tried(wish, now)
            queue.owes_page = queue.owes_page or self._n_started > n_started
            if later is not None:
                return self._queues.look_at(queue, later)
            queue.wishes.pop(wish.url, None)
        self._queues.remove_host(queue.host)

    def _page_waits(self, name: str) -> bool:
        crawl, host = self._ledger.crawl, self._turns.host(name)
        return host is not None and not crawl.is_closed and crawl.frontier.has_pages(host)

    def _tried(self, wish: Wish, now: float) -> float | None:
        """Start it, or refuse it: None. Otherwise when to try again; infinity: when something has ended."""
        name, url = wish.host, wish.url
        if name in self._asks_robots:
            return math.inf
        rules = self._rules_key(name, now)
        errand = self._errands.robots_errand(rules, url, now)
        refusal = self._refusal(wish)
        if refusal is None and errand is None and not self._errands.allows(rules, url):
            refusal = Outcome.ROBOTS
        if refusal is not None:
            self._refuse(wish, refusal)
            return None
        if self._keyring.next_step(url) is not None and not self._ledger.crawl.is_closed:
            return math.inf  # pages of its host log in
        if errand is not None and not wish.thens and self._page_waits(name):
            return math.inf  # a page of its host asks for robots.txt, and for what that names
        rest_s = self._health.rest_left_s(self._number(name), now)
        free_at = max(self._turns.free_at(name, now), now + rest_s)
        if free_at > now:
            return free_at
        taken = self._turns.take(name, now)
        if taken is None:
            return math.inf
        if errand is not None:
            self._start(errand, taken, self._request_of(errand))
            self._asks_robots.add(name)
            return math.inf
        self._start(wish, taken, self._request(wish))
        return None

    def _refusal(self, wish: Wish) -> Outcome | None:
        """Why it is not asked for, whatever robots.txt says."""
        host = self._turns.host(wish.host)
        is_given_up = host is not None and self._health_of_pages.is_given_up(host)
        if is_given_up or self._health.is_given_up(self._number(wish.host)):
            return Outcome.HOST_GIVEN_UP
        return self._keyring.refusal(wish.url)

    def _number(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))

    def _rules_key(self, name: str, now: float) -> int:
        """By which the rules of a host are kept: those that the crawl has, or else our own.

        Whatever else the crawl makes of a robots.txt, such as sitemaps, it makes when it asks for it itself.
        """
        host = self._turns.host(name)
        return host if host is not None and self._errands.knows(host, now) else -1 - self._number(name)

    def _request(self, wish: Wish) -> Request:
        headers = self._kept.request_headers(wish.url)
        if wish.kind not in _DOCUMENTS:
            headers = (("Accept", "*/*"), *headers)
        limit = self._ledger.plan.fetch.max_part_bytes
        secrets = self._keyring.secrets_for(wish.url)
        return Request(wish.url, self._next_page(), headers, max_body_bytes=limit, secrets=secrets, is_part=True)

    def _request_of(self, errand: Errand) -> Request:
        secrets = self._keyring.secrets_for(errand.url)
        limit = errand.max_body_bytes
        return Request(errand.url, self._next_page(), any_type=True, max_body_bytes=limit, secrets=secrets)

    def _next_page(self) -> int:
        """Numbers of no pages, which tell the requests of parts from each other and from those of pages."""
        self._n_started += 1
        return -1 - self._n_started

    def _start(self, what: Wish | Errand, taken: Taken, request: Request) -> None:
        self._under_way[request.page] = what, taken
        self._crew.start(request)

    # -- answers ------------------------------------------------------------------------------------------------

    def take_in(self, answer: Received) -> None:
        """An answer to a request that was started here: its page is below -1."""
        now = time.monotonic()
        what, taken = self._under_way.pop(answer.request.page)
        self._turns.end(taken, now)
        self._queues.freed(taken.name, now)
        if isinstance(what, Wish):
            self._take_in(what, answer, now)
        else:
            self._take_in_robots(taken.name, answer, now)

    def _take_in(self, wish: Wish, answer: Received, now: float) -> None:
        number = self._number(wish.host)
        self._log.note("part", **facts_of(answer))
        self.n_bytes += answer.n_bytes
        if answer.outcome is Outcome.CANCELLED:
            return self._give_back(wish, STOPPED)
        if answer.outcome is Outcome.LOST and wish.n_lost < _MAX_LOST:
            wish.n_lost += 1
            return self._again(wish)
        wish.n_tried += 1
        if answer.outcome in _HOST_FAILURES:
            self._host_failed(wish.host, answer, now)
        elif answer.outcome in _TRIED_AGAIN:
            rest_s = self._health.page_failed(number, answer.request.page, now, bool(answer.status), answer.reason)
            self._rest(wish.host, answer, rest_s, now)
        elif answer.status:
            self._health.answered(number)
        may_work_later = answer.outcome in _TRIED_AGAIN or answer.outcome in _HOST_FAILURES
        if may_work_later and wish.n_tried < _TRIES and not wish.thens and not self._health.is_given_up(number):
            return self._again(wish)
        if answer.outcome not in _ANSWERED or answer.whole is None:
            return self._refuse(wish, answer.reason)
        self._came(wish, answer)

    def _came(self, wish: Wish, answer: Received) -> None:
        """It is here, whatever it is."""
        whole = self._kept.keep(wish.url, wish.row, answer)
        self._keyring.heard(answer.request, False, answer.cookies)
        self.n_done += 1
        self.n_failed += answer.outcome in (Outcome.CLIENT_ERROR, Outcome.SERVER_ERROR, Outcome.SLOW_DOWN)
        del self._wishes[wish.url]
        follows = self._ledger.plan.crawl.requisites and wish.n_hops < MAX_HOPS
        if follows and answer.outcome is Outcome.REDIRECT and whole.location:
            self.want_all([whole.location], wish.depth, wish.n_hops + 1)
        is_document = answer.content_type in _HTML
        if answer.requisites and wish.depth <= (MAX_FRAME_DEPTH if is_document else MAX_DEPTH):
            self.want_all(answer.requisites, wish.depth + 1)
        for then in wish.thens:
            then(whole)

    def _refuse(self, wish: Wish, reason: str) -> None:
        """Nothing comes of it."""
        self._kept.refuse(wish.url, wish.row, reason)
        self.n_done += 1
        self.n_failed += 1
        self._wishes.pop(wish.url, None)
        for then in wish.thens:
            then(_in_words(reason))

    def _again(self, wish: Wish) -> None:
        """It waits behind the others of its host."""
        if wish.thens:
            self._awaited.setdefault(wish.host, {})[wish.url] = wish
        else:
            self._enqueue(wish)

    def _give_back(self, wish: Wish, reason: str) -> None:
        """It was broken off; a wish that survives is a wish still."""
        thens, wish.thens = wish.thens, []
        if wish.row is None:
            del self._wishes[wish.url]
        else:
            self._enqueue(wish)
        for then in thens:
            then(reason)

    def _host_failed(self, name: str, answer: Received, now: float) -> None:
        number = self._number(name)
        self._rest(name, answer, self._health.failed(number, now, answer.retry_after_s, answer.reason), now)

    def _rest(self, name: str, answer: Received, rest_s: float | None, now: float) -> None:
        """The host rests so long; None: nothing more is asked of it but pages."""
        if rest_s is None:
            self._log.note("host given up for parts", host=name, why=self._health.reason(self._number(name)))
        elif rest_s:
            self._turns.rest(name, now + rest_s)
            self._log.note("host rests", host=name, rest_s=round(rest_s, 3), why=answer.reason)

    def _take_in_robots(self, name: str, answer: Received, now: float) -> None:
        self._asks_robots.discard(name)
        self._log.note("robots", **facts_of(answer))
        if answer.outcome in (Outcome.CANCELLED, Outcome.LOST):
            return
        assert answer.whole is not None
        number = self._number(name)
        robots = self._errands.robots_came(-1 - number, answer.whole, now)
        if robots is not None:
            self._health.answered(number)
            self._turns.keep_delay(name, robots.delay_s)
        elif answer.outcome is Outcome.FORBIDDEN_ADDRESS:
            self._refuse_all(name, answer.reason, also_wanted=True)
        elif answer.outcome is not Outcome.REDIRECT:
            self._host_failed(name, answer, now)
            self._refuse_all(name, Outcome.ROBOTS_OUT_OF_REACH, also_wanted=False)

    def _refuse_all(self, name: str, reason: str, also_wanted: bool) -> None:
        """What waits for a host; what a browser waits for alone, or all."""
        waiting = list(self._awaited.pop(name, {}).values())
        if also_wanted:
            waiting += self._queues.remove_host(name)
        for wish in waiting:
            if wish.row is None or also_wanted:
                self._refuse(wish, reason)
            else:
                self._give_back(wish, _in_words(reason))


def facts_of(answer: Received) -> dict[str, Any]:
    """What the log says of any answer."""
    facts = {
        "url": answer.request.url,
        "outcome": answer.reason,
        "status": answer.status,
        "bytes": answer.n_bytes,
        "duration_s": round(answer.duration_s, 4),
    }
    return facts | {"detail": answer.detail} if answer.detail else facts


def _in_words(reason: str) -> str:
    return "robots.txt forbids it" if reason == Outcome.ROBOTS else str(reason)
