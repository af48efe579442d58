"""A worker goes on fetching while a document is read, and hands it over when it is."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from orienteer.answers.answer import Request
from orienteer.extract.documents.document import Document, UnreadableDocumentError
from orienteer.fake_web.answers import Answer
from orienteer.fake_web.server import FakeWeb
from orienteer.fake_web.site import MadeSite
from orienteer.fetch.choice import make_fetcher
from orienteer.fetch.settings import FetchSettings
from orienteer.pages.outcome import Outcome
from orienteer.workers import worker as worker_module
from orienteer.workers.documents_aside import DocumentsAside
from orienteer.workers.received import Reading, Received
from orienteer.workers.worker import Worker

SITE = {
    "http://a.test/slow.pdf": Answer(b"%PDF slow", content_type="application/pdf"),
    "http://a.test/bad.pdf": Answer(b"%PDF bad", content_type="application/pdf"),
    "http://a.test/page": "<title>Page</title>",
}


class Gate:
    """Reads documents once it is open."""

    def __init__(self) -> None:
        self.opened = threading.Event()

    def read(self, content: bytes, media_type: str) -> Document:
        self.opened.wait()
        if content == b"%PDF bad":
            raise UnreadableDocumentError("it is bad")
        return Document("Slow", references=("/next",))


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    with FakeWeb(MadeSite(SITE)) as web:
        yield web


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.opened.set()


@pytest.fixture
def worker(web: FakeWeb, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    monkeypatch.setattr(worker_module, "DocumentsAside", lambda: DocumentsAside(gate.read))
    worker = Worker(make_fetcher(FetchSettings(connect_to=web.address)), Reading())
    yield worker
    worker.close()


def asked(worker: Worker, *names: str) -> None:
    for page, name in enumerate(names):
        worker.start(Request(f"http://a.test/{name}", page))


def received(worker: Worker, n: int) -> dict[str, Received]:
    found: list[Received] = []
    while len(found) < n:
        found += worker.poll(60.0)
    return {answer.request.url.removeprefix("http://a.test/"): answer for answer in found}


def test_others_do_not_wait_for_a_document(worker: Worker, gate: Gate) -> None:
    asked(worker, "slow.pdf", "bad.pdf", "page")
    assert received(worker, 1).keys() == {"page"}
    while worker.n_aside < 2:
        assert worker.poll(60.0) == []
    assert worker.n_under_way == 2
    gate.opened.set()
    documents = received(worker, 2)
    slow, bad = documents["slow.pdf"], documents["bad.pdf"]
    assert (slow.outcome, slow.meaning.links, slow.content_type) == (
        Outcome.OK, ["http://a.test/next"], "application/pdf",
    )  # fmt: skip
    assert slow.record is not None
    assert (bad.outcome, bad.detail, bad.meaning.page) == (Outcome.UNREADABLE, "it is bad", None)
    assert bad.record is not None  # what came is kept, whoever may read it one day
    assert worker.n_under_way == 0


def test_documents_that_are_read_can_be_cancelled(worker: Worker, gate: Gate) -> None:
    asked(worker, "slow.pdf", "bad.pdf")
    while worker.n_aside < 2:
        assert worker.poll(60.0) == []
    worker.cancel()
    assert worker.n_under_way == 2
    assert {answer.outcome for answer in received(worker, 2).values()} == {Outcome.CANCELLED}
    assert worker.n_under_way == 0
    gate.opened.set()
    asked(worker, "page")
    assert received(worker, 1).keys() == {"page"}
