"""Several workers elsewhere, behind the interface of one.

A worker may die at any moment: the system kills it, its machine fails, a page makes it crash. What it had in hand comes
back as LOST, and the crawl asks for it again, as its politeness allows. One page may be to blame, but nobody knows
which: so what was in hand at two deaths is given to a worker that has nothing else to do. A page that kills such a
worker three times is UNREADABLE, and the crawl goes on without it.

The crawl, and no worker, decides how long a request may take. A worker ends its fetches itself after `timeout_s`; one
that has not answered long after that is taken for dead, and ended where it can be. Nothing that it says later is heard.
A worker on another machine may be out of reach and still at work: what it has in hand is lost only when its fetches
have surely ended, so that no host is asked twice at once.

Only workers that are ready get requests: on a cluster, one may have to wait for room.
"""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from orienteer.answers.answer import Fetched, Request
from orienteer.answers.meaning import Meaning, verdict_of
from orienteer.errors import ProcessError
from orienteer.pages.outcome import Outcome
from orienteer.url import host_of
from orienteer.workers.messages import Orders, packed, results_in, with_request
from orienteer.workers.processes import Elsewhere
from orienteer.workers.received import Received
from orienteer.workers.showing import Supply, Wish
from orienteer.workers.worker import NO_LIMIT, WorkerFigures

GRACE_S = 60.0  # for what a worker does besides fetching: it reads, and waits for its turn on a busy machine

_FEW = 8  # requests in hand that leave a worker time for more
_MAX_SENT_BYTES = 96 << 10  # to a worker, and not answered: what surely fits into its channel
_DEATHS_TOGETHER = 2  # of workers with a page in hand, after which it is asked for alone
_DEATHS_ALONE = 3  # after which it is unreadable
_DEATHS_AT_START = 3  # in a row, of workers that were not ready yet: there is no use in going on


@dataclass(eq=False)
class _Hand:
    """A worker, and what it has in hand."""

    worker: Any
    begun: float
    ready_by: float  # or it is taken for dead
    is_ready: bool = False
    in_hand: dict[int, tuple[Request, float]] = field(default_factory=dict)  # by number, with the time it is due
    unsent: deque[int] = field(default_factory=deque)
    n_sent_bytes: int = 0  # of what is in hand
    n_answers: int = 0
    cpu_s: float = 0.0
    shows: set[int] = field(default_factory=set)  # pages that need something to be shown
    record_headers: Mapping[str, str] | None = None  # as it was told last

    @property
    def is_overdue(self) -> bool:
        return self.due <= time.monotonic()

    @property
    def due(self) -> float:
        """When its next answer must be there: requests are sent in order, so the first one is due first."""
        if not self.is_ready:
            return self.ready_by
        return next(iter(self.in_hand.values()))[1] if self.in_hand else math.inf


class Pool:
    """So many workers, `n`, begun at once.

    `timeout_s` is how long a fetch may take, `grace_s` how much longer an answer may.
    """

    def __init__(
        self, elsewhere: Elsewhere, n: int, timeout_s: float, asks_web: bool, sticks: bool = False,
        grace_s: float = GRACE_S,
    ) -> None:  # fmt: skip
        """`sticks`: a host always has the same worker, since it keeps its cookies."""
        self.asks_web = asks_web
        self.max_under_way = NO_LIMIT
        self.record_headers: Mapping[str, str] = {}
        self.n_died = 0
        self._elsewhere = elsewhere
        self._patience_s = timeout_s + grace_s
        self._sticks = sticks
        self._hands = [self._new_hand() for _ in range(n)]
        self._alone: _Hand | None = None  # has one request at a time
        self._for_alone: deque[Request] = deque()
        self._waiting: list[Request] = []  # for a worker that is ready
        self._lingering: list[tuple[float, list[Received]]] = []  # lost, but not before this time
        self._deaths: Counter[str] = Counter()  # by URL
        self._deaths_alone: Counter[str] = Counter()
        self._n_deaths_at_start = 0
        self._last_death_at_start = -math.inf
        self._next_number = 0
        self._wishes: list[Wish] = []
        self._done: list[Received] = []

    @property
    def n_under_way(self) -> int:
        lingering = sum(len(lost) for _, lost in self._lingering)
        return self._n_in_hand() + len(self._waiting) + len(self._for_alone) + len(self._done) + lingering

    def start(self, request: Request) -> None:
        if self._deaths and self._deaths[request.url] >= _DEATHS_TOGETHER:
            self._for_alone.append(request)
        elif (hand := self._hand_for(request)) is not None:
            self._give(hand, request)
        else:
            self._waiting.append(request)

    def poll(self, timeout_s: float) -> list[Received]:
        self._give_alone()
        hands = self._all()
        for hand in hands:
            self._send(hand)
        next_due = min([hand.due for hand in hands] + [due for due, _ in self._lingering], default=math.inf)
        wait_s = 0.0 if self._done else min(timeout_s, next_due - time.monotonic())
        for event in self._elsewhere.wait([hand.worker for hand in hands], wait_s):
            hand = next(hand for hand in hands if hand.worker is event.worker)
            if event.results is None:
                self._died(hand, event.why, event.busy_until)
            else:
                self._take_in(hand, event.results)
        for hand in [hand for hand in self._all() if hand.is_overdue]:
            self._died(hand, f"no answer for {self._patience_s if hand.is_ready else self._elsewhere.start_s:.0f} s")
        self._let_go(time.monotonic())
        waiting, self._waiting = self._waiting, []
        for request in waiting:
            self.start(request)
        done, self._done = self._done, []
        return done

    def wishes(self) -> list[Wish]:
        wishes, self._wishes = self._wishes, []
        return wishes

    def supply(self, supply: Supply) -> None:
        hand = next((hand for hand in self._all() if supply.page in hand.shows), None)
        if hand is not None:  # or it has died
            self._elsewhere.send(hand.worker, packed(Orders([], supplies=(supply,))))

    def cancel(self) -> None:
        self._wishes.clear()
        for hand in self._all():
            hand.shows.clear()
            for request, _ in hand.in_hand.values():
                self._done.append(_without_answer(request, Outcome.CANCELLED))
            hand.in_hand.clear()
            hand.unsent.clear()
            hand.n_sent_bytes = 0
            self._elsewhere.send(hand.worker, packed(Orders([], cancel=True)))
        self._let_go(math.inf)
        self._done += [_without_answer(request, Outcome.CANCELLED) for request in (*self._for_alone, *self._waiting)]
        self._for_alone.clear()
        self._waiting.clear()

    def close(self) -> None:
        for hand in self._all():
            self._elsewhere.end(hand.worker, at_once=bool(hand.in_hand))
        self._hands, self._alone = [], None

    def figures(self) -> list[WorkerFigures]:
        return [
            WorkerFigures(*self._elsewhere.place_of(hand.worker), len(hand.in_hand), hand.n_answers, hand.cpu_s)
            for hand in self._all()
        ]

    # -- who does what ------------------------------------------------------------------------------------------

    def _all(self) -> list[_Hand]:
        return self._hands if self._alone is None else [*self._hands, self._alone]

    def _new_hand(self) -> _Hand:
        worker, now = self._elsewhere.begin(), time.monotonic()
        return _Hand(worker, now, now + self._elsewhere.start_s)

    def _n_in_hand(self) -> int:
        return sum(len(hand.in_hand) for hand in self._all())

    def _hand_for(self, request: Request) -> _Hand | None:
        """The one that has the host's connections, unless it has much more to do than another; of those ready."""
        home = self._hands[crc32(host_of(request.url).encode()) % len(self._hands)]
        if home.is_ready and (self._sticks or len(home.in_hand) < _FEW):
            return home
        ready = [] if self._sticks else [hand for hand in self._hands if hand.is_ready]
        if not ready:
            return None
        idlest = min(ready, key=lambda hand: len(hand.in_hand))
        return home if home.is_ready and len(home.in_hand) < len(idlest.in_hand) + _FEW else idlest

    def _give(self, hand: _Hand, request: Request) -> None:
        number, self._next_number = self._next_number, self._next_number + 1
        hand.in_hand[number] = request, math.inf
        hand.unsent.append(number)

    def _give_alone(self) -> None:
        if not self._for_alone:
            return
        if self._alone is None:
            self._alone = self._new_hand()
        if self._alone.is_ready and not self._alone.in_hand:
            self._give(self._alone, self._for_alone.popleft())

    def _send(self, hand: _Hand) -> None:
        """What fits into its channel: to wait for a worker that does not read would stop the crawl."""
        requests = []
        due = time.monotonic() + self._patience_s
        while hand.unsent and hand.n_sent_bytes < _MAX_SENT_BYTES:
            number = hand.unsent.popleft()
            request, _ = hand.in_hand[number]
            hand.in_hand[number] = request, due
            requests.append((number, request))
            hand.n_sent_bytes += _size(request)
        if requests:
            is_new = hand.record_headers is not self.record_headers
            hand.record_headers = self.record_headers
            orders = Orders(requests, self.record_headers if is_new else None)
            self._elsewhere.send(hand.worker, packed(orders))

    # -- what comes back ----------------------------------------------------------------------------------------

    def _take_in(self, hand: _Hand, data: bytes) -> None:
        results = results_in(data)
        hand.is_ready, self._n_deaths_at_start = True, 0
        hand.cpu_s = results.cpu_s or hand.cpu_s
        hand.shows.update(wish.page for wish in results.wishes)
        self._wishes += results.wishes
        if not results.answers:  # it is at work: documents may take long, one after the other, and so may pages
            due = time.monotonic() + self._patience_s
            hand.in_hand = {
                number: (request, due if before < math.inf else before)
                for number, (request, before) in hand.in_hand.items()
            }
        for number, answer in results.answers:
            held = hand.in_hand.pop(number, None)
            if held is None:
                continue  # cancelled meanwhile
            hand.n_answers += 1
            hand.shows.discard(held[0].page)
            hand.n_sent_bytes -= _size(held[0])
            if self._deaths:
                self._deaths.pop(held[0].url, None)
                self._deaths_alone.pop(held[0].url, None)
            self._done.append(with_request(answer, held[0]))

    def _died(self, hand: _Hand, why: str, busy_until: float = 0.0) -> None:
        """What it had in hand is lost; another takes its place."""
        self.n_died += 1
        self._elsewhere.end(hand.worker, at_once=True)
        self._wishes = [wish for wish in self._wishes if wish.page not in hand.shows]
        lost = []
        for number, (request, _) in hand.in_hand.items():
            was_sent = number not in hand.unsent
            outcome = self._blame(request, hand is self._alone) if was_sent else Outcome.LOST
            lost.append(_without_answer(request, outcome, why))
        self._lingering.append((busy_until, lost))
        if not hand.is_ready:
            self._count_death_at_start(hand, why)
        if hand is self._alone:
            self._alone = None
        else:
            self._hands[self._hands.index(hand)] = self._new_hand()

    def _count_death_at_start(self, hand: _Hand, why: str) -> None:
        """Several that were begun together and die together, say with their machine, count as one."""
        if hand.begun < self._last_death_at_start:
            return
        self._n_deaths_at_start, self._last_death_at_start = self._n_deaths_at_start + 1, time.monotonic()
        if self._n_deaths_at_start >= _DEATHS_AT_START:
            raise ProcessError(f"workers die before they have begun: {why}")

    def _let_go(self, now: float) -> None:
        """Of what lingered, that is over by now is lost."""
        for _, lost in (over := [pair for pair in self._lingering if pair[0] <= now]):
            self._done += lost
        if over:
            self._lingering = [pair for pair in self._lingering if pair[0] > now]

    def _blame(self, request: Request, was_alone: bool) -> Outcome:
        """What becomes of a request that a worker had in hand when it died."""
        self._deaths[request.url] += 1
        if was_alone:
            self._deaths_alone[request.url] += 1
        return Outcome.UNREADABLE if self._deaths_alone[request.url] >= _DEATHS_ALONE else Outcome.LOST


def _size(request: Request) -> int:
    secrets = 0 if request.secrets is None else request.secrets.size_bytes
    return 200 + len(request.url) + sum(len(name) + len(value) for name, value in request.headers) + secrets


def _without_answer(request: Request, outcome: Outcome, detail: str = "") -> Received:
    meaning = Meaning(verdict_of(outcome, 0), outcome.in_words(0))
    now = time.time()
    is_whole = request.any_type or request.is_part
    whole = Fetched(request, outcome, started_at=now, detail=detail) if is_whole else None
    return Received(request, outcome, meaning, started_at=now, detail=detail, whole=whole)
