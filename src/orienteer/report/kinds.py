"""The kinds of findings of a site report: names, titles, and explanations.

The names are used by `--fail-on`, in the column `kind` of CSV and as keys of JSON, so they must not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from orienteer.errors import unknown_name

CLICKS, VISITS = "clicks", "visits"


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
