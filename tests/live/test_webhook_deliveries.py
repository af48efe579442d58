"""Webhook deliveries of refreshes: at least once, in order, and after any failure."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from orienteer.fetch.webhook import Webhook
from orienteer.live.webhook_deliveries import DELIVERED, Receiver, WebhookDeliveries
from tests import receiver as loopback
from tests.changing_crawl import EDITED, GONE, NEW


@pytest.fixture
def folder(changed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(changed, tmp_path / "town"))


def deliveries_of(folder: Path, url: str, epoch: int | None = 0) -> WebhookDeliveries:
    """Return the deliveries to a receiver that has received all epochs up to this one."""
    receiver = Receiver(Webhook(url, b"secret", allow_private=True), "town", "https://example.org/feed")
    deliveries = WebhookDeliveries(folder, receiver)
    if epoch is not None:
        deliveries._record(epoch)
    return deliveries


def test_the_content_of_a_delivery(folder: Path) -> None:
    with loopback.receiving() as receiver:
        deliveries = deliveries_of(folder, receiver.url + "hook")
        lines = deliveries.deliver()
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
    assert deliveries.waiting() == []
    assert deliveries.deliver() == []


def test_earlier_epochs_are_not_delivered(folder: Path) -> None:
    with loopback.receiving() as receiver:
        deliveries = deliveries_of(folder, receiver.url, None)
        assert deliveries.waiting() == []
        deliveries.begin()
        assert deliveries.deliver() == []
    assert receiver.messages == []
    assert json.loads((folder / DELIVERED).read_text()) == {deliveries._key: 3}
    assert receiver.url not in (folder / DELIVERED).read_text()


def test_a_failed_delivery_is_one_line_and_is_retried(folder: Path) -> None:
    with loopback.receiving(204, 500) as receiver:
        deliveries = deliveries_of(folder, receiver.url)
        delivered, failed = deliveries.deliver(lambda _: None)
    assert delivered.startswith("webhook: epoch 1 delivered")
    assert failed == (
        f"webhook: epoch 2 was not delivered: http 500 from {receiver.url.rstrip('/')}; the next run tries again, "
        "and 1 more with it"
    )
    assert [message.json["epoch"] for message in receiver.messages] == [1, 2, 2, 2]
    assert deliveries.waiting() == [2, 3]


def test_a_delivery_that_was_not_recorded_is_repeated_with_the_same_id(folder: Path) -> None:
    with loopback.receiving() as receiver:
        deliveries_of(folder, receiver.url, 2).deliver()
        deliveries_of(folder, receiver.url, 2).deliver()  # as if the process had been killed before it recorded it
    one, other = (message.headers["X-Orienteer-Delivery"] for message in receiver.messages)
    assert one == other


@pytest.mark.parametrize("text", ["", "[]", '{"x": "y"}', "\0"])
def test_a_damaged_record_is_ignored(folder: Path, text: str) -> None:
    (folder / DELIVERED).write_text(text)
    deliveries = deliveries_of(folder, "http://127.0.0.1:9/", None)
    assert deliveries.waiting() == []
    deliveries.begin()
    assert deliveries.waiting() == []
