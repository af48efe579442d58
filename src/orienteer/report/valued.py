"""What the world values, by the estimate that a crawl folder may hold: pages worth more outside than inside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from orienteer.report.draft import Draft
from orienteer.store.failures import damaged
from orienteer.store.folder_files import ESTIMATE, estimate_of_folder
from orienteer.url import host_of


def valued_findings(folder: Path, hosts: tuple[str, ...]) -> Iterator[Draft]:
    """Nothing where no estimate was made."""
    told: Any = estimate_of_folder(folder)
    if told is None:
        return
    try:
        for page in told["valued_more"]:
            url, inside, outside = str(page["url"]), float(page["inside"]), float(page["outside"])
            places = int(page["position_outside"]), int(page["position_inside"])
            if not hosts or host_of(url) in hosts:
                why = f"place {places[0]:,} in the whole web, place {places[1]:,} by the links of the site"
                yield Draft("valued", -1, why, outside, url=url, value=inside, order=outside - inside)
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(folder / ESTIMATE, f"{error}; run `orienteer estimate` again") from None
