"""The facts of a certificate: plain data, both for the printable page and for verification.

The digest is SHA-256 of the facts as canonical JSON (sorted keys, no spaces, ASCII). It identifies the certificate; it
is no signature of a person. A certificate is verifiable since all of it follows from the crawl folder, and since the
files of the archive have the digests in it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

from orienteer.errors import InputError

FORMAT = "orienteer-certificate"
VERSION = 2
SEEDS_NAMED = 100

READ, NOTED = "read", "noted at the upload"  # how the digest of a file is known


@dataclass(frozen=True)
class CrawlFacts:
    """The settings that identify the crawl. Of many seeds the first are listed; `seeds_sha256` is that of all of them
    with their trust. `hooks` may add links to pages."""

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
    hooks: tuple[str, ...]


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
    """The moment of the certificate: after `position` events, and `n_rounds` rounds of walks of the last survey.

    Times are Unix time, of the first and the last response."""

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
class CheckedFacts:
    """The bounds that the archive supports (see inspect/archive_check). `unchecked` counts the pages that count as
    fetched without a record that confirms it, by the reason."""

    lower: float
    upper: float
    unchecked: dict[str, int]

    @property
    def n_unchecked(self) -> int:
        return sum(self.unchecked.values())


@dataclass(frozen=True)
class MeasuredFacts:
    """The result of the survey; with `is_reached` it claims `until` with this confidence, given what it `assumes`."""

    until: float
    is_reached: bool
    of_reachable: bool
    estimate: float
    confidence: float
    assumes: str
    n_walks: int
    n_probes: int


@dataclass(frozen=True)
class PageCounts:
    """`n_known` URLs inside the scope were seen (in certificates of version 0.2: those outside, too). `outcomes` are
    counted by state, `unknown_links` are pages not all of whose links are known, by the reason. `anchors` are the
    fields of routes by which pages are assumed, after samples, not to differ."""

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
    anchors: tuple[str, ...]


@dataclass(frozen=True)
class CertifiedFile:
    """A WARC file up to its acknowledged end. `sha256` is "" if it could not be read; `known_by` is how it is known,
    or why not."""

    name: str
    size_bytes: int
    sha256: str
    known_by: str


@dataclass(frozen=True)
class Facts:
    """All facts of a certificate. `proved` covers all epochs; in a refreshed crawl `measured` is that of the present
    epoch. `layout` is the number of the page's design."""

    crawl: CrawlFacts
    run: RunFacts
    moment: MomentFacts
    proved: ProvedFacts
    checked: CheckedFacts
    measured: MeasuredFacts | None
    pages: PageCounts
    archive: tuple[CertifiedFile, ...]
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
        """Return the facts with their digest, as in a certificate."""
        return {"facts": self.as_dict(), "sha256": self.digest}


def facts_of(certificate: Any, where: str) -> Facts:
    """Parse the facts of an untrusted certificate; an InputError if it is invalid."""
    facts_table = certificate.get("facts") if isinstance(certificate, dict) else None
    if not isinstance(facts_table, dict) or facts_table.get("format") != FORMAT:
        raise InputError(f"{where}: this is no certificate of Orienteer")
    if facts_table.get("version") != VERSION:
        version = facts_table.get("version")
        raise InputError(f"{where}: a certificate of version {version!r}; this Orienteer reads {VERSION}")
    from pydantic import TypeAdapter, ValidationError

    try:
        facts = TypeAdapter(Facts).validate_python(facts_table)
        same = facts.as_dict() == facts_table
    except (ValidationError, ValueError, OverflowError, RecursionError) as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else None
        at = ".".join(map(str, first["loc"])) if first else ""
        raise InputError(f"{where}: the certificate is damaged" + (f" at {at}" if at else "")) from None
    if not same:
        raise InputError(f"{where}: the certificate has facts that are unknown in its version")
    return facts


def _canonical(facts: dict[str, Any]) -> bytes:
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
