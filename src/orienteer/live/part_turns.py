"""Whose turn it is when a part of a page is asked for: that of its host, as if it were a page.

Hosts that the crawl knows have their turns in its frontier. The others, such as those that only serve pictures, have
turns here, by name: what a page is shown with must not number hosts of the crawl. A host that becomes known takes its
turn along.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from orienteer.frontier.politeness import Politeness
from orienteer.ledger.ledger import Ledger
from orienteer.live.host_turns import HostTurns


@dataclass(eq=False, slots=True)
class Taken:
    """A turn that was taken; `host` is that of the crawl, None for one that it does not know."""

    name: str
    host: int | None = None
    turn: int = 0


@dataclass(eq=False, slots=True)
class _OwnTurn:
    """Of a host that the crawl does not know."""

    n_open: int = 0
    rests_until: float = -math.inf
    delay_s: float = 0.0


class PartTurns:
    """Turns of hosts, by name."""

    def __init__(self, ledger: Ledger, turns: HostTurns) -> None:
        self._ledger = ledger
        self._turns = turns
        self._frontier = ledger.crawl.frontier
        self._own: dict[str, _OwnTurn] = {}
        self._taken: list[Taken] = []
        self._n_hosts = ledger.seen.n_hosts

    @property
    def _politeness(self) -> Politeness:
        return self._frontier.politeness

    def host(self, name: str) -> int | None:
        """The crawl's number of a host; None if it does not know it."""
        return self._ledger.host_named(name)

    def free_at(self, name: str, now: float) -> float:
        """From when on the host may be asked; infinity: nobody knows, something must end before."""
        host = self.host(name)
        if host is None:
            own = self._own.get(name)
            if own is None or not self._politeness.per_host:
                return -math.inf
            return math.inf if own.n_open >= self._politeness.connections else own.rests_until
        if self._ledger.crawl.stopped_because is not None and self._frontier.sleeps(host):
            # It waits for the hosts that share its turn, and nobody asks these any more.
            self._frontier.wake(host)
            self._frontier.rest(host, now + self._politeness.delay_s)
        return self._frontier.turn_free_at(host)

    def take(self, name: str, now: float) -> Taken | None:
        """The turn of a host; None if it may not be asked now."""
        host = self.host(name)
        if self.free_at(name, now) > now:
            return None
        taken = Taken(name, host)
        if host is None:
            self._own.setdefault(name, _OwnTurn(delay_s=self._politeness.delay_s)).n_open += 1
        else:
            self._take_of_crawl(taken, host, now)
        self._taken.append(taken)
        return taken

    def _take_of_crawl(self, taken: Taken, host: int, now: float) -> None:
        turn = self._frontier.take_turn(host, now)
        if turn is not None:
            taken.host, taken.turn = host, turn
            self._turns.asked(host)

    def end(self, taken: Taken, now: float) -> None:
        """The request that took the turn has ended: the host rests for its delay."""
        self._taken.remove(taken)
        if taken.host is None:
            own = self._own.get(taken.name)
            if own is not None:
                own.n_open -= 1
                own.rests_until = max(own.rests_until, now + own.delay_s)
            return
        self._frontier.end_turn(taken.turn, now)
        self._turns.answered(taken.host, False)
        if self._turns.are_shared(taken.host):
            self._turns.keep_delay(taken.host, now)

    def rest(self, name: str, until: float) -> None:
        """The host must not be asked before that time; one that shares its turn with others keeps none of them."""
        host = self.host(name)
        if host is None:
            own = self._own.setdefault(name, _OwnTurn(delay_s=self._politeness.delay_s))
            own.rests_until = max(own.rests_until, until)
        elif not self._turns.are_shared(host):
            self._frontier.rest(host, until)

    def keep_delay(self, name: str, delay_s: float | None) -> None:
        """Keep to the delay that the host's robots.txt asks for."""
        if delay_s is None or delay_s <= self._politeness.delay_s:
            return
        host = self.host(name)
        if host is None:
            self._own.setdefault(name, _OwnTurn()).delay_s = delay_s
        elif not self._turns.are_shared(host):
            self._frontier.set_delay(host, delay_s)

    def adopt(self, now: float) -> None:
        """Hosts that the crawl has come to know since have turns in its frontier from now on."""
        if self._ledger.seen.n_hosts == self._n_hosts:
            return
        self._n_hosts = self._ledger.seen.n_hosts
        for name in [name for name in self._own if self.host(name) is not None]:
            own, host = self._own.pop(name), self.host(name)
            assert host is not None
            for taken in [taken for taken in self._taken if taken.name == name and taken.host is None]:
                self._take_of_crawl(taken, host, math.inf)
            if own.rests_until > now:
                self._frontier.rest(host, own.rests_until)
            self.keep_delay(name, own.delay_s)
