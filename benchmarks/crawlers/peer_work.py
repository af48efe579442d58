"""What the peers' crawlers call for each answer: our WARC records, and links by the quickest way lxml offers.

Both are the fastest we know, so that a peer is measured and not our use of it. Links are those that Orienteer follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urljoin

import lxml.html

from orienteer.store.record import ArchivedResponse, response_record

_RELATIONS = frozenset(("canonical", "next", "prev"))


class PeerArchive:
    """One WARC file with a response record for each answer, as it came."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / "pages.warc.gz").open("wb")

    def __enter__(self) -> PeerArchive:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()

    def append(self, url: str, time: float, status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> None:
        lines = b"".join([b"%b: %b\r\n" % header for header in headers])
        head = b"HTTP/1.1 %d \r\n%b\r\n" % (status, lines)
        response = ArchivedResponse(url, time, head, body, address="127.0.0.1", protocol="http/1.1")
        self._file.write(response_record(response))


class NewLinks:
    """Links on the hosts, each handed out once: the framework then need not make a request of those that repeat."""

    def __init__(self, hosts: frozenset[str]) -> None:
        self._hosts = hosts
        self._seen: set[str] = set()

    def of_page(self, body: bytes, url: str) -> list[str]:
        root = lxml.html.document_fromstring(body) if body.strip() else None
        if root is None:
            return []
        base = next((element.get("href") for element in root.iter("base") if element.get("href")), "")
        return self.of_references(_references(root), urljoin(url, base))

    def of_references(self, references: Iterable[str], base: str) -> list[str]:
        new = []
        for reference in dict.fromkeys([reference.strip().partition("#")[0] for reference in references]):
            try:
                link = urljoin(base, reference)
            except ValueError:
                continue
            if link not in self._seen:
                self._seen.add(link)
                if link.startswith(("http://", "https://")) and link.split("/", 3)[2] in self._hosts:
                    new.append(link)
        return new


def _references(root: Any) -> Iterator[str]:
    for element in root.iter("a", "area", "frame", "iframe", "link"):
        tag = element.tag
        relation = element.get("rel") or ""
        if (tag == "link" and relation not in _RELATIONS) or "nofollow" in relation:
            continue
        reference = element.get("src" if tag in ("frame", "iframe") else "href")
        if reference:
            yield reference
