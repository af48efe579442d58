"""What a certificate says: plain data, the same for the page that people read and for who verifies it.

The digest is SHA-256 of the facts as canonical JSON (sorted keys, no spaces, ASCII). It names the certificate; it is no
signature of a person. What makes it verifiable is that all of it follows from the crawl folder, and that the files of
the archive have the digests that it names.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

from orienteer.errors import InputError

FORMAT = "orienteer-certificate"
VERSION = 1
SEEDS_NAMED = 100

READ, NOTED = "read", "noted at the upload"  # how the digest of a file is known


@dataclass(frozen=True)
class CrawlFacts:
    """What was crawled: the settings that say what the crawl is. Of many seeds the first are named; `seeds_sha256` is
    of all of them with their trust."""

    seeds: tuple[str, ...]
    trust: tuple[float, ...]
    n_seeds: int
    seeds_sha256: str
    scope: str
    allow: tuple[str, ...]
    deny: tuple[str, ...]
    max_depth: int | None
    policy: str
    damping: float
    topic: bool


@dataclass(frozen=True)
class RunFacts:
    """The settings that may change from run to run, as they were when the certificate was made."""

    until: float | None
    budget: int | None
    of_reachable: bool
    robots: bool
    sitemaps: bool
    render: str
    duplicates: str
    near_duplicates: str
    user_agent: str
    archive: bool
    stopped: str


@dataclass(frozen=True)
class MomentFacts:
    """The moment that all is true of: after `position` events, and so many rounds of walks of the last survey. Times
    are Unix time, of the first and the last answer."""

    position: int
    n_rounds: int
    n_surveys: int
    epoch: int
    first_time: float
    last_time: float


@dataclass(frozen=True)
class ProvedFacts:
    """Shares of a surfer's time (see graph/proved)."""

    lower: float
    upper: float
    frontier: float
    blocked: float
    unknown: float
    unsettled: float
    of_reachable: float


@dataclass(frozen=True)
class MeasuredFacts:
    """What random walks say; `is_reached` where `until` is claimed with this confidence."""

    until: float
    is_reached: bool
    of_reachable: bool
    estimate: float
    confidence: float
    n_walks: int
    n_probes: int


@dataclass(frozen=True)
class PageCounts:
    """`n_known` URLs were seen, those outside the scope too. `outcomes` are counted by state, `unknown_links` are pages
    not all of whose links are known, by the reason."""

    n_known: int
    n_hosts: int
    n_fetched: int
    n_redirects: int
    n_skipped: int
    n_failed: int
    n_blocked: int
    n_unarchived: int
    outcomes: dict[str, dict[str, int]]
    unknown_links: dict[str, int]


@dataclass(frozen=True)
class ArchiveFile:
    """A WARC file up to what was acknowledged. `sha256` is "" where nobody could read it; `known_by` says how it is
    known, or why not."""

    name: str
    size_bytes: int
    sha256: str
    known_by: str


@dataclass(frozen=True)
class Facts:
    """All that a certificate says. `proved` is of all that the crawl has; in a refreshed crawl `measured` is of the
    present epoch. `layout` is the number of the page's design."""

    crawl: CrawlFacts
    run: RunFacts
    moment: MomentFacts
    proved: ProvedFacts
    measured: MeasuredFacts | None
    pages: PageCounts
    archive: tuple[ArchiveFile, ...]
    made_at: float
    orienteer: str
    layout: int
    format: str = FORMAT
    version: int = VERSION

    def as_dict(self) -> dict[str, Any]:
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))  # lists, as JSON has them
        return plain

    @property
    def digest(self) -> str:
        return hashlib.sha256(_canonical(self.as_dict())).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """As it stands in a certificate."""
        return {"facts": self.as_dict(), "sha256": self.digest}


def facts_of(certificate: Any, where: str) -> Facts:
    """The facts of a certificate that may be anybody's; InputError where it is none."""
    told = certificate.get("facts") if isinstance(certificate, dict) else None
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise InputError(f"{where}: this is no certificate of Orienteer")
    if told.get("version") != VERSION:
        raise InputError(f"{where}: a certificate of version {told.get('version')!r}; this Orienteer reads {VERSION}")
    from pydantic import TypeAdapter, ValidationError

    try:
        facts = TypeAdapter(Facts).validate_python(told)
        same = facts.as_dict() == told
    except (ValidationError, ValueError, OverflowError, RecursionError) as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else None
        at = ".".join(map(str, first["loc"])) if first else ""
        raise InputError(f"{where}: the certificate is damaged" + (f" at {at}" if at else "")) from None
    if not same:
        raise InputError(f"{where}: the certificate says what none of this version says")
    return facts


def _canonical(facts: dict[str, Any]) -> bytes:
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
