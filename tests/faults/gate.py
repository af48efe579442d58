"""A fake web that stops responding during a crawl, so that a test can kill the crawl at a known moment."""

from __future__ import annotations

import threading
from dataclasses import replace

from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.site import RequestHeaders, Site
from tests.faults.crawl_process import CrawlProcess
from tests.ready_process import TEST_TIMEOUT_S

_FOR_EVER_S = 3600.0
_POLL_EVERY_S = 0.05


class Gate(Site):
    """Wraps a site; responds to a number of requests, then to none, until it is opened again."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._n_left: int | None = None  # remaining requests with a response; None: no limit
        self._is_reached = threading.Event()

    def close_after(self, n_requests: int) -> None:
        self._is_reached.clear()
        self._n_left = n_requests

    def open(self) -> None:
        self._n_left = None

    def response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        response = self._site.response(host, target, headers)
        if self._n_left is None:
            return response
        if self._n_left == 0:
            self._is_reached.set()
            return replace(response, delay_s=_FOR_EVER_S)
        self._n_left -= 1
        return response

    def kill_at(self, process: CrawlProcess) -> None:
        """`kill -9` when the crawl waits at the closed gate; AssertionError if it ends before."""
        for _ in range(int(TEST_TIMEOUT_S / _POLL_EVERY_S)):
            if self._is_reached.wait(_POLL_EVERY_S):
                return process.kill()
            assert process.poll() is None, process.ended()
        raise AssertionError("the crawl never reached the gate")
