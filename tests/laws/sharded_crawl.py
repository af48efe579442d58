"""A simulated crawl whose hosts are split over shards, on a network and on machines that do all they can to spoil it.

Each shard keeps what docs/theory/proof.md keeps, of the pages of its hosts: what is left (p), the sum of what was
pushed (Y), the counter of dangling pages (D), and the fetched pages (F). What a push gives to pages of other shards
leaves as a *message* with a number. It leaves once the events that caused it are committed, and the receiver commits
its number together with its effect: so it counts at most once, though it may be delayed, overtaken, lost and doubled,
and though shards are killed and go on from what they committed last.

Reports (Y, D, R, Q, F) are taken of single shards at different times; a *cut* is the latest report of each.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from orienteer.graph.link_graph import LinkGraph

DAMPING = 0.85


@dataclass(frozen=True)
class Faults:
    """How likely things go wrong. Without `numbered`, a doubled message counts twice; without `committed`, messages
    leave before the events that caused them are stored."""

    loss: float = 0.0
    doubling: float = 0.0
    kill: float = 0.0
    numbered: bool = True
    committed: bool = True


@dataclass(frozen=True)
class Message:
    number: tuple[int, int]  # the sender, and its count of messages
    receiver: int
    mass: dict[int, float]


@dataclass(frozen=True)
class Report:
    pushed: float
    dangling: float
    on_unfetched: float
    on_fetched: float
    fetched: frozenset[int]


@dataclass
class Shard:
    left: dict[int, float] = field(default_factory=dict)
    pushed: float = 0.0
    dangling: float = 0.0
    fetched: set[int] = field(default_factory=set)
    outbox: list[Message] = field(default_factory=list)
    applied: set[tuple[int, int]] = field(default_factory=set)

    def copy(self) -> Shard:
        return Shard(
            dict(self.left), self.pushed, self.dangling, set(self.fetched), list(self.outbox), set(self.applied)
        )

    def report(self) -> Report:
        held = sum(mass for page, mass in self.left.items() if page in self.fetched)
        return Report(self.pushed, self.dangling, sum(self.left.values()) - held, held, frozenset(self.fetched))


@dataclass(frozen=True)
class Bounds:
    """The bounds of a cut; `naive` is the lower bound of one coordinator, summed as if no message were in flight."""

    lower: float
    upper: float
    naive: float


def bounds_of(cut: list[Report]) -> Bounds:
    pushed, dangling = sum(one.pushed for one in cut), sum(one.dangling for one in cut)
    on_unfetched, on_fetched = sum(one.on_unfetched for one in cut), sum(one.on_fetched for one in cut)
    total = 1.0 - DAMPING * dangling
    return Bounds(
        lower=(1.0 - DAMPING) * pushed / total,
        upper=1.0 - (1.0 - DAMPING) * on_unfetched / total,
        naive=1.0 - (on_unfetched + on_fetched) / total,
    )


class ShardedCrawl:
    """The crawl of a graph by shards; all that happens is drawn from the rng."""

    def __init__(
        self, web: LinkGraph, trust: np.ndarray, n_shards: int, faults: Faults, rng: np.random.Generator
    ) -> None:
        assert web.hosts is not None
        self._links = [web.links(page).tolist() for page in range(web.n_pages)]
        self._faults = faults
        self._rng = rng
        of_host = rng.integers(0, n_shards, int(web.hosts.max()) + 1)
        self.shard_of = of_host[web.hosts].tolist()
        self.shards = [Shard() for _ in range(n_shards)]
        for page in np.flatnonzero(trust).tolist():
            self.shards[self.shard_of[page]].left[page] = float(trust[page])
        self._committed = [shard.copy() for shard in self.shards]
        self._n_sent = [0] * n_shards  # of the outbox of each
        self._in_flight: list[list[Message]] = [[] for _ in range(n_shards)]
        self._reports: list[Report | None] = [None] * n_shards
        self.n_kills = 0

    def step(self) -> None:
        """One thing happens to one shard: a page is fetched, pages are pushed, messages arrive, it commits, or dies."""
        place, what = int(self._rng.integers(len(self.shards))), self._rng.random()
        shard = self.shards[place]
        if what < 0.25:
            self._fetch_best(place)
        elif what < 0.6:
            held = [page for page in shard.left if page in shard.fetched]
            if held:
                self._push(place, max(held, key=lambda page: shard.left[page]))
        elif what < 0.8:
            self._receive(place)
        elif what < 0.9:
            self._committed[place] = shard.copy()
            self._send(place, len(shard.outbox))
        elif what < 0.9 + self._faults.kill:
            self._die(place)
        if not self._faults.committed:
            self._send(place, len(self.shards[place].outbox))

    def look(self) -> list[Report] | None:
        """One shard reports; the latest reports of all, once each has reported."""
        place = int(self._rng.integers(len(self.shards)))
        self._reports[place] = self.shards[place].report()
        reports = [one for one in self._reports if one is not None]
        return reports if len(reports) == len(self.shards) else None

    def _fetch_best(self, place: int) -> None:
        shard = self.shards[place]
        waiting = [page for page in shard.left if page not in shard.fetched]
        if waiting:
            page = max(waiting, key=lambda page: (shard.left[page], -page))
            shard.fetched.add(page)
            self._push(place, page)

    def _push(self, place: int, page: int) -> None:
        shard = self.shards[place]
        amount = shard.left.pop(page)
        shard.pushed += amount
        if not self._links[page]:
            shard.dangling += amount
            return
        share = DAMPING * amount / len(self._links[page])
        for_others: dict[int, dict[int, float]] = {}
        for target in self._links[page]:
            owner = self.shard_of[target]
            gets = shard.left if owner == place else for_others.setdefault(owner, {})
            gets[target] = gets.get(target, 0.0) + share
        for owner, mass in for_others.items():
            shard.outbox.append(Message((place, len(shard.outbox)), owner, mass))

    def _send(self, place: int, end: int) -> None:
        for message in self.shards[place].outbox[self._n_sent[place] : end]:
            copies = 0 if self._rng.random() < self._faults.loss else 1 + (self._rng.random() < self._faults.doubling)
            self._in_flight[message.receiver] += [message] * copies
        self._n_sent[place] = max(self._n_sent[place], end)

    def _receive(self, place: int) -> None:
        """Some of the messages in flight arrive, in any order."""
        shard, mail = self.shards[place], self._in_flight[place]
        for _ in range(min(len(mail), 4)):
            message = mail.pop(int(self._rng.integers(len(mail))))
            if self._faults.numbered and message.number in shard.applied:
                continue
            shard.applied.add(message.number)
            for page, mass in message.mass.items():
                shard.left[page] = shard.left.get(page, 0.0) + mass

    def _die(self, place: int) -> None:
        """It goes on from what it has committed. The others send again what they ever sent it, and have committed."""
        self.n_kills += 1
        self.shards[place] = self._committed[place].copy()
        self._n_sent[place] = min(self._n_sent[place], len(self.shards[place].outbox))
        if self._faults.committed:
            for other, sender in enumerate(self.shards):
                sent = sender.outbox[: self._n_sent[other]]
                self._in_flight[place] += [message for message in sent if message.receiver == place]
