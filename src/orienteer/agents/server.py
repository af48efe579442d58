"""The tools as a server of the Model Context Protocol: over stdio, or over HTTP
(streamable HTTP, at /mcp) behind the same guard as the web interface.
"""

from __future__ import annotations

import inspect
import json
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any

import anyio
import uvicorn
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    CallToolResult,
    ErrorData,
    InputRequiredResult,
    JSONRPCError,
    RequestId,
    TextContent,
    ToolAnnotations,
)
from pydantic import Field, ValidationError
from starlette.applications import Starlette

from orienteer import __version__
from orienteer.agents.tools import INSTRUCTIONS, TOOLS, AgentCrawl, AgentCrawls, ToolResult
from orienteer.errors import OrienteerError
from orienteer.web.security import MAX_BODY_BYTES, Guard
from orienteer.web.server import PageServer
from orienteer.wording import plain

_READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)

CrawlName = Annotated[
    str | None, Field(description="Name of the crawl (see the tool crawls); not needed if there is one")
]
PATH = "/mcp"
_TIMEOUT_S = 2  # for responses in flight at shutdown


class AgentServer(MCPServer[Any]):
    """An MCP server whose errors are one line each."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                first = cause.errors()[0]
                where = ".".join(map(str, first["loc"]))
                raise ToolError(f"{plain(where, 60)}: {plain(first['msg'], 200)}") from error
            if isinstance(cause, ToolError):
                raise ToolError(str(cause)) from error
            raise

    async def run_stdio_async(self) -> None:
        """Run over stdin and stdout. An invalid line gets an error response; the SDK alone would ignore it."""
        async with stdio_server() as (received, sent), anyio.create_task_group() as group:
            checked_in, checked = anyio.create_memory_object_stream[SessionMessage | Exception]()

            async def check(output: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
                async with output:
                    async for message in received:
                        if isinstance(message, Exception):
                            await sent.send(SessionMessage(error_for(message)))
                        else:
                            await output.send(message)

            group.start_soon(check, checked_in)
            server = self._lowlevel_server
            await server.run(checked, sent, server.create_initialization_options())
            group.cancel_scope.cancel()


def error_for(error: Exception) -> JSONRPCError:
    """Return the error response to a line that is not a valid message, with the id of the request if it has one."""
    value, code, text = None, PARSE_ERROR, f"Parse error: {error}"
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        value, text = first["input"], f"Parse error: {first['msg']}"
        if first["type"] != "json_invalid":
            code, text = INVALID_REQUEST, "Invalid request"
        elif isinstance(value, (str, bytes)):
            with suppress(ValueError, RecursionError):
                value = json.loads(value)  # unlike pydantic, it accepts lone surrogates
    given = value.get("id") if isinstance(value, dict) else None
    return JSONRPCError(jsonrpc="2.0", id=_id_in(given), error=ErrorData(code=code, message=plain(text, 200)))


def _id_in(value: Any) -> RequestId | None:
    """Return the id of a request if it is valid and can be encoded."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    with suppress(UnicodeEncodeError):
        if isinstance(value, str) and value.encode():
            return value
    return None


def agent_server(crawls: AgentCrawls) -> AgentServer:
    """Return a server for these crawls, to be run over stdio or HTTP."""
    server = AgentServer("orienteer", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING")
    for function in TOOLS:
        server.add_tool(_tool(function, crawls), annotations=_READS, structured_output=False)
    return server


def _tool(function: Callable[..., ToolResult], crawls: AgentCrawls) -> Callable[..., CallToolResult]:
    """Return a tool as the server calls it: with the name of its crawl, and a message of the protocol as its result."""
    first, *own = inspect.signature(function, eval_str=True).parameters.values()
    is_of_one = first.annotation is AgentCrawl

    def call(**arguments: Any) -> CallToolResult:
        try:
            result = function(crawls.named(arguments.pop("crawl")) if is_of_one else crawls, **arguments)
        except OrienteerError as error:
            raise ToolError(plain(str(error), 500)) from None
        return CallToolResult(
            content=[TextContent(type="text", text=result.text())], structured_content=result.structured()
        )

    named = inspect.Parameter("crawl", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=CrawlName)
    call.__name__, call.__doc__ = function.__name__, function.__doc__
    call.__signature__ = inspect.Signature([*own, *[named] * is_of_one])  # type: ignore[attr-defined]
    return call


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
