"""What a site report is made of, and its form in JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from orienteer.report.kinds import KINDS

FORMAT = "orienteer-site-report/1"  # changes when something in it means something else, or is gone


class Place(NamedTuple):
    """A page that links to what was found, or another page of the same group; the share of clicks, or of visits.

    `words` are those of the link: "" where it has none (a picture without a text, a frame, a redirect by the page),
    None where nobody knows, since the page is not in the archive. Of a group it is None, too.
    """

    url: str
    words: str | None
    cost: float


class Finding(NamedTuple):
    """Something to look at. `cost` is the share of clicks or visits, as its kind says.

    `leads_to` are the addresses that a redirect leads through, the last one at the end. `value` is a number that its
    kind has: links from the start, or seconds. `n_places` may be more than `places`, of which the costliest are kept.
    """

    kind: str
    url: str
    why: str
    cost: float
    leads_to: tuple[str, ...] = ()
    value: float | None = None
    n_places: int = 0
    places: tuple[Place, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return self._asdict() | {"leads_to": list(self.leads_to), "places": [place._asdict() for place in self.places]}


@dataclass(frozen=True)
class Clicks:
    """Where the clicks of a surfer end, as shares of all her clicks; the rest ends on pages at once.

    `not_checked` ones lead out of the crawl, or to pages that it has not fetched.
    """

    broken: float = 0.0
    host_gone: float = 0.0
    redirected: float = 0.0
    refused: float = 0.0
    not_checked: float = 0.0


@dataclass(frozen=True)
class SiteReport:
    """What there is to say about the pages of a crawl; findings by kind, the costliest first.

    `n_links` are those of the pages, each page's own links counted once; `n_checked` of them are known to lead to a
    page or not. `not_known` are sentences about what could not be found out. `position` is how far the crawl was.
    """

    crawl: str
    seeds: tuple[str, ...]
    hosts: tuple[str, ...]
    first_time: float | None
    last_time: float | None
    position: int
    n_pages: int
    n_links: int
    n_checked: int
    clicks: Clicks
    deep: int
    slow_s: float
    most_places: int | None
    not_known: tuple[str, ...]
    findings: dict[str, list[Finding]]

    def all_findings(self) -> Iterator[Finding]:
        """In the order of the kinds."""
        for kind in KINDS:
            yield from self.findings[kind]

    @property
    def counts(self) -> dict[str, int]:
        return {kind: len(self.findings[kind]) for kind in KINDS}

    def head(self) -> dict[str, Any]:
        """Everything but the findings, for JSON."""
        return {
            "format": FORMAT,
            "crawl": self.crawl,
            "seeds": list(self.seeds),
            "hosts": list(self.hosts),
            "first_time": self.first_time,
            "last_time": self.last_time,
            "n_pages": self.n_pages,
            "n_links": self.n_links,
            "n_checked": self.n_checked,
            "clicks": asdict(self.clicks),
            "limits": {"deep": self.deep, "slow_s": self.slow_s, "places": self.most_places},
            "not_known": list(self.not_known),
            "counts": self.counts,
        }

    def as_dict(self) -> dict[str, Any]:
        """All of it for JSON: always the same for the same crawl."""
        return self.head() | {"findings": {kind: [one.as_dict() for one in self.findings[kind]] for kind in KINDS}}
