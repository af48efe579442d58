"""Predict when the downloader would send a request to a host, by its own delays and limits. A host is a download slot.

The downloader accepts any request and queues it in its slot, where it counts towards CONCURRENT_REQUESTS and keeps out
requests to other hosts. So a request is given to the engine only when its slot is free. The delay of a slot is drawn at
random: hosts whose longest delay is over come first, then those whose shortest delay is over.
"""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import NamedTuple

from scrapy import Request
from scrapy.core.downloader import Downloader


class Wait(NamedTuple):
    """The time until a request to a host would be sent, at least and at most; infinite until another one has ended."""

    min_s: float
    max_s: float


class Slots:
    """The number of requests that were given to the engine and have not left the downloader, by slot."""

    def __init__(self, downloader: Downloader) -> None:
        self._downloader = downloader
        self._n_active: Counter[str] = Counter()

    def name(self, request: Request) -> str:
        return self._downloader.get_slot_key(request)

    def enter(self, name: str) -> None:
        self._n_active[name] += 1

    def leave(self, name: str) -> None:
        self._n_active[name] -= 1
        if self._n_active[name] <= 0:
            del self._n_active[name]

    def wait(self, name: str, now: float) -> Wait:
        n_active = self._n_active[name]
        concurrency, delay_s, jitter, n_sent, last_sent = self._state(name)
        if n_active >= max(concurrency, 1):
            return Wait(inf, inf)
        if delay_s <= 0:
            return Wait(0.0, 0.0)
        past_s = 0.0 if n_active > n_sent else now - last_sent  # a request that was not sent yet will be the next
        return Wait(delay_s * max(1 - jitter, 0.0) - past_s, delay_s * (1 + jitter) - past_s)

    def _state(self, name: str) -> tuple[int, float, float, int, float]:
        """Return concurrency, delay, jitter, requests in flight, and the time when the last one was sent."""
        slot = self._downloader.slots.get(name)
        if slot is not None:
            return slot.concurrency, slot.delay, slot.jitter, len(slot.transferring), slot.lastseen
        # The downloader creates the slot with its first request.
        own = self._downloader.per_slot_settings.get(name, {})
        concurrency = own.get("concurrency", self._downloader.domain_concurrency)
        return concurrency, own.get("delay", self._downloader.settings.getfloat("DOWNLOAD_DELAY")), 0.0, 0, -inf
