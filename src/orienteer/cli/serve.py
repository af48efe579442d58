"""`orienteer serve`: show one crawl folder, or a library of crawls, in the browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from orienteer.cli import display
from orienteer.cli.command import command
from orienteer.cli.options import LIBRARY, chosen_library, token_of
from orienteer.cli.running import say
from orienteer.errors import InputError
from orienteer.wording import counted

if TYPE_CHECKING:
    from fastapi import FastAPI


@command("")
def serve(
    folder: Path | None = typer.Argument(None, metavar="[DIR]", help="Crawl folder; default: a library of crawls."),
    library: Path | None = LIBRARY,
    host: str = typer.Option(
        "127.0.0.1", "--host", help="Address to listen on; one that other machines can reach needs --token."
    ),
    port: int | None = typer.Option(None, "--port", help="Port, 0 for any; default: 8765, or the next free one."),
    token: str | None = typer.Option(None, "--token", help="Password of the pages; auto generates one."),
    archived_at: str | None = typer.Option(
        None,
        "--archive-origin",
        metavar="ORIGIN",
        help="Behind a web server: the separate origin at which browsers find archived pages.",
    ),
    allow_private: bool = typer.Option(
        False,
        "--allow-private",
        help="Allow crawls of private and loopback addresses; only on your own machine.",
    ),
    open_browser: bool = typer.Option(False, "--open", help="Open the pages in the browser."),
    json: bool = typer.Option(False, "--json", help="Print the addresses as JSON, then serve."),
) -> None:
    """Show crawls in the browser: start, watch and search them, and see a map of their hosts.

    Without DIR, show a library: a folder of crawls, where you start new crawls, and refresh, index, export, rename and
    delete them. With DIR, show that crawl.

    By default only this machine can connect; no network is needed. Ctrl-C ends the server; jobs that were started in
    the browser keep running until they are stopped there, or by orienteer stop DIR.

    Example: [bold]orienteer serve --open[/bold], or [bold]orienteer serve example.org-crawl[/bold]
    """
    place = ServeAddress.of(host, port, token, archived_at, open_browser, json)
    if folder is not None:
        if library is not None or allow_private:
            raise InputError("give either DIR, or --library and --allow-private")
        show(folder, place)
    else:
        show_library(library, place, allow_private)


class ServeAddress(NamedTuple):
    """Where pages are served, and the token of clients."""

    host: str = "127.0.0.1"
    port: int | None = None
    token: str | None = None
    archived_at: str | None = None
    open_browser: bool = False
    json: bool = False

    @classmethod
    def of(cls, host: str, port: int | None, token: str | None, *rest: Any) -> ServeAddress:
        """Return the address, with the token checked or generated; other machines always need one."""
        from orienteer.web.security import is_loopback

        return cls(host, port, token_of(token, f"--host {host}", is_loopback(host)), *rest)

    @property
    def guarding(self) -> dict[str, Any]:
        """Return the security arguments of an application."""
        from orienteer.web.security import is_loopback

        return {
            "token": self.token,
            "only_this_machine": is_loopback(self.host),
            "archived_at": self.archived_at,
        }

    def serve(self, app: FastAPI, folder: Path) -> None:
        """Serve an application until Ctrl-C; `folder` is the one it shows."""
        from urllib.parse import quote

        from orienteer.web.server import DEFAULT_PORT, PORTS_TRIED, PageServer, listening, next_listener

        n_tried = PORTS_TRIED if self.port is None else 1
        port = DEFAULT_PORT if self.port is None else self.port
        with listening(self.host, port, n_tried=n_tried) as listener, next_listener(listener) as archive_listener:
            name = f"[{self.host}]" if ":" in self.host else self.host
            port = listener.getsockname()[1]
            address = f"http://{name}:{port}/" + (f"?token={quote(self.token, safe='')}" if self.token else "")
            if self.json:
                ports = {"port": port, "archived_port": archive_listener.getsockname()[1]}
                display.print_json({"folder": str(folder), "address": address, **ports})
            else:
                print(f"{folder} is served at {address}\nCtrl-C ends it.")
            sys.stdout.flush()
            if self.open_browser:
                import webbrowser

                webbrowser.open(address)
            try:
                PageServer(app).serve_on(listener, archive_listener)
            finally:
                app.state.served.close()


def show(folder: Path, place: ServeAddress) -> None:
    """Serve the pages of a crawl folder until Ctrl-C."""
    from orienteer.store.folder_view import FolderView
    from orienteer.web.app import create_app

    FolderView.open(folder).close()  # fail early if it is not one
    app = create_app(folder, **place.guarding)
    place.serve(app, folder)
    process = app.state.watch.started_here()
    if process is not None:
        say(f"The crawl is still running (process {process}). To stop it: orienteer stop {folder}")


def show_library(path: Path | None, place: ServeAddress, allow_private: bool = False) -> None:
    """Serve a library of crawls until Ctrl-C."""
    from orienteer.library.schedules import RefreshScheduler, running_scheduler
    from orienteer.web.library_app import create_library_app

    chosen = chosen_library(path, may_be_new=True)
    chosen.make()
    folder = chosen.path.absolute()
    app = create_library_app(folder, allow_private=allow_private, **place.guarding)
    with running_scheduler(RefreshScheduler(app.state.library_state.jobs)):
        place.serve(app, folder)
    alive = [job for job in app.state.library_state.jobs.all() if job.is_alive]
    if alive:
        where = "" if path is None else f" --library {path}"
        say(f"{counted(len(alive), 'job is', 'jobs are')} still running. To see them: orienteer jobs{where}")
