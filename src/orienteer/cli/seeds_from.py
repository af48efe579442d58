"""`--seeds-from` of `orienteer crawl`: choose start pages from an earlier crawl or a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orienteer.cli import display
from orienteer.cli.wording import counted, plain
from orienteer.errors import InputError
from orienteer.progress import silent

if TYPE_CHECKING:
    from orienteer.live.start_pages import StartPages

Say = Callable[[str], None]

_NAMED = 3  # seeds in the one line about them
_URL_CHARS = 80
_OPTIONS = {
    "n_seeds": "--n-seeds",
    "hops": "--seed-hops",
    "method": "--seed-method",
    "value": "--seed-value",
    "trust_by": "--seed-trust",
}


class SeedsFrom:
    """Where and how to choose seeds. Options not given are None; invalid ones are refused at once."""

    def __init__(self, path: Path, given: dict[str, Any], say: Say | None) -> None:
        from orienteer.live.start_pages import StartSettings

        self.path = path
        self.settings = StartSettings(**_stated(given))
        self._say = say

    def chosen(self, named: Sequence[str]) -> StartPages:
        """Choose the seeds, after the named ones; report them and their coverage in one line."""
        from orienteer.live.start_pages import start_pages

        with display.progress_bar() as progress:
            start = start_pages(self.path, self.settings, progress if self._say else silent)
        if self._say:
            self._say(self._describe(start))
        return start.behind(named)

    def continued(self, folder: Path, text: str, named: Sequence[str]) -> None:
        """Check that an existing crawl with these settings starts with the named pages, and report its seeds."""
        from orienteer.ledger.plan import CrawlPlan

        seeds = CrawlPlan.parse(text, str(folder / "crawl.toml")).crawl.seeds
        first = seeds[: len(named)]
        if first != tuple(named):
            raise InputError(
                f"{folder}: this crawl was begun with seeds {', '.join(first)}, not {', '.join(named)}; choose another "
                "-o for a new crawl"
            )
        if self._say:
            self._say(
                f"{folder} holds a crawl: it is resumed from its {counted(len(seeds), 'seed')}, none is chosen again"
            )

    def _describe(self, start: StartPages) -> str:
        found = start.selection
        urls = [plain(url, _URL_CHARS) for url in start.seeds]
        n_more = len(urls) - _NAMED
        listed = ", ".join(urls[:_NAMED]) + f" and {n_more:,} more" * (n_more > 0)
        covered = f"{found.n_covered:,} of {counted(found.n_pages, 'page')}"
        return (
            f"{counted(len(urls), 'seed')} by {found.method}: {listed}; within {counted(found.hops, 'hop')} they cover "
            f"{covered} of {self.path} ({display.share(found.value, found.total_value)} of the value)"
        )


def seeds_from(path: Path | None, given: dict[str, Any], say: Say | None) -> SeedsFrom | None:
    """Return how to choose seeds; None if they are not to be chosen. `say`, if given, prints a line."""
    if path is not None:
        return SeedsFrom(path, given, say)
    for name in _stated(given):
        raise InputError(f"{_OPTIONS[name]} goes with --seeds-from only")
    return None


def _stated(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}
