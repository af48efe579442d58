"""The kinds of findings that a site report has: their names, and what they say to who owns the site.

The names are those of `--fail-on`, of the column `kind` in CSV and of the keys in JSON; they stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from orienteer.errors import unknown_name

CLICKS, VISITS = "clicks", "visits"


class Kind(NamedTuple):
    """`cost` is what a finding is ordered by: the share of a surfer's clicks that go there, or of her visits."""

    name: str
    title: str
    about: str
    cost: str
    is_fault: bool = True


KINDS = {
    kind.name: kind
    for kind in (
        Kind("broken", "Broken links", "Links that lead to no page. Correct or remove them where they stand.", CLICKS),
        Kind("hosts", "Hosts that did not answer", "The crawl gave these hosts up, so their pages were not asked for.",
             CLICKS),
        Kind("chains", "Redirect chains", "Links that are redirected twice or more. Link to the last address.", CLICKS),
        Kind("redirects", "Links to old addresses", "Links that are redirected once. Link to the new address.", CLICKS),
        Kind("blocked", "Links to blocked pages",
             "Links to pages that robots.txt, a login or the server keeps from a crawler.", CLICKS),
        Kind("mixed", "Mixed content",
             "Pages sent by https that load parts by http. Browsers block such parts, or warn of them.", VISITS),
        Kind("scripts", "Pages that need scripts",
             "Almost nothing stands on these pages until scripts have run. Search engines may see them empty.", VISITS),
        Kind("slow", "Slow pages", "The server took long to send these pages.", VISITS),
        Kind("deep", "Deep pages", "Pages that are many links away from the start. Few people find them.", VISITS),
        Kind("untitled", "Pages without a title", "A title is what search results and tabs show.", VISITS),
        Kind("titles", "Titles that several pages share", "Pages of one host that cannot be told apart by title.",
             VISITS),
        Kind("undescribed", "Pages without a description", "Search results may show a page's description.", VISITS),
        Kind("duplicates", "Pages that repeat another",
             "Pages that say the same as another, or nearly. A canonical link would say which one to show.", VISITS),
        Kind("orphans", "Pages that nothing links to",
             "Only a sitemap, or a list of feeds or translations, names these pages.", VISITS),
        Kind("sitemap", "No pages, though a sitemap names them",
             "A sitemap, or a list of feeds or translations, names these, and no page links there.", VISITS),
        Kind("valued", "What the world values",
             "No fault: pages that are worth more to the rest of the web than the links of the site make of them.",
             VISITS, is_fault=False),
    )
}  # fmt: skip

FAULTS = tuple(kind.name for kind in KINDS.values() if kind.is_fault)


def checked_faults(names: Sequence[str]) -> tuple[str, ...]:
    """Kinds of faults by name, without repeats; "any" is all of them."""
    for name in names:
        if name not in (*FAULTS, "any"):
            raise unknown_name("kind of fault", name, (*FAULTS, "any"))
    return FAULTS if "any" in names else tuple(dict.fromkeys(names))
