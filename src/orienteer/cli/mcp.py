"""`orienteer mcp`: serve crawls to agents by the Model Context Protocol."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orienteer.cli import display
from orienteer.cli.command import SERVER, command
from orienteer.cli.options import token_of
from orienteer.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from orienteer.agents.server import AgentServer


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
            _serve(server, http, token, json)
    finally:
        crawls.close()


def _serve(server: AgentServer, http: str, token: str | None, json: bool) -> None:
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
