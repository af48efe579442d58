"""Who is told what a refresh has found: at least once, in order, whatever fails in between."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from orienteer.fetch.webhook import Webhook
from orienteer.live.webhook_notes import DELIVERED, Receiver, WebhookNotes
from tests import receiver as loopback
from tests.changing_crawl import EDITED, GONE, NEW


@pytest.fixture
def folder(changed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(changed, tmp_path / "town"))


def told_by(folder: Path, url: str, epoch: int | None = 0) -> WebhookNotes:
    """The notes of a receiver that was told up to an epoch."""
    receiver = Receiver(Webhook(url, b"secret", allow_private=True), "town", "https://example.org/feed")
    notes = WebhookNotes(folder, receiver)
    if epoch is not None:
        notes._note(epoch)
    return notes


def test_what_is_told(folder: Path) -> None:
    with loopback.receiving() as receiver:
        notes = told_by(folder, receiver.url + "hook")
        lines = notes.deliver()
    assert lines == [f"webhook: epoch {n} delivered to {receiver.url.rstrip('/')}" for n in (1, 2, 3)]
    first, second, third = (message.json for message in receiver.messages)
    assert {key: first[key] for key in ("crawl", "epoch", "new", "changed", "gone", "feed")} == {
        "crawl": "town",
        "epoch": 1,
        "new": 1,
        "changed": 1,
        "gone": 0,
        "feed": "https://example.org/feed",
    }
    assert (first["new_urls"], first["changed_urls"], first["gone_urls"]) == ([NEW], [EDITED], [])
    assert (second["new"], second["changed"], second["gone"]) == (0, 0, 0)
    assert third["gone_urls"] == [GONE]
    assert first["began"] < third["began"]
    assert len({message.headers["X-Orienteer-Delivery"] for message in receiver.messages}) == 3
    assert notes.waiting() == []
    assert notes.deliver() == []


def test_nothing_of_before_is_told(folder: Path) -> None:
    with loopback.receiving() as receiver:
        notes = told_by(folder, receiver.url, None)
        assert notes.waiting() == []
        notes.begin()
        assert notes.deliver() == []
    assert receiver.messages == []
    assert json.loads((folder / DELIVERED).read_text()) == {notes._key: 3}
    assert receiver.url not in (folder / DELIVERED).read_text()


def test_what_fails_is_one_line_and_is_told_the_next_time(folder: Path) -> None:
    with loopback.receiving(204, 500) as receiver:
        notes = told_by(folder, receiver.url)
        told, failed = notes.deliver(lambda _: None)
    assert told.startswith("webhook: epoch 1 delivered")
    assert failed == (
        f"webhook: epoch 2 was not delivered: http 500 from {receiver.url.rstrip('/')}; the next run tries again, "
        "and 1 more with it"
    )
    assert [message.json["epoch"] for message in receiver.messages] == [1, 2, 2, 2]
    assert notes.waiting() == [2, 3]


def test_a_receipt_that_was_not_noted_is_told_again_with_the_same_id(folder: Path) -> None:
    with loopback.receiving() as receiver:
        told_by(folder, receiver.url, 2).deliver()
        told_by(folder, receiver.url, 2).deliver()  # as if the process had been killed before it noted it
    one, other = (message.headers["X-Orienteer-Delivery"] for message in receiver.messages)
    assert one == other


@pytest.mark.parametrize("text", ["", "[]", '{"x": "y"}', "\0"])
def test_a_garbled_note_says_nothing(folder: Path, text: str) -> None:
    (folder / DELIVERED).write_text(text)
    notes = told_by(folder, "http://127.0.0.1:9/", None)
    assert notes.waiting() == []
    notes.begin()
    assert notes.waiting() == []
