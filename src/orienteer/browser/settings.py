"""Settings of the browser: the program and its limits."""

from __future__ import annotations

from dataclasses import dataclass

from orienteer.errors import InputError


@dataclass(frozen=True)
class BrowserSettings:
    """`path` is the program, detected if empty. `tabs` pages are rendered in parallel. The browser is restarted if it
    takes more than `max_memory_mb`, and after `restart_after` pages."""

    path: str = ""
    tabs: int = 2
    max_memory_mb: int = 2_000
    restart_after: int = 500

    def __post_init__(self) -> None:
        for name, least, most in (("tabs", 1, 64), ("max_memory_mb", 200, 1_000_000), ("restart_after", 1, 1_000_000)):
            if not least <= getattr(self, name) <= most:
                raise InputError(f"{name} is {getattr(self, name)}; it must lie between {least} and {most:,}")
