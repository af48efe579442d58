"""Documents of a worker, read while it goes on fetching.

A document may take seconds, and nobody else is to wait for it. So a thread waits for the process that reads it
(`extract/documents/limited`). The worker makes the rest of it when it comes back: all else happens in its own thread.

    aside.give(answer)
    aside.n_under_way        given, and not handed out yet
    aside.taken()            answers that are ready, each with a function that gives what was read
    aside.descriptor         there is something to be read here when one is ready
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

from orienteer.answers.answer import Fetched
from orienteer.answers.meaning import Verdict, verdict_of
from orienteer.extract.documents.as_page import DocumentReading
from orienteer.extract.documents.document import Document, UnreadableDocumentError
from orienteer.extract.documents.kinds import is_document
from orienteer.extract.documents.limited import read_document

_Read = Document | UnreadableDocumentError


def is_read_aside(answer: Fetched) -> bool:
    """Whether an answer is a document that has to be read."""
    request = answer.request
    if request.any_type or request.is_part or verdict_of(answer.outcome, answer.status) is not Verdict.FETCHED:
        return False
    return bool(answer.content) and is_document(answer.content_type)


class DocumentsAside:
    """One document at a time, in the order in which they were given."""

    def __init__(self, read: DocumentReading = read_document) -> None:
        self._read_document = read
        self._waiting: SimpleQueue[Fetched | None] = SimpleQueue()
        self._ready: SimpleQueue[tuple[Fetched, _Read]] = SimpleQueue()
        self._under_way: dict[int, Fetched] = {}  # by page
        self._thread: threading.Thread | None = None
        self.descriptor, self._wake = os.pipe()
        for end in (self.descriptor, self._wake):
            os.set_blocking(end, False)

    @property
    def n_under_way(self) -> int:
        return len(self._under_way)

    def give(self, answer: Fetched) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, daemon=True, name="documents")
            self._thread.start()
        self._under_way[answer.request.page] = answer
        self._waiting.put(answer)

    def taken(self) -> list[tuple[Fetched, DocumentReading]]:
        with contextlib.suppress(BlockingIOError):
            os.read(self.descriptor, 4096)
        found = []
        with contextlib.suppress(Empty):
            while True:
                answer, read = self._ready.get_nowait()
                if self._under_way.get(answer.request.page) is answer:  # or it was cancelled
                    del self._under_way[answer.request.page]
                    found.append((answer, _as_read(read)))
        return found

    def cancel(self) -> list[Fetched]:
        """Nobody wants them any more; what was under way."""
        with contextlib.suppress(Empty):
            while True:
                self._waiting.get_nowait()
        dropped, self._under_way = list(self._under_way.values()), {}
        return dropped

    def close(self) -> None:
        """The thread ends with the document that it is at."""
        self.cancel()
        if self._thread is None:
            self._close_pipe()
        else:
            self._waiting.put(None)

    def _work(self) -> None:
        while (answer := self._waiting.get()) is not None:
            read: _Read
            try:
                read = self._read_document(answer.content, answer.content_type)
            except UnreadableDocumentError as error:
                read = error
            self._ready.put((answer, read))
            with contextlib.suppress(BlockingIOError):  # there is enough to be read
                os.write(self._wake, b".")
        self._close_pipe()

    def _close_pipe(self) -> None:
        os.close(self.descriptor)
        os.close(self._wake)


def _as_read(read: _Read) -> Callable[[bytes, str], Document]:
    def gives(content: bytes, media_type: str) -> Document:
        if isinstance(read, UnreadableDocumentError):
            raise read
        return read

    return gives
