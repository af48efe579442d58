"""The tools as a server of the Model Context Protocol: what they are called, what they take, and what comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, InputRequiredResult, TextContent, ToolAnnotations
from pydantic import Field, ValidationError

from orienteer import __version__
from orienteer.agents import tools
from orienteer.agents.agent_crawls import AgentCrawls
from orienteer.agents.answer import INSTRUCTIONS, Answer
from orienteer.errors import OrienteerError
from orienteer.wording import plain

_READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)

Crawl = Annotated[str | None, Field(description="Name of the crawl (see the tool crawls); not needed if there is one")]
Url = Annotated[str, Field(description="URL of a page of the crawl", max_length=4_000)]


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


def agent_server(crawls: AgentCrawls) -> AgentServer:
    """A server for these crawls; it is run by `stdio` or over HTTP."""
    server = AgentServer("orienteer", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING")
    for function in _functions(crawls):
        server.add_tool(function, annotations=_READS, structured_output=False)
    return server


def answered(ask: Callable[[], Answer]) -> CallToolResult:
    """The answer of a tool as the protocol has it."""
    try:
        found = ask()
    except OrienteerError as error:
        raise ToolError(plain(str(error), 500)) from None
    return CallToolResult(content=[TextContent(type="text", text=found.text())], structured_content=found.structured())


def _functions(all_crawls: AgentCrawls) -> list[Callable[..., CallToolResult]]:
    def crawls() -> CallToolResult:
        """List the crawls that can be asked about: name, start pages, number of pages, how much is covered."""
        return answered(lambda: tools.crawls(all_crawls))

    def search(
        query: Annotated[
            str,
            Field(
                description='Words; also "a phrase", +must, -not, title:word, url:word',
                max_length=tools.MAX_QUERY_CHARS,
            ),
        ],
        crawl: Crawl = None,
        n: Annotated[int, Field(description=f"Results, at most {tools.MAX_RESULTS}")] = 10,
        page: Annotated[int, Field(description="Which page of results, from 1 on")] = 1,
        site: Annotated[str, Field(description="Only this site or host, such as docs.example.org")] = "",
        language: Annotated[str, Field(description="Only this language, such as en")] = "",
        kind: Annotated[str, Field(description="Only this type, such as html or pdf")] = "",
        after: Annotated[str, Field(description="Only pages dated after this, such as 2024-06")] = "",
        before: Annotated[str, Field(description="Only pages dated before this")] = "",
        order: Annotated[str, Field(description="text, local, global or blend")] = "blend",
    ) -> CallToolResult:
        """Search the text of the crawled pages. Returns titles, URLs and snippets; read_page gives the text."""
        return answered(
            lambda: tools.search(all_crawls.named(crawl), query, n, page, site, language, kind, after, before, order)
        )

    def read_page(
        url: Url,
        crawl: Crawl = None,
        cursor: Annotated[str, Field(description="Where to read on: the cursor of the part before")] = "",
        max_chars: Annotated[int, Field(description="Characters to return, 200 to 20,000")] = 8_000,
        whole: Annotated[bool, Field(description="With menus, footers and the like, not the main text alone")] = False,
    ) -> CallToolResult:
        """Read a page as Markdown, part by part, as it was archived. Follow the cursor for the next part."""
        return answered(lambda: tools.read(all_crawls.named(crawl), url, cursor, max_chars, whole))

    def page_links(
        url: Url,
        crawl: Crawl = None,
        direction: Annotated[str, Field(description="in (who links to it), out (what it links to), or both")] = "both",
        n: Annotated[int, Field(description=f"Links each way, at most {tools.MAX_LINKS}")] = 20,
        first: Annotated[int, Field(description="How many to leave out, to see more")] = 0,
    ) -> CallToolResult:
        """Which pages link to a page, and which pages it links to."""
        return answered(lambda: tools.links(all_crawls.named(crawl), url, direction, n, first))

    def coverage(crawl: Crawl = None) -> CallToolResult:
        """How complete the crawl is: what is proved and measured, and what is blocked, suspect, failed or skipped.

        Ask this before concluding that something is not on the site.
        """
        return answered(lambda: tools.coverage(all_crawls.named(crawl)))

    def site_report(
        crawl: Crawl = None,
        kind: Annotated[str, Field(description="One kind of finding, such as broken; all if left out")] = "",
        n: Annotated[
            int, Field(description=f"Findings, at most {tools.MAX_RESULTS}; 10 of each kind if all are asked for")
        ] = 20,
    ) -> CallToolResult:
        """What is wrong with the site: broken links, redirect chains, orphans and more, the costliest first."""
        return answered(lambda: tools.report(all_crawls.named(crawl), kind, n))

    found: list[Callable[..., CallToolResult]] = [crawls, search, read_page, page_links, coverage]
    return [*found, site_report] if tools.has_reports() else found
