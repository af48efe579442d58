"""A fake web that falls silent in the middle of a crawl, so that a test can kill the crawl at a known moment."""

from __future__ import annotations

import threading
from dataclasses import replace

from orienteer.fake_web.answers import Answer
from orienteer.fake_web.site import RequestHeaders, Site
from tests.faults.crawl_process import CrawlProcess
from tests.ready_process import PATIENCE_S

_FOR_EVER_S = 3600.0
_LOOK_EVERY_S = 0.05


class Gate(Site):
    """Another site, which answers so many requests and then none, until it is opened again."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._n_left: int | None = None  # requests that are answered; None: all
        self._is_reached = threading.Event()

    def close_after(self, n_requests: int) -> None:
        self._is_reached.clear()
        self._n_left = n_requests

    def open(self) -> None:
        self._n_left = None

    def answer(self, host: str, target: str, headers: RequestHeaders) -> Answer:
        answer = self._site.answer(host, target, headers)
        if self._n_left is None:
            return answer
        if self._n_left == 0:
            self._is_reached.set()
            return replace(answer, delay_s=_FOR_EVER_S)
        self._n_left -= 1
        return answer

    def kill_at(self, process: CrawlProcess) -> None:
        """`kill -9` when the crawl waits at the closed gate; an AssertionError if it ends before it gets there."""
        for _ in range(int(PATIENCE_S / _LOOK_EVERY_S)):
            if self._is_reached.wait(_LOOK_EVERY_S):
                return process.kill()
            assert process.poll() is None, process.ended()
        raise AssertionError("the crawl never came to the gate")
