"""Where a crawl starts that others have made: by what they say, or by a guess."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orienteer.errors import InputError
from orienteer.imports.collection import Collection
from orienteer.pages.outcome import Outcome
from orienteer.url import host_of


def guessed_seeds(collection: Collection, is_part: Sequence[int], listed: Iterable[str]) -> list[str]:
    """One page of each host: its home page, or else the page with the fewest folders in its URL, the first of those.

    So every page of the collection is inside the scope `host`. Of hosts that are only known from lists of URLs, the
    home page. `is_part` tells by place what is no page.
    """
    best: dict[str, tuple[tuple[int, bool, bool, float], str]] = {}  # by host; of two, the less is the better
    for place, url in enumerate(collection.urls):
        entry = collection.entry(place)
        if entry.is_page and not is_part[place]:
            key = url.count("/"), not url.endswith("/"), entry.outcome is Outcome.REDIRECT, entry.time
            host = host_of(url)
            if host not in best or key < best[host][0]:
                best[host] = key, url
    seeds = {host: url for host, (_, url) in best.items()}
    for url in listed:
        scheme, _, rest = url.partition("://")
        seeds.setdefault(host_of(url), f"{scheme}://{rest.partition('/')[0]}/")
    return list(seeds.values())


def expect_known(seeds: Sequence[str], collection: Collection) -> None:
    """Seeds that were named should be in the collection, at least one of them: from nowhere nothing is reached."""
    if len(collection) and not any(collection.find(seed) is not None for seed in seeds):
        example = next((url for place, url in enumerate(collection.urls) if collection.entry(place).is_page), None)
        hint = f", such as {example}" if example is not None else ""
        raise InputError(f"the seed {seeds[0]} is not in the collection; name a page that is{hint}")
