"""`orienteer demo`: what Orienteer can do, end to end, on the web of a small town served on loopback."""

from __future__ import annotations

import shlex
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orienteer.cli import display
from orienteer.errors import InputError

if TYPE_CHECKING:
    from orienteer.cli.demo_stage import Stage
    from orienteer.fake_web.community.site import CommunitySite
    from orienteer.fake_web.server import FakeWeb

_PORT = 8642


def demo(
    serve: bool = typer.Option(False, "--serve", help="Then keep serving the town and the pages in the browser."),
    keep: Path | None = typer.Option(None, metavar="DIR", help="Keep the crawl in this folder, which must be new."),
    town: bool = typer.Option(False, "--town", help="Serve the town, and nothing else: to crawl it yourself."),
) -> None:
    """Show everything on the web of a small town, served on loopback: seeds, crawl, refresh, rank, search.

    Nothing leaves this machine. With --serve you can look at everything in the browser afterwards, until Ctrl-C. With
    --town nothing is shown: the town is served until Ctrl-C, for commands that you type in another terminal.

    Example: [bold]orienteer demo --serve[/bold]
    """
    if town and (serve or keep is not None):
        raise InputError("--town serves the town alone; leave out --serve and --keep")
    if keep is not None and keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise InputError(f"--keep {keep}: there is something already; name a new folder")
    from orienteer.cli.demo_stage import Stage
    from orienteer.fake_web.community.site import CommunitySite

    site = CommunitySite()
    if town:
        _serve_town(site)
        return
    with tempfile.TemporaryDirectory(prefix="orienteer-demo-") as scratch, _served(site) as web:
        stage = Stage(site, web, Path(scratch), keep or Path(scratch) / "crawl")
        with display.ignore_broken_pipe():
            _tell(stage)
            _say_how_to_see_it(stage, keep, serve)
        if serve:
            from orienteer.cli.serve import Place, show

            show(stage.folder, Place())


@contextmanager
def _served(site: CommunitySite) -> Iterator[FakeWeb]:
    """The town on a port of its own, so that a crawl that is kept finds it again; on any where that is taken."""
    from orienteer.fake_web.changing import ChangingSite
    from orienteer.fake_web.server import FakeWeb

    changing = ChangingSite(site, "etag")
    with ExitStack() as stack:
        try:
            web = stack.enter_context(FakeWeb(changing, _PORT))
        except InputError:
            web = stack.enter_context(FakeWeb(changing))
        yield web


def _serve_town(site: CommunitySite) -> None:
    """The town until Ctrl-C, which is how one ends it: no goal is missed by that."""
    from orienteer.cli.interruption import Interrupted
    from orienteer.fake_web.community.addresses import HOME
    from orienteer.fake_web.community.site import seen_at

    with _served(site) as web:
        home = seen_at(HOME, web.port)
        print(f"Quillhaven, a town of {len(site.town_urls()):,} pages, is open at {home}")
        print("Crawl it from another terminal, with no need to wait between requests; Ctrl-C here closes it:")
        print(f"orienteer crawl {home} --scope site --until 0.98 -o town --allow-private --delay 0.01", flush=True)
        with suppress(Interrupted):
            threading.Event().wait()


def _tell(stage: Stage) -> None:
    from orienteer.cli import demo_crawl, demo_world

    _introduce(stage)
    start = demo_crawl.choose_seeds(stage)
    demo_crawl.crawl_and_compare(stage, start)
    demo_crawl.look_again(stage)
    demo_world.ask_the_world(stage)
    demo_world.search_in_three_orders(stage)


def _introduce(stage: Stage) -> None:
    from orienteer.fake_web.community.site import is_of_town

    urls = stage.site.urls()
    is_town = {url.split("/")[2]: is_of_town(url) for url in urls}
    n_town = sum(is_town.values())
    stage.say(
        f"This is the web of Quillhaven, a town that does not exist: {n_town} hosts of its own (the town hall, the "
        f"newspaper, library, school, market, museum and others), and {len(is_town) - n_town} elsewhere that write "
        f"about it. It has {len(urls):,} pages, and a calendar that never ends. It is served on loopback; nothing "
        "leaves this machine."
    )


def _say_how_to_see_it(stage: Stage, keep: Path | None, serve: bool) -> None:
    from rich.markup import escape

    stage.begin("6. See it in the browser")
    if serve:
        stage.say(f"The town itself: {stage.home}   The crawl of it:")
        return
    commands = [("orienteer demo --serve", "the same, and the pages stay open")]
    if keep is not None:
        folder = shlex.quote(str(keep))
        commands = [
            (f"orienteer serve {folder}", "search this crawl, see its hosts"),
            (f"python -m orienteer.fake_web --community --port {stage.web.port}", "the town, so that results open"),
            (f"orienteer status {folder}", "the crawl in figures"),
        ]
    width = max(len(command) for command, _ in commands)
    for command, why in commands:
        stage.line(f"   [bold]{escape(command.ljust(width))}[/bold]   [dim]{why}[/dim]")
