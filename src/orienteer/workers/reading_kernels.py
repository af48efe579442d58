"""The kernels that a process needs to parse pages; the coordinator compiles them.

A worker process does not compile them: each would repeat the same work while its requests are in flight. It runs them
as plain Python until they are in the cache.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from orienteer import kernel_folder
from orienteer.extract import near_duplicates
from orienteer.extract.page import Page, extract_page
from orienteer.kernel import NotCompiled, never_waiting, only_loading, substituted

_URL = "http://a.example/"
_PAGE = b"<title>A</title><a href=/1>b</a><a href=/2>c</a><a href=/3>d</a><p>" + b" ".join(
    b"%d" % k for k in range(200)
)
_MIN_CHECK_INTERVAL_S, _MAX_CHECK_INTERVAL_S = 1.0, 16.0  # doubled after each check of the cache


def warm_up_reading() -> tuple[Page, bytes]:
    """Parse a page as a worker does, so that each kernel is called once; return the page and its signature."""
    page = extract_page(_PAGE, _URL)
    signature = near_duplicates.signature(page.text)
    assert signature is not None
    return page, signature


@contextmanager
def reading_kernels() -> Iterator[None]:
    """Load the kernels from the cache, now or when they appear there; meanwhile they run as plain Python."""
    if kernel_folder.folder() is None:  # without a cache each process compiles its own
        warm_up_reading()
        yield
        return
    with substituted(_CachePoller()), never_waiting():
        yield


class _CachePoller:
    """Polls the cache of compiled kernels."""

    def __init__(self) -> None:
        self._is_loaded = False
        self._wait_s = _MIN_CHECK_INTERVAL_S
        self._next_check = 0.0

    def poll(self) -> bool | None:
        if not self._is_loaded and time.monotonic() >= self._next_check:
            self._load()
        return self._is_loaded or None

    def wait(self) -> None:
        raise NotImplementedError("a worker never waits for the kernels")

    def _load(self) -> None:
        self._next_check = time.monotonic() + self._wait_s
        self._wait_s = min(2 * self._wait_s, _MAX_CHECK_INTERVAL_S)
        folder = kernel_folder.folder()
        if folder is None or not any(folder.iterdir()):
            return
        try:
            with only_loading():
                warm_up_reading()
        except NotCompiled:
            return
        self._is_loaded = True
