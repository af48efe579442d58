"""What every crawler is asked to do, and what its archive shows that it did."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from pathlib import Path

with warnings.catch_warnings():
    # fastwarc 1.1 trips over its own deprecated classes while it is imported.
    warnings.simplefilter("ignore", DeprecationWarning)
    from fastwarc.warc import ArchiveIterator, WarcRecordType

CONNECTIONS = 32  # at once, for every crawler, ...
CONNECTIONS_PER_HOST = 16  # ... of them to one host


@dataclass(frozen=True)
class Task:
    """Fetch every page that links lead to from the seeds and that is on a host of a seed. All are at `address`."""

    seeds: tuple[str, ...]
    address: str
    folder: Path  # for whatever the crawler writes; empty

    @property
    def hosts(self) -> frozenset[str]:
        return frozenset(url.split("/", 3)[2] for url in self.seeds)

    @property
    def proxy(self) -> str:
        """The fake web as a proxy: requests name the whole URL, and a connection is good for all hosts."""
        return f"http://{self.address}"


@dataclass(frozen=True)
class Archived:
    """What a crawler has archived: the URLs of pages (status 200, HTML), and the number of all answers."""

    pages: frozenset[str]
    n_answers: int


def archived(folder: Path) -> Archived:
    """Read all WARC files below a folder."""
    pages: set[str] = set()
    n_answers = 0
    for path in sorted(folder.rglob("*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, record_types=WarcRecordType.response, parse_http=True):
                n_answers += 1
                if record.http_headers.status_code == 200 and "html" in (record.http_content_type or ""):
                    pages.add(record.headers["WARC-Target-URI"])
    return Archived(frozenset(pages), n_answers)


def peak_mib() -> float:
    """The most memory this process has had; unlike `ru_maxrss`, without what its parent had when it was started."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 1024
