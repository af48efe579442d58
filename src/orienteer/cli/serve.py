"""`orienteer serve`: search and watch a crawl in the browser."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from orienteer.cli import display
from orienteer.cli.running import say


def serve(
    folder: Path = typer.Argument(metavar="DIR", help="Crawl folder."),
    host: str = typer.Option("127.0.0.1", "--host", help="Address to listen on; one others can reach needs --token."),
    port: int = typer.Option(8765, "--port", help="Port; the next free one if it is taken, 0 for any."),
    token: str | None = typer.Option(None, "--token", help="Password for the pages; auto generates one."),
    compare: list[Path] = typer.Option(
        [],
        "--compare",
        metavar="FILE",
        help="Show this comparison, too: what `compare --json` printed; may be repeated.",
    ),
    archived_at: str | None = typer.Option(
        None,
        "--archived-at",
        metavar="ORIGIN",
        help="Where browsers find archived pages, if a web server stands in front: an origin of its own.",
    ),
    open_browser: bool = typer.Option(False, "--open", help="Open the pages in the browser."),
    json: bool = typer.Option(False, "--json", help="Print where they are as JSON, then serve."),
) -> None:
    """Show a crawl in the browser: search it, watch it, see a map of its hosts.

    The pages are for this machine only, and work without a network. Ctrl-C ends it; a crawl that was resumed in the
    browser keeps running, and is stopped with orienteer stop DIR. Comparisons are those in
    DIR/compare, as `orienteer compare GRAPH --json > DIR/compare/NAME.json` puts them there, and those of --compare.

    Example: [bold]orienteer serve example.org-crawl --open[/bold]
    """
    show(folder, host, port, token, compare, archived_at, open_browser, json)


def show(
    folder: Path,
    host: str = "127.0.0.1",
    port: int = 8765,
    token: str | None = None,
    comparisons: Sequence[Path] = (),
    archived_at: str | None = None,
    open_browser: bool = False,
    json: bool = False,
) -> None:
    """Serve the pages of a crawl folder until Ctrl-C."""
    import secrets
    from urllib.parse import quote

    from orienteer.errors import InputError
    from orienteer.store.folder_view import FolderView
    from orienteer.web.app import create_app
    from orienteer.web.comparisons import read_comparison
    from orienteer.web.security import MIN_TOKEN_CHARS, is_loopback
    from orienteer.web.server import PageServer, listening, listening_beside

    FolderView.open(folder).close()  # says in one line where there is none
    for path in comparisons:
        read_comparison(path)
    only_this_machine = is_loopback(host)
    if token is not None and not token.strip():
        raise InputError("--token is empty; give one, or have one generated with --token auto")
    if token is not None and token != "auto" and len(token) < MIN_TOKEN_CHARS:
        raise InputError(
            f"--token has {len(token)} characters and could be guessed; it needs {MIN_TOKEN_CHARS}, or say --token auto"
        )
    if token is None and not only_this_machine:
        raise InputError(f"--host {host} can be reached from other machines: give --token T, or --token auto")
    known = secrets.token_urlsafe(18) if token == "auto" else token
    with listening(host, port) as listener, listening_beside(listener) as beside:
        app = create_app(
            folder, token=known, only_this_machine=only_this_machine, comparisons=comparisons, archived_at=archived_at
        )
        name = f"[{host}]" if ":" in host else host
        address = f"http://{name}:{listener.getsockname()[1]}/" + (f"?token={quote(known, safe='')}" if known else "")
        if json:
            ports = {"port": listener.getsockname()[1], "archived_port": beside.getsockname()[1]}
            display.print_json({"folder": str(folder), "address": address, **ports})
        else:
            print(f"{folder} is shown at {address}\nCtrl-C ends it.")
        sys.stdout.flush()
        if open_browser:
            import webbrowser

            webbrowser.open(address)
        try:
            PageServer(app).serve_on(listener, beside)
        finally:
            app.state.served.close()
            process = app.state.watch.started_here()
            if process is not None:
                say(f"The crawl is still running (process {process}). To stop it: orienteer stop {folder}")
