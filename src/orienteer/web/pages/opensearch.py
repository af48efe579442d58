"""OpenSearch, by which browsers add this search engine: /opensearch.xml, and completions at /api/suggest."""

from __future__ import annotations

from typing import Annotated, Any
from xml.sax.saxutils import escape, quoteattr

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response

from orienteer.search.query import MAX_QUERY_CHARS
from orienteer.web.pages.search import N_SUGGESTIONS
from orienteer.web.rendering import NavEntry, root_of, served_crawl
from orienteer.wording import plain

ENTRY: NavEntry | None = None
TYPE = "application/opensearchdescription+xml"
SUGGESTIONS = "application/x-suggestions+json"
_MAX_NAME_CHARS = 16  # the limit of OpenSearch

# The response, for OpenAPI: its media type is not that of JSON, but errors are JSON.
SUGGESTED: dict[int | str, dict[str, Any]] = {
    200: {"description": "The query as typed, and completions", "content": {SUGGESTIONS: {"schema": {"type": "array"}}}}
}

router = APIRouter()


@router.get("/opensearch.xml", include_in_schema=False)
def description(request: Request) -> Response:
    name = served_crawl(request).name
    text = described(request, f"Orienteer: {name}"[:_MAX_NAME_CHARS], f"Search the crawl {name}", "/?q={searchTerms}")
    return Response(text, 200, media_type=TYPE)


@router.get(
    "/api/suggest",
    tags=["search"],
    summary="Complete what is typed, for browsers",
    response_class=Response,
    responses=SUGGESTED,
)
def suggest_api(request: Request, q: Annotated[str, Query(max_length=MAX_QUERY_CHARS)]) -> Response:
    """OpenSearch suggestions: the query as typed, and its completions."""
    with served_crawl(request).searching() as index:
        texts = [suggestion.text for suggestion in index.complete(q, N_SUGGESTIONS)]
    return suggested(q, texts)


def suggested(q: str, queries: list[str]) -> Response:
    """Return completions of `q` in the format of OpenSearch."""
    return JSONResponse([q, queries], media_type=SUGGESTIONS)


def described(request: Request, name: str, about: str, search: str) -> str:
    """Return the OpenSearch description of a search; its addresses must be absolute."""
    base = f"{request.url.scheme}://{request.url.netloc}"
    root = base + root_of(request)
    address, suggest = root + search, root + "/api/suggest?q={searchTerms}"
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">\n'
        f"  <ShortName>{escape(plain(name, 100))}</ShortName>\n"
        f"  <Description>{escape(plain(about, 1000))}</Description>\n"
        "  <InputEncoding>UTF-8</InputEncoding>\n"
        f'  <Image width="16" height="16" type="image/svg+xml">{escape(base)}/static/icon.svg</Image>\n'
        f'  <Url type="text/html" method="get" template={quoteattr(address)}/>\n'
        f'  <Url type="{SUGGESTIONS}" method="get" template={quoteattr(suggest)}/>\n'
        "</OpenSearchDescription>\n"
    )
