"""`orienteer demo`: a tour from seeds to search, on the web of a small town served on loopback.

The tour is a list of chapters: what happens and why, and the commands that do it, as anyone may type them.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from orienteer.cli import display
from orienteer.cli.command import RESEARCH, command
from orienteer.errors import InputError, OrienteerError
from orienteer.wording import counted

if TYPE_CHECKING:
    from orienteer.fake_web.server import TownServer
    from orienteer.fake_web.site import TownSite

_PORT = 8642
_KILLED_AFTER = 400  # requests: some pages are committed by then, and the crawl has not finished
_KILL = "kill -9: "  # before a command that is killed
_QUICK = "--allow-private --delay 0.004 --connections 4 --workers 8"  # this web is our own
_CRAWL = f"crawl --seeds-from first-look --n-seeds 5 --seed-hops 3 --seed-trust value --scope site --until 98% {_QUICK}"


class Chapter(NamedTuple):
    """A part of the tour. In commands, HOME is the home page of the town, and TOWN the folder of its crawl."""

    heading: str
    text: str
    commands: tuple[str, ...]


_TOUR = (
    Chapter(
        "1. Where to start",
        "A first look at 300 pages, from the home page of the town hall. Of the pages seen then, five are chosen that "
        "reach the most within three links.",
        (
            f"crawl HOME --scope site --budget 300 {_QUICK} --quiet -o first-look",
            "seeds first-look -k 5 --hops 3 --value paper",
        ),
    ),
    Chapter(
        "2. What to fetch next, and when to stop",
        "A crawl from such seeds, each trusted for what it adds, until 98 % of what their surfer sees is fetched: "
        "measured by random walks, or proved, whichever comes first. It is killed midway, and continued by the command "
        "after it. The town has a calendar that never ends: nothing is done about it, and the crawl is not lost there. "
        "The last command shows what the simplest order, breadth-first, needs for the same.",
        (
            f"{_KILL}{_CRAWL} --set crawl.commit_every_s=0.1 --quiet -o TOWN",
            "crawl TOWN --quiet",
            f"{_CRAWL} --policy breadth-first --budget 8000 --set crawl.archive=false --quiet -o breadth-first",
        ),
    ),
    Chapter(
        "3. A week later",
        "A refresh chooses new seeds from the known pages, and requests the pages that may have changed; a server may "
        "respond that a page has not. Pages that were known but not needed before count as new, too.",
        ("refresh TOWN --budget 8000 --quiet", "changes TOWN --epoch 1 --limit 8"),
    ),
    Chapter(
        "4. Rank in the whole web",
        "What are the town's pages worth in the whole web? Some pages outside it are fetched, the most influential "
        "ones first.",
        ("estimate TOWN --budget 700 --rounds 20 --top 4 --quiet",),
    ),
    Chapter(
        "5. Search",
        "The same query ranked in three ways: by words alone, with the links inside the town, and with the links of "
        "the whole web.",
        ("index TOWN", *(f"search TOWN bridge --rank {rank} -n 2" for rank in ("text", "local", "global"))),
    ),
)


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
        town = "town" if output is None else str(output.absolute())
        with display.ignore_broken_pipe():
            Tour(site, web, Path(scratch), town).run()
            print_next_steps(_home(web), output, serve)
        if serve:
            from orienteer.cli.serve import ServeAddress, show

            show(Path(scratch) / town, ServeAddress())


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

    with _served(site) as web:
        home = _home(web)
        print(f"Quillhaven, a town of {len(site.town_urls()):,} pages, is open at {home}")
        print("Crawl it from another terminal, with no need to wait between requests; Ctrl-C here closes it:")
        print(f"orienteer crawl {home} --scope site --until 0.98 -o town --allow-private --delay 0.01", flush=True)
        with suppress(Interrupted):
            while True:
                time.sleep(0.5)  # a signal that arrives just before the call must not wait for long


def _home(web: TownServer) -> str:
    """Return the URL of the town's home page."""
    from orienteer.fake_web.site import HOME, url_at_port

    return url_at_port(HOME, web.port)


class Tour(NamedTuple):
    """A tour of the town on this web, in a temporary folder; `town` is the path of the crawl from there."""

    site: TownSite
    web: TownServer
    scratch: Path
    town: str

    def run(self) -> None:
        from orienteer.fake_web.site import is_of_town

        hosts = {url.split("/")[2]: is_of_town(url) for url in self.site.urls()}
        _say(
            f"This is the web of Quillhaven, a town that does not exist: {sum(hosts.values())} hosts of its own (the "
            f"town hall, the newspaper, library, school, market, museum and others), and "
            f"{len(hosts) - sum(hosts.values())} other hosts that write about it. It has {len(self.site.urls()):,} "
            "pages, and a calendar that never ends. It is served on loopback; nothing leaves this machine."
        )
        for chapter in _TOUR:
            _say(f"[bold]{chapter.heading}[/bold]")
            _say(chapter.text)
            if chapter.heading.startswith("3."):
                n_new, n_edited, n_deleted = map(len, self.site.pass_a_week())
                _say(f"A week passes: {n_new} pages are new, {n_edited} have changed, {n_deleted} are gone.")
            for typed in chapter.commands:
                words = typed.removeprefix(_KILL).replace("HOME", _home(self.web)).replace("TOWN", self.town)
                display.console().print(f"[bold]$ orienteer {words}[/bold]", soft_wrap=True)
                sys.stdout.flush()
                self._run(words, is_killed=typed.startswith(_KILL))
                display.console().print()

    def _run(self, words: str, is_killed: bool) -> None:
        """Run a command; if it is to be killed, after some requests."""
        argv = [sys.executable, "-P", "-m", "orienteer", *shlex.split(words)]
        n_before = len(self.web.requests)
        with subprocess.Popen(argv, cwd=self.scratch) as process:
            try:
                while is_killed and process.poll() is None and len(self.web.requests) < n_before + _KILLED_AFTER:
                    time.sleep(0.01)
                is_killed = is_killed and process.poll() is None
            finally:
                if is_killed or sys.exc_info()[0] is not None:
                    process.kill()
        if is_killed:
            print(f"Killed, after {counted(len(self.web.requests) - n_before, 'request')}.", flush=True)
        elif process.returncode not in (0, 3):
            raise OrienteerError(f"orienteer {words}: exit code {process.returncode}")


def print_next_steps(home: str, output: Path | None, serve: bool) -> None:
    from rich.markup import escape

    _say("[bold]6. See it in the browser[/bold]")
    if serve:
        _say(f"The town itself: {home}   The crawl of it:")
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
        display.console().print(f"   [bold]{escape(typed.ljust(width))}[/bold]   [dim]{why}[/dim]", soft_wrap=True)


def _say(text: str) -> None:
    """Print a paragraph."""
    display.console().print(text + "\n")
    sys.stdout.flush()
