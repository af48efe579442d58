"""Responses from a JSON file, for webs without servers."""

from __future__ import annotations

import json
import time
from collections import deque
from pathlib import Path

from orienteer.errors import InputError
from orienteer.fetch.settings import FetchSettings
from orienteer.pages.outcome import Outcome
from orienteer.responses.headers import Headers
from orienteer.responses.response import PageRequest, Request, Response, media_type, outcome_of


class DictionaryFetcher:
    """The file `pages` has for each URL a status, headers and a body; what is not there is a 404."""

    uses_network = False

    def __init__(self, settings: FetchSettings | None = None, pages: str = "") -> None:
        self._settings = settings or FetchSettings()
        if not Path(pages).is_file():
            raise InputError(f"fetcher dictionary: pages is {pages!r}; there is no such file")
        self._pages = json.loads(Path(pages).read_text(encoding="utf-8"))
        self._waiting: deque[Request] = deque()
        self._done: list[Response] = []

    @property
    def n_in_flight(self) -> int:
        return len(self._waiting) + len(self._done)

    def start(self, request: Request) -> None:
        self._waiting.append(request)

    def poll(self, timeout_s: float) -> list[Response]:
        done = [*self._done, *map(self._answer, self._waiting)]
        self._done.clear()
        self._waiting.clear()
        return done

    def cancel(self) -> None:
        self._done += [Response(request, Outcome.CANCELLED) for request in self._waiting]
        self._waiting.clear()

    def close(self) -> None:
        self.cancel()

    def _answer(self, request: Request) -> Response:
        status, lines, text = self._pages.get(request.url, (404, [], ""))
        headers, body = Headers((name, value) for name, value in lines), text.encode("latin-1")
        outcome = outcome_of(status, headers, request.url)
        is_page = isinstance(request, PageRequest)
        if outcome is Outcome.OK and is_page and not self._settings.accepts(media_type(headers)):
            outcome = Outcome.UNWANTED_TYPE
        head = "\r\n".join([f"HTTP/1.1 {status} -", *(f"{name}: {value}" for name, value in lines), "", ""])
        return Response(
            request,
            outcome,
            status,
            headers=headers,
            raw_headers=head.encode("latin-1"),
            body=body,
            content=body,
            started_at=time.time(),
        )
