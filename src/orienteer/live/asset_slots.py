"""Host slots for asset requests, which take the slot of their host like a page.

Hosts of the crawl have their slots in its frontier. The others, such as those that only serve images, have slots here,
by name: assets must not add hosts to the crawl. The slot of a host that becomes known moves to the frontier.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from orienteer.frontier.politeness import Politeness
from orienteer.ledger.ledger import Ledger
from orienteer.live.host_slots import HostSlots


@dataclass(eq=False, slots=True)
class TakenSlot:
    """A slot in use; `host` is the crawl's id of the host, None if the crawl does not know it."""

    name: str
    host: int | None = None
    slot: int = 0


@dataclass(eq=False, slots=True)
class _OwnSlot:
    """The slot of a host that the crawl does not know."""

    n_open: int = 0
    not_before: float = -math.inf
    delay_s: float = 0.0


class AssetSlots:
    """Slots by host name."""

    def __init__(self, ledger: Ledger, slots: HostSlots) -> None:
        self._ledger = ledger
        self._slots = slots
        self._frontier = ledger.crawl.frontier
        self._own: dict[str, _OwnSlot] = {}
        self._taken: list[TakenSlot] = []
        self._n_hosts = ledger.seen.n_hosts

    @property
    def _politeness(self) -> Politeness:
        return self._frontier.politeness

    def host(self, name: str) -> int | None:
        """Return the crawl's id of a host; None if the crawl does not know it."""
        return self._ledger.host_named(name)

    def free_at(self, name: str, now: float) -> float:
        """Return when the host may be requested next; infinity: after one of its requests has ended."""
        host = self.host(name)
        if host is None:
            own = self._own.get(name)
            if own is None or not self._politeness.per_host:
                return -math.inf
            return math.inf if own.n_open >= self._politeness.connections else own.not_before
        if self._ledger.crawl.stopped_because is not None and self._frontier.is_snoozed_indefinitely(host):
            # It waits for hosts that share its slot, and the stopped crawl will not request those.
            self._frontier.wake(host)
            self._frontier.snooze(host, now + self._politeness.delay_s)
        return self._frontier.slot_free_at(host)

    def take(self, name: str, now: float) -> TakenSlot | None:
        """Take a slot of the host; None if it has none free now."""
        host = self.host(name)
        if self.free_at(name, now) > now:
            return None
        taken = TakenSlot(name, host)
        if host is None:
            self._own.setdefault(name, _OwnSlot(delay_s=self._politeness.delay_s)).n_open += 1
        else:
            self._take_crawl_slot(taken, host, now)
        self._taken.append(taken)
        return taken

    def _take_crawl_slot(self, taken: TakenSlot, host: int, now: float) -> None:
        slot = self._frontier.take_slot(host, now)
        if slot is not None:
            taken.host, taken.slot = host, slot
            self._slots.request_started(host)

    def end(self, taken: TakenSlot, now: float) -> None:
        """Release the slot after its request; the crawl delay begins now."""
        self._taken.remove(taken)
        if taken.host is None:
            own = self._own.get(taken.name)
            if own is not None:
                own.n_open -= 1
                own.not_before = max(own.not_before, now + own.delay_s)
            return
        self._frontier.end_slot(taken.slot, now)
        self._slots.request_ended(taken.host, False)
        if self._slots.is_shared(taken.host):
            self._slots.keep_delay(taken.host, now)

    def snooze(self, name: str, until: float) -> None:
        """Send no request to the host before `until`; ignored for a shared slot, to spare the other hosts."""
        host = self.host(name)
        if host is None:
            own = self._own.setdefault(name, _OwnSlot(delay_s=self._politeness.delay_s))
            own.not_before = max(own.not_before, until)
        elif not self._slots.is_shared(host):
            self._frontier.snooze(host, until)

    def keep_delay(self, name: str, delay_s: float | None) -> None:
        """Apply the crawl delay of the host's robots.txt."""
        if delay_s is None or delay_s <= self._politeness.delay_s:
            return
        host = self.host(name)
        if host is None:
            self._own.setdefault(name, _OwnSlot()).delay_s = delay_s
        elif not self._slots.is_shared(host):
            self._frontier.set_delay(host, delay_s)

    def adopt(self, now: float) -> None:
        """Move slots to the frontier for hosts that have been added to the crawl since the last call."""
        if self._ledger.seen.n_hosts == self._n_hosts:
            return
        self._n_hosts = self._ledger.seen.n_hosts
        for name in [name for name in self._own if self.host(name) is not None]:
            own, host = self._own.pop(name), self.host(name)
            assert host is not None
            for taken in [taken for taken in self._taken if taken.name == name and taken.host is None]:
                self._take_crawl_slot(taken, host, math.inf)
            if own.not_before > now:
                self._frontier.snooze(host, own.not_before)
            self.keep_delay(name, own.delay_s)
