"""Answers from a dictionary, for webs that are nowhere."""

from __future__ import annotations

from collections import deque
from typing import Any, ClassVar

from orienteer.answers.answer import Fetched, Request
from orienteer.answers.headers import Headers
from orienteer.pages.outcome import Outcome


class DictionaryFetcher:
    """Answers from `pages`, HTML by URL; what is not there is a 404."""

    pages: ClassVar[dict[str, str]] = {
        "http://a.example/": "<title>Home</title><a href=/b>b</a>",
        "http://a.example/b": "<title>B</title>The end.",
    }

    def __init__(self, settings: Any = None) -> None:
        self._waiting: deque[Request] = deque()
        self._cancelled: list[Fetched] = []

    @property
    def n_under_way(self) -> int:
        return len(self._waiting)

    def start(self, request: Request) -> None:
        self._waiting.append(request)

    def poll(self, timeout_s: float) -> list[Fetched]:
        done = [*self._cancelled, *map(self._answer, self._waiting)]
        self._cancelled.clear()
        self._waiting.clear()
        return done

    def cancel(self) -> None:
        """What is under way ends without an answer; `poll` says so."""
        self._cancelled += [Fetched(request, Outcome.CANCELLED) for request in self._waiting]
        self._waiting.clear()

    def close(self) -> None:
        self._waiting.clear()
        self._cancelled.clear()

    def _answer(self, request: Request) -> Fetched:
        html = self.pages.get(request.url)
        status, reason = (404, "Not Found") if html is None else (200, "OK")
        body = (html or "").encode()
        head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: text/html; charset=utf-8\r\n\r\n".encode()
        return Fetched(
            request,
            Outcome.OK if status == 200 else Outcome.CLIENT_ERROR,
            status=status,
            status_line=f"HTTP/1.1 {status} {reason}",
            headers=Headers([("Content-Type", "text/html; charset=utf-8")]),
            raw_headers=head,
            body=body,
            content=body,
            protocol="http/1.1",
        )
