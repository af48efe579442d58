"""The same task for every crawler, and the archive that the peers write.

Peers get our own record writer (fastwarc's framing, ISA-L's compression, the fastest we know), so the archive makes no
difference between the contenders.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from fastwarc.warc import ArchiveIterator, WarcRecordType

from orienteer.store.record import ArchivedResponse, response_record

CONNECTIONS = 32  # at once, by every crawler, ...
CONNECTIONS_PER_HOST = 16  # ... of them to one host


@dataclass(frozen=True)
class Task:
    """Fetch all pages that links lead to from the seeds, on the hosts of the seeds; connect to `address` for all."""

    seeds: tuple[str, ...]
    address: str
    folder: Path  # where the crawler may leave its files; empty

    @property
    def hosts(self) -> list[str]:
        return list(dict.fromkeys(url.split("/", 3)[2] for url in self.seeds))

    @property
    def proxy(self) -> str:
        """The fake web as a proxy: requests name the whole URL, and one connection serves all hosts."""
        return f"http://{self.address}"


class PeerArchive:
    """One WARC file with a response record for each answer, as it came."""

    def __init__(self, folder: Path) -> None:
        self._file: BinaryIO = (folder / "pages.warc.gz").open("wb")

    def __enter__(self) -> PeerArchive:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()

    def append(self, url: str, time: float, status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> None:
        lines = b"".join([b"%b: %b\r\n" % header for header in headers])
        head = b"HTTP/1.1 %d \r\n%b\r\n" % (status, lines)
        self._file.write(response_record(ArchivedResponse(url, time, head, body, "127.0.0.1", "http/1.1")))


@dataclass(frozen=True)
class Archived:
    """What stands in a crawler's archive: pages (status 200, HTML), and all answers."""

    pages: frozenset[str]
    n_answers: int
    n_bytes: int  # of the pages


def archived(folder: Path) -> Archived:
    """Read back what a crawler has archived anywhere below its folder."""
    pages: set[str] = set()
    n_answers = n_bytes = 0
    for path in sorted(folder.rglob("*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, record_types=WarcRecordType.response, parse_http=True):
                n_answers += 1
                if record.http_headers.status_code == 200 and "html" in (record.http_content_type or ""):
                    pages.add(record.headers["WARC-Target-URI"])
                    n_bytes += len(record.reader.read())
    return Archived(frozenset(pages), n_answers, n_bytes)


def peak_mib() -> float:
    """The most memory this process has had. Unlike `ru_maxrss` it does not count what its parent had."""
    status = Path("/proc/self/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) / 1024
