"""Error responses of one line: HTML for pages, JSON for the API."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match

from orienteer.errors import CrawlFolderError, LibraryError, NotInLibraryError, OrienteerError
from orienteer.web.cached_document import NotReadyError
from orienteer.web.rendering import is_fragment_request, render
from orienteer.wording import plain

_API = re.compile(r"(?:/crawls/[^/]+)?/api/|/mcp$")  # of a crawl or of the library, or the endpoint for agents


class ApiError(BaseModel):
    """The reason why a request failed, in one line."""

    error: str


# The error responses of every API call, for OpenAPI.
_MEANINGS = {
    400: "A value cannot be used as given",
    401: "The token is missing or wrong; only if the server needs one",
    403: "The request comes from a page of another site",
    404: "Not found",
    409: "The crawl folder cannot be read now, or is in use",
    413: "The body is too large",
    414: "The address is too long",
    421: "The server accepts only host names of this machine",
    422: "A value is missing or has the wrong type",
    429: "Too many wrong tokens; `Retry-After` says when to try again",
    503: "The archive is still being read, or the document is being made; `Retry-After` says when to try again",
}
ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": ApiError, "description": meaning} for status, meaning in _MEANINGS.items()
}
_MAX_CHARS = 500
_AGAIN_S = "3"


def is_api(request: Request) -> bool:
    """Whether the request is for data, not for a page."""
    return _API.match(request.url.path) is not None


def error_response(request: Request, status: int, line: str, ask: bool = False) -> Response:
    """Return one line with a status; with `ask`, the page has a field for the token."""
    text = plain(line, _MAX_CHARS)
    if is_api(request):
        headers = {"WWW-Authenticate": "Bearer"} if ask else None
        return JSONResponse({"error": text}, status, headers)
    template = "_fragments/error.html" if is_fragment_request(request) else "error.html"
    return render(request, template, status, line=text, title=_phrase(status), ask=ask)


def add_error_handlers(app: FastAPI) -> None:
    app.add_exception_handler(OrienteerError, _of_error)
    app.add_exception_handler(HTTPException, _of_status)
    app.add_exception_handler(RequestValidationError, _of_value)


async def _of_error(request: Request, error: Exception) -> Response:
    return response_to(request, error)


def response_to(request: Request, error: Exception) -> Response:
    """Return the response to an error of ours."""
    if isinstance(error, NotReadyError):
        response = error_response(request, 503, str(error))
        response.headers["Retry-After"] = response.headers["Refresh"] = _AGAIN_S
        return response
    return error_response(request, status_of(error), str(error))


def status_of(error: Exception) -> int:
    """Return the status of an error of ours: 404 not found, 409 in use or unreadable, 400 an invalid value."""
    if isinstance(error, NotInLibraryError):
        return 404
    return 409 if isinstance(error, (CrawlFolderError, LibraryError)) else 400


async def _of_status(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    lines = {404: f"There is no page at {request.url.path}", 405: f"{request.method} is not possible here"}
    has_own_line = error.detail and error.detail != _phrase(error.status_code)
    line = error.detail if has_own_line else lines.get(error.status_code, _phrase(error.status_code))
    response = error_response(request, error.status_code, line)
    response.headers.update(error.headers or {})
    if error.status_code == 405:
        response.headers["Allow"] = ", ".join(_methods_of(request, response.headers.get("Allow", "")))
    return response


def _methods_of(request: Request, of_first: str) -> list[str]:
    """Return the methods of all routes that match; the framework names only those `of_first`, the first one."""
    methods = set(filter(None, of_first.replace(" ", "").split(",")))
    for route in request.app.state.routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            methods |= route.methods
    return sorted(methods)


async def _of_value(request: Request, error: Exception) -> Response:
    """Return an error that names the first invalid value."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    name, value = ".".join(map(str, first["loc"][1:])), first.get("input")
    given = f" is {plain(str(value), 60)!r}" if isinstance(value, (str, int, float)) else ""
    return error_response(request, 422, f"{name}{given}: {first['msg']}")


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Refused"
