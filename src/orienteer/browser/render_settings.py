"""Which pages of a crawl are rendered in a browser, and how."""

from __future__ import annotations

from dataclasses import dataclass

from orienteer.errors import InputError

_MODES = ("auto", "never", "always")


@dataclass(frozen=True)
class RenderSettings:
    """`mode` is "auto", "never", "always", or a pattern of URLs, such as "https://example.org/app/*".

    With "auto" pages that scripts seem to build are rendered, and those that gain links or words by it, judged by
    samples: at most `max_share` of all pages. `max_pages` is the limit of any mode.

    A page is scrolled `scrolls` times, while that loads more; a "more" button counts as one. `screenshots` stores an
    image of each page. A page has `time_s` seconds, not counting the wait for its assets, `cpu_s` seconds of
    computing, and `max_requests` requests of at most `max_bytes` together.
    """

    mode: str = "auto"
    scrolls: int = 2
    screenshots: bool = False
    max_share: float = 0.5
    max_pages: int = 100_000
    time_s: float = 10.0
    cpu_s: float = 20.0
    max_requests: int = 200
    max_bytes: int = 50 << 20

    def __post_init__(self) -> None:
        if self.mode not in _MODES and "/" not in self.mode:
            raise InputError(f"render mode is {self.mode!r}; write auto, never, always, or a pattern with a * in a URL")
        if not 0 <= self.scrolls <= 1_000:
            raise InputError(f"scrolls is {self.scrolls}; it must be from 0 to 1,000")
        if not 0 <= self.max_share <= 1:
            raise InputError(f"max_share is {self.max_share}; it must be from 0 to 1")
        for name in ("max_pages", "max_requests", "max_bytes"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} is {getattr(self, name)}; it must be 0 or more")
        for name in ("time_s", "cpu_s"):
            if not 0.1 <= getattr(self, name) <= 600:
                raise InputError(f"{name} is {getattr(self, name)}; it must lie between 0.1 and 600 seconds")
