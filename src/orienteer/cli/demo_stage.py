"""What the chapters of the demo share: the web, the folders and the console."""

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
    from orienteer.inspect.figures import CrawlFigures
    from orienteer.inspect.run_report import Report
    from orienteer.progress import Progress

_TIMEOUT_S = 3.0


@dataclass(frozen=True)
class Stage:
    """The web and the folders of the demo. `folder` is the crawl folder, `scratch` is temporary."""

    site: CommunitySite
    web: FakeWeb
    scratch: Path
    folder: Path
    out: Console = field(default_factory=display.console)

    @property
    def home(self) -> str:
        """The URL of the town's home page."""
        from orienteer.fake_web.community.addresses import HOME
        from orienteer.fake_web.community.site import url_at_port

        return url_at_port(HOME, self.web.port)

    @property
    def fetch(self) -> dict[str, Any]:
        """Fetch settings that reach this web, passed to every command."""
        return {"connect_to": self.web.address}

    def settings(self, **crawl: Any) -> dict[str, dict[str, Any]]:
        """Settings of a crawl of this web: fast, since it is ours, with frequent commits, since it will be killed."""
        return {
            "crawl": {"commit_every_s": 0.1, "log": False, **crawl},
            "politeness": {"delay_s": 0.004, "connections": 4},
            "fetch": self.fetch,
        }

    def short(self, url: str) -> str:
        """Shorten a URL for display: drop the scheme and the port."""
        return url.removeprefix("http://").replace(f":{self.web.port}/", "/", 1)

    def begin(self, heading: str) -> None:
        self.out.print(f"[bold]{heading}[/bold]\n")

    def say(self, text: str) -> None:
        """Print a paragraph."""
        self.out.print(text + "\n")

    def line(self, text: str) -> None:
        """Print a line with a command, unwrapped."""
        self.out.print(text, soft_wrap=True)

    def show(self, table: RenderableType) -> None:
        self.out.print(table)

    @contextmanager
    def working(self) -> Iterator[Progress]:
        """Show a progress bar during the block; print a line if compiling delays the first progress."""
        timer = Timer(_TIMEOUT_S, say, ["preparing…"])
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
        """Crawl the hosts of the town."""
        from orienteer.live.session import live_crawl

        with self.working() as progress:
            return live_crawl(seeds, folder, scope="site", watch=watching(progress, what), **options)


def watching(progress: Progress, what: str) -> Callable[[CrawlFigures], None]:
    """Return a callback that shows the progress of a crawl."""

    def watch(figures: CrawlFigures) -> None:
        progress(what, figures.n_done, 0)

    return watch
