"""Parse slow responses in a thread while the worker goes on fetching.

A document may take seconds: the thread waits for the process that parses it (`extract/documents/limited`), and the
worker completes the result afterwards. While kernels run as plain Python (`kernel`), large pages are slow, too.

    thread.submit(response, read)    `read()` is called in the thread
    thread.n_in_flight               submitted and not returned by `completed` yet
    thread.completed()               responses with the return values of `read`
    thread.descriptor                is readable when a response is completed
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from orienteer.extract.documents.document import Document, DocumentReading, UnreadableDocumentError
from orienteer.extract.documents.kinds import is_document
from orienteer.extract.documents.limited import read_document
from orienteer.responses.response import PageRequest, Request, Response
from orienteer.responses.verdict import VerdictKind, verdict_kind_of

_Read = TypeVar("_Read")


def needs_document_reader(response: Response) -> bool:
    """Whether a response is a document that has to be parsed."""
    is_page = isinstance(response.request, PageRequest)
    if not is_page or verdict_kind_of(response.outcome, response.status) is not VerdictKind.FETCHED:
        return False
    return bool(response.content) and is_document(response.content_type)


class ReadingThread(Generic[_Read]):
    """Reads one response at a time, in the order of submission."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[tuple[Response, Callable[[], _Read]] | None] = SimpleQueue()
        self._ready: SimpleQueue[tuple[Response, _Read | BaseException]] = SimpleQueue()
        self._in_flight: dict[Request, Response] = {}
        self._thread: threading.Thread | None = None
        self.descriptor, self._wake = os.pipe()
        for end in (self.descriptor, self._wake):
            os.set_blocking(end, False)

    @property
    def n_in_flight(self) -> int:
        return len(self._in_flight)

    def submit(self, response: Response, read: Callable[[], _Read]) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, daemon=True, name="reading")
            self._thread.start()
        self._in_flight[response.request] = response
        self._waiting.put((response, read))

    def completed(self) -> list[tuple[Response, _Read]]:
        with contextlib.suppress(BlockingIOError):
            os.read(self.descriptor, 4096)
        results = []
        with contextlib.suppress(Empty):
            while True:
                response, read = self._ready.get_nowait()
                if isinstance(read, BaseException):
                    raise read
                if self._in_flight.get(response.request) is response:  # else it was cancelled
                    del self._in_flight[response.request]
                    results.append((response, read))
        return results

    def cancel(self) -> list[Response]:
        """Drop everything submitted and return the responses that were not completed."""
        with contextlib.suppress(Empty):
            while True:
                self._waiting.get_nowait()
        dropped, self._in_flight = list(self._in_flight.values()), {}
        return dropped

    def close(self) -> None:
        """Stop the thread after the response that it is reading."""
        self.cancel()
        if self._thread is None:
            self._close_pipe()
        else:
            self._waiting.put(None)

    def _work(self) -> None:
        while (task := self._waiting.get()) is not None:
            response, read = task
            results: _Read | BaseException
            try:
                results = read()
            except BaseException as error:  # raised again in `completed`, as it would be without a thread
                results = error
            self._ready.put((response, results))
            with contextlib.suppress(BlockingIOError):  # the pipe is full: the worker will be woken anyway
                os.write(self._wake, b".")
        self._close_pipe()

    def _close_pipe(self) -> None:
        os.close(self.descriptor)
        os.close(self._wake)


def document_reading(response: Response) -> DocumentReading:
    """Parse a document now and return a DocumentReading that returns, or raises, the result."""
    read: Document | UnreadableDocumentError
    try:
        read = read_document(response.content, response.content_type)
    except UnreadableDocumentError as error:
        read = error

    def read_result(content: bytes, media_type: str) -> Document:
        if isinstance(read, UnreadableDocumentError):
            raise read
        return read

    return read_result
