"""URLs that are known without an answer: from sitemaps, lists and queues."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from orienteer.imports.jobdir import pending_requests
from orienteer.imports.sources import Kind, Source
from orienteer.imports.url_lists import read_url_list
from orienteer.wording import counted


class Listed:
    """The URLs that these sources name, in order, and what there is to say of them."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.urls: dict[str, None] = {}
        self.notes: list[str] = []
        for source in sources:
            if source.kind is Kind.URLS:
                self._add_list(source.path)
            elif source.kind is Kind.JOBDIR:
                self._add_jobdir(source.path)

    def _add_list(self, path: Path) -> None:
        found = read_url_list(path)
        self.urls |= dict.fromkeys(found.urls)
        if found.sitemaps:
            further = counted(len(found.sitemaps), "further sitemap")
            self.notes.append(f"{path} names {further}, such as {found.sitemaps[0]}; save and name them, too")
        if found.is_cut:
            self.notes.append(f"{path} has more entries than a sitemap may have; {len(found.urls):,} were read")

    def _add_jobdir(self, path: Path) -> None:
        pending = pending_requests(path)
        self.urls |= dict.fromkeys(pending.urls)
        if pending.n_left_out:
            requests = counted(pending.n_left_out, "pending request")
            self.notes.append(f"{path}: {requests} left out, which cannot be read safely, or not by a plain GET")
        if pending.n_seen:
            seen = counted(pending.n_seen, "request was", "requests were")
            self.notes.append(f"{path}: {seen} made before, but only fingerprints of them are kept, and no URLs")
