"""`orienteer serve`: crawls in the browser; one folder, or a library of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from orienteer.cli import display
from orienteer.cli.library_option import LIBRARY, chosen_library
from orienteer.cli.running import say
from orienteer.cli.token_option import token_of
from orienteer.errors import InputError

if TYPE_CHECKING:
    from fastapi import FastAPI


def serve(
    folder: Path | None = typer.Argument(None, metavar="[DIR]", help="Crawl folder; without it, a library of crawls."),
    library: Path | None = LIBRARY,
    host: str = typer.Option("127.0.0.1", "--host", help="Address to listen on; one others can reach needs --token."),
    port: int = typer.Option(8765, "--port", help="Port; the next free one if it is taken, 0 for any."),
    token: str | None = typer.Option(None, "--token", help="Password for the pages; auto generates one."),
    compare: list[Path] = typer.Option(
        [],
        "--compare",
        metavar="FILE",
        help="Show this comparison, too: what `compare --json` printed; may be repeated. With DIR only.",
    ),
    archived_at: str | None = typer.Option(
        None,
        "--archived-at",
        metavar="ORIGIN",
        help="Where browsers find archived pages, if a web server is in front: an origin of its own.",
    ),
    allow_private: bool = typer.Option(
        False,
        "--allow-private",
        help="Let crawls be started at private and loopback addresses: on your own machine only.",
    ),
    open_browser: bool = typer.Option(False, "--open", help="Open the pages in the browser."),
    json: bool = typer.Option(False, "--json", help="Print the addresses as JSON, then serve."),
) -> None:
    """Show crawls in the browser: start them, search them, watch them, see a map of their hosts.

    Without DIR a library is shown: a folder of crawls, where new ones are started by pasting a URL, and old ones are
    refreshed, indexed, exported, renamed and deleted. With DIR, that one crawl.

    The pages are for this machine only, and work without a network. Ctrl-C ends it; what was started in the browser
    keeps running, and is stopped there, or with orienteer stop DIR. Comparisons are those in
    DIR/compare, as `orienteer compare GRAPH --json > DIR/compare/NAME.json` puts them there, and those of --compare.

    Example: [bold]orienteer serve --open[/bold], or [bold]orienteer serve example.org-crawl[/bold]
    """
    place = Place.of(host, port, token, archived_at, open_browser, json)
    if folder is not None:
        if library is not None or allow_private:
            raise InputError("--library and --allow-private are for a library of crawls: leave out DIR, or them")
        show(folder, place, compare)
    else:
        if compare:
            raise InputError("--compare needs the crawl folder beside which it is shown: orienteer serve DIR")
        show_library(library, place, allow_private)


class Place(NamedTuple):
    """Where pages are served, and to whom."""

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = None
    archived_at: str | None = None
    open_browser: bool = False
    json: bool = False

    @classmethod
    def of(cls, host: str, port: int, token: str | None, *rest: Any) -> Place:
        """What was asked for, with a token where one is to be generated; others are served with one only."""
        from orienteer.web.security import is_loopback

        return cls(host, port, token_of(token, f"--host {host}", is_loopback(host)), *rest)

    @property
    def guarding(self) -> dict[str, Any]:
        """What an application is made with."""
        from orienteer.web.security import is_loopback

        return {
            "token": self.token,
            "only_this_machine": is_loopback(self.host),
            "archived_at": self.archived_at,
        }

    def serve(self, app: FastAPI, folder: Path) -> None:
        """Serve an application until Ctrl-C; what it shows is in the folder."""
        from urllib.parse import quote

        from orienteer.web.server import PageServer, listening, listening_beside

        with listening(self.host, self.port) as listener, listening_beside(listener) as beside:
            name = f"[{self.host}]" if ":" in self.host else self.host
            port = listener.getsockname()[1]
            address = f"http://{name}:{port}/" + (f"?token={quote(self.token, safe='')}" if self.token else "")
            if self.json:
                ports = {"port": port, "archived_port": beside.getsockname()[1]}
                display.print_json({"folder": str(folder), "address": address, **ports})
            else:
                print(f"{folder} is shown at {address}\nCtrl-C ends it.")
            sys.stdout.flush()
            if self.open_browser:
                import webbrowser

                webbrowser.open(address)
            try:
                PageServer(app).serve_on(listener, beside)
            finally:
                app.state.served.close()


def show(folder: Path, place: Place, comparisons: Sequence[Path] = ()) -> None:
    """Serve the pages of a crawl folder until Ctrl-C."""
    from orienteer.store.folder_view import FolderView
    from orienteer.web.app import create_app
    from orienteer.web.comparisons import read_comparison

    FolderView.open(folder).close()  # says in one line where there is none
    for path in comparisons:
        read_comparison(path)
    app = create_app(folder, comparisons=comparisons, **place.guarding)
    place.serve(app, folder)
    process = app.state.watch.started_here()
    if process is not None:
        say(f"The crawl is still running (process {process}). To stop it: orienteer stop {folder}")


def show_library(path: Path | None, place: Place, allow_private: bool = False) -> None:
    """Serve a library of crawls until Ctrl-C."""
    from orienteer.library.scheduler import Scheduler, following
    from orienteer.web.library_app import create_library_app
    from orienteer.wording import counted

    chosen = chosen_library(path, may_be_new=True)
    chosen.make()
    folder = chosen.path.absolute()
    app = create_library_app(folder, allow_private=allow_private, **place.guarding)
    with following(Scheduler(app.state.here.jobs)):
        place.serve(app, folder)
    alive = [job for job in app.state.here.jobs.all() if job.is_alive]
    if alive:
        where = "" if path is None else f" --library {path}"
        say(f"{counted(len(alive), 'job is', 'jobs are')} still running. To see them: orienteer jobs{where}")
