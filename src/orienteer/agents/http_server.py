"""The tools over HTTP (streamable HTTP, at /mcp), behind the guard of the pages in the browser."""

from __future__ import annotations

import socket

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette

from orienteer.agents.server import AgentServer
from orienteer.web.security import MAX_BODY_BYTES, Guard
from orienteer.web.server import PageServer

PATH = "/mcp"
_PATIENCE_S = 2  # for answers under way, when the server is to end


def agent_app(server: AgentServer, token: str | None, only_this_machine: bool) -> Starlette:
    """Host, Origin, token and length are the guard's: the same rules as for the pages."""
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MAX_BODY_BYTES,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    app.add_middleware(Guard, token=token, only_this_machine=only_this_machine)
    return app


class AgentHttpServer(uvicorn.Server):
    """Serves on a socket that listens, until Ctrl-C."""

    capture_signals = PageServer.capture_signals  # one that was obeyed is not raised again

    def __init__(self, app: Starlette) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_PATIENCE_S,
            )
        )

    def serve_on(self, listener: socket.socket) -> None:
        self.run(sockets=[listener])
