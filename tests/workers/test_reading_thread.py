"""A worker goes on fetching while a document is parsed in a thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from orienteer.extract.documents.document import Document, UnreadableDocumentError
from orienteer.fetch.fetcher import make_fetcher
from orienteer.fetch.settings import FetchSettings
from orienteer.pages.outcome import Outcome
from orienteer.responses.response import PageRequest
from orienteer.workers.fetch_result import FetchResult, ReadSettings
from orienteer.workers.worker import Worker
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite

SITE = {
    "http://a.test/slow.pdf": FakeResponse(b"%PDF slow", content_type="application/pdf"),
    "http://a.test/bad.pdf": FakeResponse(b"%PDF bad", content_type="application/pdf"),
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
    monkeypatch.setattr("orienteer.workers.worker.read_document", gate.read)
    worker = Worker(make_fetcher(FetchSettings(connect_to=web.address)), ReadSettings())
    yield worker
    worker.close()


def asked(worker: Worker, *names: str) -> None:
    for page, name in enumerate(names):
        worker.start(PageRequest(f"http://a.test/{name}", page))


def received(worker: Worker, n: int) -> dict[str, FetchResult]:
    found: list[FetchResult] = []
    while len(found) < n:
        found += worker.poll(60.0)
    return {response.request.url.removeprefix("http://a.test/"): response for response in found}


def test_others_do_not_wait_for_a_document(worker: Worker, gate: Gate) -> None:
    asked(worker, "slow.pdf", "bad.pdf", "page")
    assert received(worker, 1).keys() == {"page"}
    while worker.n_reading < 2:
        assert worker.poll(60.0) == []
    assert worker.n_in_flight == 2
    gate.opened.set()
    documents = received(worker, 2)
    slow, bad = documents["slow.pdf"], documents["bad.pdf"]
    assert (slow.outcome, slow.verdict.links, slow.content_type) == (
        Outcome.OK, ["http://a.test/next"], "application/pdf",
    )  # fmt: skip
    assert slow.record is not None
    assert (bad.outcome, bad.detail, bad.verdict.page) == (Outcome.UNREADABLE, "it is bad", None)
    assert bad.record is not None  # the response is archived all the same
    assert worker.n_in_flight == 0


def test_documents_that_are_read_can_be_cancelled(worker: Worker, gate: Gate) -> None:
    asked(worker, "slow.pdf", "bad.pdf")
    while worker.n_reading < 2:
        assert worker.poll(60.0) == []
    worker.cancel()
    assert worker.n_in_flight == 2
    assert {response.outcome for response in received(worker, 2).values()} == {Outcome.CANCELLED}
    assert worker.n_in_flight == 0
    gate.opened.set()
    asked(worker, "page")
    assert received(worker, 1).keys() == {"page"}
