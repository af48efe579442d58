"""URLs without a response: from sitemaps, lists and queues."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from orienteer.imports.jobdir import pending_requests
from orienteer.imports.sources import ImportSource, SourceKind
from orienteer.imports.url_lists import read_url_list
from orienteer.wording import counted


class ListedUrls:
    """The URLs listed in these sources, in order, and notes for the report."""

    def __init__(self, sources: Sequence[ImportSource]) -> None:
        self.urls: dict[str, None] = {}
        self.notes: list[str] = []
        for source in sources:
            if source.kind is SourceKind.URLS:
                self._add_list(source.path)
            elif source.kind is SourceKind.JOBDIR:
                self._add_jobdir(source.path)

    def _add_list(self, path: Path) -> None:
        found = read_url_list(path)
        self.urls |= dict.fromkeys(found.urls)
        if found.sitemaps:
            further = counted(len(found.sitemaps), "further sitemap")
            self.notes.append(f"{path} names {further}, such as {found.sitemaps[0]}; save and import them, too")
        if found.is_cut:
            self.notes.append(f"{path} has more entries than a sitemap may have; {len(found.urls):,} were read")

    def _add_jobdir(self, path: Path) -> None:
        pending = pending_requests(path)
        self.urls |= dict.fromkeys(pending.urls)
        if pending.n_left_out:
            requests = counted(pending.n_left_out, "pending request")
            self.notes.append(f"{path}: {requests} left out: not plain GET requests, or unsafe to read")
        if pending.n_seen:
            seen = counted(pending.n_seen, "request was", "requests were")
            self.notes.append(f"{path}: {seen} made before, but only their fingerprints are stored, not their URLs")
