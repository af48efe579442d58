"""Tell a receiver what each refresh has found: at least once, whatever is killed in between.

`delivered.json` in the crawl folder says, for each receiver, up to which epoch it was told. The note is made before the
first refresh that is to be told, and moved on after each receipt. So an epoch whose process was killed before it could
be told is told by the next run; one that was killed between receipt and note is told twice, with the same id.
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
from orienteer.files.durable import write_durably
from orienteer.inspect.changes import KINDS, EpochChanges, changes, crawl_id, epoch_changes
from orienteer.store.database_view import DatabaseView
from orienteer.store.failures import explained
from orienteer.store.folder_view import FolderView

DELIVERED = "delivered.json"
MAX_URLS = 100  # of each kind


@dataclass(frozen=True)
class Receiver:
    """Who is told of a crawl, what the crawl is called there, and where the feed of it is found, if anywhere."""

    webhook: Webhook
    crawl: str
    feed: str | None = None


class WebhookNotes:
    """What a receiver was told of the crawl in a folder."""

    def __init__(self, folder: Path, receiver: Receiver) -> None:
        self._folder = folder
        self._receiver = receiver
        # A digest: the address may be a secret, and a crawl folder may be given to others.
        self._key = hashlib.sha256(receiver.webhook.url.encode()).hexdigest()[:32]

    def begin(self) -> None:
        """From the next epoch on the receiver is told, if it was not before."""
        if self._key not in self._notes():
            with FolderView.open(self._folder) as crawl:
                ended = [one.epoch for one in epoch_changes(crawl.database) if one.ended is not None]
            self._note(max(ended, default=0))

    def waiting(self) -> list[int]:
        """The epochs that are over and were not told, in order; nothing where it has not begun."""
        told = self._notes().get(self._key)
        if told is None:
            return []
        with FolderView.open(self._folder) as crawl:
            return sorted(head.id for head in crawl.database.epochs() if head.ended is not None and head.id > told)

    def deliver(self, pause: Callable[[float], None] = time.sleep) -> list[str]:
        """Tell what is waiting; what came of it, a line for each epoch. The first that fails is the last."""
        lines = []
        waiting = self.waiting()
        for number, epoch in enumerate(waiting):
            with FolderView.open(self._folder) as crawl:
                body = message(crawl.database, epoch, self._receiver)
                delivery = f"{crawl_id(crawl.database)}-{epoch}"
            trouble = send(self._receiver.webhook, body, delivery, pause)
            if trouble is not None:
                n_more = len(waiting) - number - 1
                later = f", and {n_more:,} more with it" if n_more else ""
                lines.append(f"webhook: epoch {epoch} was not delivered: {trouble}; the next run tries again{later}")
                break
            self._note(epoch)
            lines.append(f"webhook: epoch {epoch} delivered to {self._receiver.webhook.place}")
        return lines

    def _notes(self) -> dict[str, int]:
        """By receiver; a file that cannot be read says nothing."""
        try:
            found = json.loads((self._folder / DELIVERED).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        found = found if isinstance(found, dict) else {}
        return {key: epoch for key, epoch in found.items() if isinstance(epoch, int)}

    def _note(self, epoch: int) -> None:
        path = self._folder / DELIVERED
        with explained(path):
            write_durably(path, json.dumps(self._notes() | {self._key: epoch}) + "\n")


def message(database: DatabaseView, epoch: int, receiver: Receiver) -> bytes:
    """What is sent of an epoch, as JSON."""
    figures = next((one for one in epoch_changes(database) if one.epoch == epoch), None)
    if figures is None:
        raise CrawlFolderError(f"{database.path}: there is no epoch {epoch}")
    told = _figures(figures) | {"crawl": receiver.crawl, "feed": receiver.feed}
    for kind in KINDS:
        told[f"{kind}_urls"] = [change.url for change in changes(database, epoch, [kind], MAX_URLS)]
    return json.dumps(told).encode()


def _figures(epoch: EpochChanges) -> dict[str, Any]:
    return epoch.as_dict()
