"""Notifies receivers of the changes in each refresh: at least once, even if the process is killed in between.

`delivered.json` in the crawl folder has, by receiver, the last epoch that was delivered. It is written before the first
refresh that a receiver is notified of, and after each delivery. After a kill before the delivery the next run delivers
the epoch; after a kill between delivery and write it is delivered twice, with the same id.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orienteer.errors import CrawlFolderError
from orienteer.fetch.webhook import Webhook, send
from orienteer.files.plain import write_durably
from orienteer.inspect.changes import KINDS, EpochChanges, changes, crawl_id, epoch_changes
from orienteer.store.database import DatabaseView
from orienteer.store.failures import map_disk_errors
from orienteer.store.folder_view import FolderView

DELIVERED = "delivered.json"
MAX_URLS = 100  # of each kind


@dataclass(frozen=True)
class Receiver:
    """A webhook, the name of the crawl in its messages, and the URL of the feed of the crawl, if there is one."""

    webhook: Webhook
    crawl: str
    feed: str | None = None


class WebhookDeliveries:
    """The deliveries of the epochs of one crawl folder to one receiver."""

    def __init__(self, folder: Path, receiver: Receiver) -> None:
        self._folder = folder
        self._receiver = receiver
        # A digest: the address may be a secret, and a crawl folder may be given to others.
        self._key = hashlib.sha256(receiver.webhook.url.encode()).hexdigest()[:32]

    def begin(self) -> None:
        """Subscribe the receiver from the next epoch on, unless it is subscribed."""
        if self._key not in self._last_delivered():
            with FolderView.open(self._folder) as crawl:
                ended = [one.epoch for one in epoch_changes(crawl.database) if one.ended is not None]
            self._record(max(ended, default=0))

    def waiting(self) -> list[int]:
        """Return the complete epochs that were not delivered, in order; none before `begin`."""
        delivered = self._last_delivered().get(self._key)
        if delivered is None:
            return []
        with FolderView.open(self._folder) as crawl:
            return sorted(
                head.id for head in crawl.database.epochs.all() if head.ended is not None and head.id > delivered
            )

    def deliver(self, pause: Callable[[float], None] = time.sleep) -> list[str]:
        """Deliver the waiting epochs until one fails; return a line for each."""
        lines = []
        waiting = self.waiting()
        for number, epoch in enumerate(waiting):
            with FolderView.open(self._folder) as crawl:
                body = message(crawl.database, epoch, self._receiver)
                delivery = f"{crawl_id(crawl.database)}-{epoch}"
            problem = send(self._receiver.webhook, body, delivery, pause)
            if problem is not None:
                n_more = len(waiting) - number - 1
                later = f", and {n_more:,} more with it" if n_more else ""
                lines.append(f"webhook: epoch {epoch} was not delivered: {problem}; the next run tries again{later}")
                break
            self._record(epoch)
            lines.append(f"webhook: epoch {epoch} delivered to {self._receiver.webhook.origin}")
        return lines

    def _last_delivered(self) -> dict[str, int]:
        """Return the last delivered epochs by receiver; empty if the file is missing or damaged."""
        try:
            epochs = json.loads((self._folder / DELIVERED).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        epochs = epochs if isinstance(epochs, dict) else {}
        return {key: epoch for key, epoch in epochs.items() if isinstance(epoch, int)}

    def _record(self, epoch: int) -> None:
        path = self._folder / DELIVERED
        with map_disk_errors(path):
            write_durably(path, json.dumps(self._last_delivered() | {self._key: epoch}) + "\n")


def message(database: DatabaseView, epoch: int, receiver: Receiver) -> bytes:
    """Return the message about an epoch, as JSON."""
    figures = next((one for one in epoch_changes(database) if one.epoch == epoch), None)
    if figures is None:
        raise CrawlFolderError(f"{database.path}: there is no epoch {epoch}")
    facts = _figures(figures) | {"crawl": receiver.crawl, "feed": receiver.feed}
    for kind in KINDS:
        facts[f"{kind}_urls"] = [change.url for change in changes(database, epoch, [kind], MAX_URLS)]
    return json.dumps(facts).encode()


def _figures(epoch: EpochChanges) -> dict[str, Any]:
    return epoch.as_dict()
