"""`orienteer serve` and `mcp`: crawls in the browser, and for agents by the Model Context Protocol."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from orienteer.cli import display
from orienteer.cli.command import SERVER, command
from orienteer.cli.options import LIBRARY, chosen_library, token_of
from orienteer.cli.running import say
from orienteer.errors import InputError, MissingExtraError
from orienteer.wording import counted

if TYPE_CHECKING:
    from fastapi import FastAPI

    from orienteer.agents.server import AgentServer


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
    process = app.state.crawl.watch.started_here()
    if process is not None:
        say(f"The crawl is still running (process {process}). To stop it: orienteer stop {folder}")


def show_library(path: Path | None, place: ServeAddress, allow_private: bool = False) -> None:
    """Serve a library of crawls until Ctrl-C."""
    from orienteer.library.schedules import RefreshScheduler, running_scheduler
    from orienteer.web.app import create_library_app

    chosen = chosen_library(path, may_be_new=True)
    chosen.make()
    folder = chosen.path.absolute()
    app = create_library_app(folder, allow_private=allow_private, **place.guarding)
    with running_scheduler(RefreshScheduler(app.state.library.jobs)):
        place.serve(app, folder)
    alive = [job for job in app.state.library.jobs.all() if job.is_alive]
    if alive:
        where = "" if path is None else f" --library {path}"
        say(f"{counted(len(alive), 'job is', 'jobs are')} still running. To see them: orienteer jobs{where}")


@command(SERVER)
def mcp(
    folders: list[Path] = typer.Argument(metavar="DIR...", help="Crawl folders."),
    http: str | None = typer.Option(
        None,
        "--http",
        metavar="HOST:PORT",
        help="Serve over HTTP at this address, such as 127.0.0.1:8766; default: stdio.",
    ),
    token: str | None = typer.Option(
        None, "--token", help="With --http: token that clients must send (Authorization: Bearer); auto generates one."
    ),
    json: bool = typer.Option(False, "--json", help="With --http: print the address as JSON, then serve."),
) -> None:
    """Let agents search and read crawls, as a server of the Model Context Protocol (MCP).

    Tools: search, read a page as Markdown in sections, its in-links, coverage, the site report, and the list of crawls.
    The server only reads; it fetches and writes nothing. Text of pages is marked as untrusted. Without --http, the
    agent's program starts this command and communicates by stdin and stdout. It needs pip install 'orienteer\\[mcp]'.

    Example: [bold]orienteer mcp example.org-crawl[/bold]
    """
    if importlib.util.find_spec("mcp") is None:
        raise MissingExtraError("orienteer mcp", "the MCP SDK", "mcp")
    from orienteer.agents.server import agent_server
    from orienteer.agents.tools import AgentCrawls

    if http is None and (token is not None or json):
        raise InputError("--token and --json go with --http; stdio has no other clients, and is JSON anyway")
    crawls = AgentCrawls(folders)
    try:
        server = agent_server(crawls)
        if http is None:
            server.run("stdio")
        else:
            _serve_http(server, http, token, json)
    finally:
        crawls.close()


def _serve_http(server: AgentServer, http: str, token: str | None, json: bool) -> None:
    from orienteer.agents.server import PATH, AgentHttpServer, agent_app
    from orienteer.web.security import is_loopback
    from orienteer.web.server import listening

    host, port = _address_of(http)
    only_this_machine = is_loopback(host)
    known = token_of(token, f"--http {http}", only_this_machine)
    with listening(host, port, "--http") as listener:  # no other port: clients are configured with this one
        app = agent_app(server, known, only_this_machine)
        name = f"[{host}]" if ":" in host else host
        address = f"http://{name}:{listener.getsockname()[1]}{PATH}"
        if json:
            display.print_json({"address": address, "token": known})
        else:
            token_line = f"Token: {known}\n" if token == "auto" else ""
            print(f"MCP is served at {address}\n{token_line}Ctrl-C ends it.")
        sys.stdout.flush()
        AgentHttpServer(app).serve_on(listener)


def _address_of(http: str) -> tuple[str, int]:
    """Parse `127.0.0.1:8766`, `[::1]:8766`, or only a port, on this machine."""
    host, _, port = http.rpartition(":")
    if not port.isdecimal() or int(port) > 65_535:
        raise InputError(f"--http is {http!r}; write it like 127.0.0.1:8766")
    return host.strip("[]") or "127.0.0.1", int(port)
