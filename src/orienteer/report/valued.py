"""Pages that other sites value more, from the estimate of a crawl folder: a higher rank outside than inside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from orienteer.report.draft import FindingDraft
from orienteer.store.failures import damaged
from orienteer.store.folder_files import ESTIMATE, estimate_of_folder
from orienteer.url import host_of


def valued_findings(folder: Path, hosts: tuple[str, ...]) -> Iterator[FindingDraft]:
    """Yield these pages; none if no estimate was made."""
    document: Any = estimate_of_folder(folder)
    if document is None:
        return
    try:
        for page in document["valued_more"]:
            url, inside, outside = str(page["url"]), float(page["inside"]), float(page["outside"])
            places = int(page["position_outside"]), int(page["position_inside"])
            if not hosts or host_of(url) in hosts:
                why = f"place {places[0]:,} in the whole web, place {places[1]:,} by the links of the site"
                yield FindingDraft("valued", -1, why, outside, url=url, value=inside, order=outside - inside)
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(folder / ESTIMATE, f"{error}; run `orienteer estimate` again") from None
