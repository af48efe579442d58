"""The tools over HTTP (streamable HTTP, at /mcp), behind the same guard as the web interface."""

from __future__ import annotations

import socket

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette

from orienteer.agents.server import AgentServer
from orienteer.web.security import MAX_BODY_BYTES, Guard
from orienteer.web.server import PageServer

PATH = "/mcp"
_TIMEOUT_S = 2  # for responses in flight at shutdown


def agent_app(server: AgentServer, token: str | None, only_this_machine: bool) -> Starlette:
    """Return the application; the guard checks Host, Origin, token and length, as for the web interface."""
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MAX_BODY_BYTES,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    app.add_middleware(Guard, token=token, only_this_machine=only_this_machine)
    return app


class AgentHttpServer(uvicorn.Server):
    """Serves on a listening socket until Ctrl-C."""

    capture_signals = PageServer.capture_signals  # a signal that was handled is not raised again

    def __init__(self, app: Starlette) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_TIMEOUT_S,
            )
        )

    def serve_on(self, listener: socket.socket) -> None:
        self.run(sockets=[listener])
