"""Which pages of a crawl are rendered in a browser, and how."""

from __future__ import annotations

from dataclasses import dataclass

from orienteer.errors import InputError
from orienteer.settings import check, setting

_MODES = ("auto", "never", "always")


@dataclass(frozen=True)
class RenderSettings:
    """Which pages are rendered in a browser, and how. Limits of time do not count the wait for assets."""

    mode: str = setting(
        "auto",
        "Pages to render in a browser: auto (those that scripts build), never, always, or a URL pattern such as "
        "https://example.org/app/*.",
        option="--render", metavar="auto|never|always|PATTERN", group="Network", basic=True,
    )  # fmt: skip
    scrolls: int = setting(
        2, "Scroll a page, or press its button for more, up to this often while it loads more.", least=0, most=1_000
    )
    screenshots: bool = setting(False, "Store a screenshot of each rendered page.")
    max_share: float = setting(0.5, "With auto: the largest share of pages to render.", least=0, most=1)
    max_pages: int = setting(100_000, "Maximum number of pages to render.", least=0)
    time_s: float = setting(10.0, "Seconds for a page.", least=0.1, most=600)
    cpu_s: float = setting(20.0, "Seconds of computing for a page.", least=0.1, most=600)
    max_requests: int = setting(200, "Maximum number of requests of a page.", least=0)
    max_bytes: int = setting(50 << 20, "Maximum size of their responses together, in bytes.", least=0)

    def __post_init__(self) -> None:
        if self.mode not in _MODES and "/" not in self.mode:
            raise InputError(f"render mode is {self.mode!r}; write auto, never, always, or a pattern with a * in a URL")
        check(self)
