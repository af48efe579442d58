"""What cannot be answered is said in one line: as a page to people, as JSON to machines."""

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

from orienteer.errors import CrawlFolderError, LibraryError, NotInLibraryError, OrienteerError
from orienteer.web.rendering import render, wants_part
from orienteer.web.served_archive import StillReadingError
from orienteer.wording import plain

_API = re.compile(r"(?:/crawls/[^/]+)?/api/|/mcp$")  # of a crawl, or of all of them; or what agents ask


class Refusal(BaseModel):
    """Why a request cannot be answered, in one line."""

    error: str


# What an API says besides its answer, for OpenAPI.
REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": Refusal, "description": "A value cannot be used as given"},
    409: {"model": Refusal, "description": "The crawl folder cannot be read as it is now"},
    422: {"model": Refusal, "description": "A value is missing, or not of its kind"},
}
_MAX_CHARS = 500
_AGAIN_S = "3"


def is_api(request: Request) -> bool:
    """Whether data is asked for, and no page."""
    return _API.match(request.url.path) is not None


def refusal(request: Request, status: int, line: str, ask: bool = False) -> Response:
    """One line with a status; a page to people, with a field for the token where they are to `ask` with one."""
    text = plain(line, _MAX_CHARS)
    if is_api(request):
        headers = {"WWW-Authenticate": "Bearer"} if ask else None
        return JSONResponse({"error": text}, status, headers)
    template = "_parts/refused.html" if wants_part(request) else "refused.html"
    return render(request, template, status, line=text, title=_phrase(status), ask=ask)


def add_refusals(app: FastAPI) -> None:
    app.add_exception_handler(OrienteerError, _of_error)
    app.add_exception_handler(HTTPException, _of_status)
    app.add_exception_handler(RequestValidationError, _of_value)


async def _of_error(request: Request, error: Exception) -> Response:
    return refused(request, error)


def refused(request: Request, error: Exception) -> Response:
    """A value that cannot be used, or a crawl folder that cannot be read as it is now, or not yet."""
    if isinstance(error, StillReadingError):
        answer = refusal(request, 503, str(error))
        answer.headers["Retry-After"] = answer.headers["Refresh"] = _AGAIN_S
        return answer
    return refusal(request, status_of(error), str(error))


def status_of(error: Exception) -> int:
    """Of what was raised on purpose: there is no such thing, or it cannot be now, or not as it was asked for."""
    if isinstance(error, NotInLibraryError):
        return 404
    return 409 if isinstance(error, (CrawlFolderError, LibraryError)) else 400


async def _of_status(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    known = {404: f"There is nothing at {request.url.path}", 405: f"{request.method} is not possible here"}
    has_own_line = error.detail and error.detail != _phrase(error.status_code)
    line = error.detail if has_own_line else known.get(error.status_code, _phrase(error.status_code))
    return refusal(request, error.status_code, line)


async def _of_value(request: Request, error: Exception) -> Response:
    """The first value that is not what it should be."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    name, value = ".".join(map(str, first["loc"][1:])), first.get("input")
    given = f" is {plain(str(value), 60)!r}" if isinstance(value, (str, int, float)) else ""
    return refusal(request, 422, f"{name}{given}: {first['msg']}")


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Refused"
