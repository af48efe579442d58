"""The data of a site report: kinds of findings, findings, and the JSON format.

The names of kinds are used by `--fail-on`, in the column `kind` of CSV and as keys of JSON, so they must not change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from orienteer.errors import unknown_name
from orienteer.notebook import rows_html
from orienteer.wording import plain

CLICKS, VISITS = "clicks", "visits"
FORMAT = "orienteer-site-report/1"  # changes when a key is removed or changes its meaning


class FindingKind(NamedTuple):
    """A kind of finding. Findings are ordered by `cost`: a share of a random surfer's clicks, or of her visits."""

    name: str
    title: str
    about: str
    cost: str
    is_fault: bool = True


KINDS = {
    kind.name: kind
    for kind in (
        FindingKind(
            "broken", "Broken links", "Links that lead to no page. Correct or remove them on the linking pages.", CLICKS
        ),
        FindingKind(
            "hosts",
            "Hosts that did not answer",
            "The crawl abandoned these hosts, so their pages were not requested.",
            CLICKS,
        ),
        FindingKind(
            "chains", "Redirect chains", "Links that are redirected twice or more. Link to the last address.", CLICKS
        ),
        FindingKind(
            "redirects", "Links to old addresses", "Links that are redirected once. Link to the new address.", CLICKS
        ),
        FindingKind(
            "blocked",
            "Links to blocked pages",
            "Links to pages that crawlers may not fetch, because of robots.txt, a login or the server.",
            CLICKS,
        ),
        FindingKind(
            "mixed",
            "Mixed content",
            "Pages sent by https that load assets by http. Browsers block such assets, or warn of them.",
            VISITS,
        ),
        FindingKind(
            "scripts",
            "Pages that need scripts",
            "These pages are almost empty until scripts have run. Search engines may see them empty.",
            VISITS,
        ),
        FindingKind("slow", "Slow pages", "The server took long to send these pages.", VISITS),
        FindingKind(
            "deep", "Deep pages", "Pages that are many links away from the start. Few people find them.", VISITS
        ),
        FindingKind("untitled", "Pages without a title", "A title is what search results and tabs show.", VISITS),
        FindingKind("titles", "Titles that several pages share", "Pages of one host that have the same title.", VISITS),
        FindingKind(
            "undescribed", "Pages without a description", "Search results may show a page's description.", VISITS
        ),
        FindingKind(
            "duplicates",
            "Pages that repeat another",
            "Pages with the same text as another, or nearly. A canonical link would name the one to list.",
            VISITS,
        ),
        FindingKind(
            "orphans",
            "Pages that nothing links to",
            "Only a sitemap, or a list of feeds or translations, names these pages.",
            VISITS,
        ),
        FindingKind(
            "sitemap",
            "No pages, though a sitemap names them",
            "A sitemap, or a list of feeds or translations, names these, and no page links there.",
            VISITS,
        ),
        FindingKind(
            "valued",
            "Valued more by other sites",
            "No fault: pages with a higher rank in the whole web than by the links of the site alone.",
            VISITS,
            is_fault=False,
        ),
    )
}

FAULTS = tuple(kind.name for kind in KINDS.values() if kind.is_fault)


def checked_faults(names: Sequence[str]) -> tuple[str, ...]:
    """Return valid names of kinds of faults without repeats; "any" is all of them."""
    for name in names:
        if name not in (*FAULTS, "any"):
            raise unknown_name("kind of fault", name, (*FAULTS, "any"))
    return FAULTS if "any" in names else tuple(dict.fromkeys(names))


@dataclass(slots=True)
class FindingDraft:
    """As `Finding`. If set, `url` replaces the URL of the page, and `order` replaces the cost as the sort key.

    `with_words`: the places are links, whose texts have to be read.
    """

    kind: str
    page: int
    why: str
    cost: float
    leads_to: list[int] = field(default_factory=list)
    value: float | None = None
    n_places: int = 0
    places: list[tuple[int, float]] = field(default_factory=list)
    with_words: bool = False
    url: str = ""
    order: float | None = None


class LinkingPage(NamedTuple):
    """A page that links to the URL of a finding, or another page of the same group; `cost` is its share of the cost.

    `words` is the text of the link: "" if it has none (an image without alternative text, a frame, a redirect by the
    page), None if it is unknown, since the page is not in the archive. For pages of a group it is None, too.
    """

    url: str
    words: str | None
    cost: float


class Finding(NamedTuple):
    """A fault of a site. `cost` is a share of clicks or visits, by its kind.

    `leads_to` are the URLs of a redirect chain in order. `value` is a number that depends on the kind, such as links
    from the start, or seconds. `places` has the costliest of `n_places` places.
    """

    kind: str
    url: str
    why: str
    cost: float
    leads_to: tuple[str, ...] = ()
    value: float | None = None
    n_places: int = 0
    places: tuple[LinkingPage, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return self._asdict() | {"leads_to": list(self.leads_to), "places": [place._asdict() for place in self.places]}


@dataclass(frozen=True)
class Clicks:
    """Shares of all clicks of a random surfer by how they end; the remainder ends on pages without a redirect.

    `not_checked` clicks lead out of the crawl, or to pages that it has not fetched.
    """

    broken: float = 0.0
    host_gone: float = 0.0
    redirected: float = 0.0
    refused: float = 0.0
    not_checked: float = 0.0


@dataclass(frozen=True)
class SiteReport:
    """The report on the pages of a crawl; findings by kind, the costliest first.

    `n_links` counts the links of the pages, equal links of a page once; the targets of `n_checked` of them are known.
    `not_known` are sentences about what could not be determined. `position` is the position of the crawl.
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
    max_places: int | None
    not_known: tuple[str, ...]
    findings: dict[str, list[Finding]]

    def all_findings(self) -> Iterator[Finding]:
        """Yield all findings in the order of the kinds."""
        for kind in KINDS:
            yield from self.findings[kind]

    @property
    def counts(self) -> dict[str, int]:
        return {kind: len(self.findings[kind]) for kind in KINDS}

    def __repr__(self) -> str:
        counts = ", ".join(f"{n:,} {kind}" for kind, n in self.counts.items() if n) or "no findings"
        return f"<SiteReport of {plain(self.crawl, 60)}: {self.n_pages:,} pages; {counts}>"

    def _repr_html_(self) -> str:
        rows = [(KINDS[kind].title, len(found), found[0].url) for kind, found in self.findings.items() if found]
        return rows_html(f"Report of {self.crawl}: {self.n_pages:,} pages", ("", "found", "the costliest"), rows)

    def head(self) -> dict[str, Any]:
        """Return everything but the findings, for JSON."""
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
            "limits": {"deep": self.deep, "slow_s": self.slow_s, "places": self.max_places},
            "not_known": list(self.not_known),
            "counts": self.counts,
        }

    def as_dict(self) -> dict[str, Any]:
        """Return the report for JSON; it is deterministic for a crawl."""
        return self.head() | {"findings": {kind: [one.as_dict() for one in self.findings[kind]] for kind in KINDS}}
