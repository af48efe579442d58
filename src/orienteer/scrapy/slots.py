"""Which hosts may be asked, by the downloader's own delays and limits. Hosts are Scrapy's download slots.

The downloader takes any request and lets it wait in its slot; but then it takes up a place among CONCURRENT_REQUESTS
in which another host could have been asked. So a request is handed out when its slot is free: at once, if the delay is
sure to be over; if no host is sure, one whose delay, which is drawn at random, could be over.
"""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import NamedTuple

from scrapy import Request
from scrapy.core.downloader import Downloader


class Wait(NamedTuple):
    """How long until a request to a host would be sent, at least and at most; infinite until another has ended."""

    least_s: float
    most_s: float


class Slots:
    """The requests that were handed out and have not left the downloader, by slot."""

    def __init__(self, downloader: Downloader) -> None:
        self._downloader = downloader
        self._n_there: Counter[str] = Counter()

    def name(self, request: Request) -> str:
        return self._downloader.get_slot_key(request)

    def enter(self, name: str) -> None:
        self._n_there[name] += 1

    def leave(self, name: str) -> None:
        self._n_there[name] -= 1
        if self._n_there[name] <= 0:
            del self._n_there[name]

    def wait(self, name: str, now: float) -> Wait:
        n_there = self._n_there[name]
        concurrency, delay_s, jitter, n_sent, last_sent = self._state(name)
        if n_there >= max(concurrency, 1):
            return Wait(inf, inf)
        if delay_s <= 0:
            return Wait(0.0, 0.0)
        past_s = 0.0 if n_there > n_sent else now - last_sent  # one that is not sent yet goes first
        return Wait(delay_s * max(1 - jitter, 0.0) - past_s, delay_s * (1 + jitter) - past_s)

    def _state(self, name: str) -> tuple[int, float, float, int, float]:
        """Concurrency, delay, jitter, requests under way, and when the last one was sent."""
        slot = self._downloader.slots.get(name)
        if slot is not None:
            return slot.concurrency, slot.delay, slot.jitter, len(slot.transferring), slot.lastseen
        # The downloader makes it when a request gets there.
        own = self._downloader.per_slot_settings.get(name, {})
        concurrency = own.get("concurrency", self._downloader.domain_concurrency)
        return concurrency, own.get("delay", self._downloader.settings.getfloat("DOWNLOAD_DELAY")), 0.0, 0, -inf
