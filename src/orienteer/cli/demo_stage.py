"""What the parts of the demo share: the web, the folders, and how things are said."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any

from orienteer.cli import display
from orienteer.cli.running import say

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from orienteer.fake_web.community.site import CommunitySite
    from orienteer.fake_web.server import FakeWeb
    from orienteer.live.figures import Figures
    from orienteer.live.session import Report
    from orienteer.progress import Progress

_PATIENCE_S = 3.0


@dataclass(frozen=True)
class Stage:
    """Where the demo takes place. `folder` is that of the crawl, `scratch` for what is not kept."""

    site: CommunitySite
    web: FakeWeb
    scratch: Path
    folder: Path
    out: Console = field(default_factory=display.console)

    @property
    def home(self) -> str:
        """The page that everybody knows."""
        from orienteer.fake_web.community.addresses import HOME
        from orienteer.fake_web.community.site import seen_at

        return seen_at(HOME, self.web.port)

    @property
    def fetch(self) -> dict[str, Any]:
        """How this web is reached; said to every command, since not every user has a place where that can be kept."""
        return {"connect_to": self.web.address}

    def settings(self, **crawl: Any) -> dict[str, dict[str, Any]]:
        """A crawl of this web: quick, since it is ours, and written down often, since it will be killed."""
        return {
            "crawl": {"commit_every_s": 0.1, "log": False, **crawl},
            "politeness": {"delay_s": 0.004, "connections": 4},
            "fetch": self.fetch,
        }

    def short(self, url: str) -> str:
        """A URL as it is told: without what all of them share."""
        return url.removeprefix("http://").replace(f":{self.web.port}/", "/", 1)

    def begin(self, heading: str) -> None:
        self.out.print(f"[bold]{heading}[/bold]\n")

    def say(self, text: str) -> None:
        """A paragraph."""
        self.out.print(text + "\n")

    def line(self, text: str) -> None:
        """A line that is not broken: there is a command in it."""
        self.out.print(text, soft_wrap=True)

    def show(self, table: RenderableType) -> None:
        self.out.print(table)

    @contextmanager
    def working(self) -> Iterator[Progress]:
        """While something is done and nothing said: a bar; where the compiler keeps it waiting, a line that says so."""
        timer = Timer(_PATIENCE_S, say, ["preparing…"])
        timer.daemon = True
        timer.start()
        try:
            with display.progress_bar() as progress:

                def moving(what: str, done: int, total: int) -> None:
                    timer.cancel()
                    progress(what, done, total)

                yield moving
        finally:
            timer.cancel()

    def crawl(self, what: str, folder: Path, seeds: str | Sequence[str], **options: Any) -> Report:
        """A crawl of the town's hosts."""
        from orienteer.live.session import live_crawl

        with self.working() as progress:
            return live_crawl(seeds, folder, scope="site", watch=watching(progress, what), **options)


def watching(progress: Progress, what: str) -> Callable[[Figures], None]:
    """Shows how a crawl gets on."""

    def watch(figures: Figures) -> None:
        progress(what, figures.n_done, 0)

    return watch
