"""`orienteer demo`: a tour from seeds to search, on the web of a small town served on loopback."""

from __future__ import annotations

import shlex
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any

import typer

from orienteer.cli import display
from orienteer.cli.command import RESEARCH, command
from orienteer.cli.running import say
from orienteer.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from orienteer.fake_web.server import TownServer
    from orienteer.fake_web.site import TownSite
    from orienteer.inspect.figures import CrawlFigures
    from orienteer.inspect.run_report import Report
    from orienteer.progress import Progress

_PORT = 8642
_TIMEOUT_S = 3.0


@command(RESEARCH)
def demo(
    serve: bool = typer.Option(False, "--serve", help="Afterwards, serve the town and the crawl in the browser."),
    output: Path | None = typer.Option(
        None, "--output", "-o", metavar="DIR", help="Keep the crawl in this folder, which must be new or empty."
    ),
    serve_only: bool = typer.Option(False, "--serve-only", help="Only serve the town, for you to crawl."),
) -> None:
    """Take a tour of seeds, crawl, refresh, rank and search, on the web of a small town served on loopback.

    Nothing leaves this machine. With --serve, the town and the crawl stay open in the browser until Ctrl-C. With
    --serve-only, there is no tour: the town is served until Ctrl-C, to be crawled from another terminal.

    Example: [bold]orienteer demo --serve[/bold]
    """
    if serve_only and (serve or output is not None):
        raise InputError("--serve-only serves only the town; leave out --serve and --output")
    if output is not None and output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise InputError(f"--output {output}: not empty; name a new folder")
    from orienteer.fake_web.site import TownSite

    site = TownSite()
    if serve_only:
        _serve_town(site)
        return
    with tempfile.TemporaryDirectory(prefix="orienteer-demo-") as scratch, _served(site) as web:
        stage = Stage(site, web, Path(scratch), output or Path(scratch) / "crawl")
        with display.ignore_broken_pipe():
            _run_tour(stage)
            _print_next_steps(stage, output, serve)
        if serve:
            from orienteer.cli.serve import ServeAddress, show

            show(stage.folder, ServeAddress())


@contextmanager
def _served(site: TownSite) -> Iterator[TownServer]:
    """Serve the town on a fixed port, so that a stored crawl finds it again; on any free port if it is in use."""
    from orienteer.fake_web.server import TownServer

    try:
        server = TownServer(site, _PORT)
    except OSError:
        server = TownServer(site)
    with server:
        yield server


def _serve_town(site: TownSite) -> None:
    """Serve the town until Ctrl-C, which is the normal end: exit code 0."""
    from orienteer.cli.interruption import Interrupted
    from orienteer.fake_web.site import HOME, url_at_port

    with _served(site) as web:
        home = url_at_port(HOME, web.port)
        print(f"Quillhaven, a town of {len(site.town_urls()):,} pages, is open at {home}")
        print("Crawl it from another terminal, with no need to wait between requests; Ctrl-C here closes it:")
        print(f"orienteer crawl {home} --scope site --until 0.98 -o town --allow-private --delay 0.01", flush=True)
        with suppress(Interrupted):
            while True:
                time.sleep(0.5)  # a signal that arrives just before the call must not wait for long


def _run_tour(stage: Stage) -> None:
    from orienteer.cli import demo_chapters

    _introduce(stage)
    start = demo_chapters.choose_seeds(stage)
    demo_chapters.crawl_and_compare(stage, start)
    demo_chapters.refresh_again(stage)
    demo_chapters.estimate_global_rank(stage)
    demo_chapters.search_in_three_orders(stage)


def _introduce(stage: Stage) -> None:
    from orienteer.fake_web.site import is_of_town

    urls = stage.site.urls()
    is_town = {url.split("/")[2]: is_of_town(url) for url in urls}
    n_town = sum(is_town.values())
    stage.say(
        f"This is the web of Quillhaven, a town that does not exist: {n_town} hosts of its own (the town hall, the "
        f"newspaper, library, school, market, museum and others), and {len(is_town) - n_town} other hosts that write "
        f"about it. It has {len(urls):,} pages, and a calendar that never ends. It is served on loopback; nothing "
        "leaves this machine."
    )


def _print_next_steps(stage: Stage, output: Path | None, serve: bool) -> None:
    from rich.markup import escape

    stage.begin("6. See it in the browser")
    if serve:
        stage.say(f"The town itself: {stage.home}   The crawl of it:")
        return
    commands = [("orienteer demo --serve", "the same, and the pages stay open")]
    if output is not None:
        folder = shlex.quote(str(output))
        commands = [
            (f"orienteer serve {folder}", "search this crawl, see its hosts"),
            ("orienteer demo --serve-only", "the town, so that results open"),
            (f"orienteer status {folder}", "the crawl in figures"),
        ]
    width = max(len(typed) for typed, _ in commands)
    for typed, why in commands:
        stage.line(f"   [bold]{escape(typed.ljust(width))}[/bold]   [dim]{why}[/dim]")


@dataclass(frozen=True)
class Stage:
    """The web and the folders of the demo. `folder` is the crawl folder, `scratch` is temporary."""

    site: TownSite
    web: TownServer
    scratch: Path
    folder: Path
    out: Console = field(default_factory=display.console)

    @property
    def home(self) -> str:
        """The URL of the town's home page."""
        from orienteer.fake_web.site import HOME, url_at_port

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
