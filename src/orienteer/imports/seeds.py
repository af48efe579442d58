"""The seeds of an imported crawl: stated by the sources, or guessed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orienteer.errors import InputError
from orienteer.imports.collection import Collection
from orienteer.pages.outcome import Outcome
from orienteer.url import host_of


def guessed_seeds(collection: Collection, is_asset: Sequence[int], listed: Iterable[str]) -> list[str]:
    """Return one page of each host: its home page, or else the earliest page with the fewest folders in its URL.

    So every page of the collection is inside the scope `host`. For hosts that only occur in lists of URLs it is the
    home page. `is_asset` marks, by index, responses that are no pages.
    """
    best: dict[str, tuple[tuple[int, bool, bool, float], str]] = {}  # by host; the least key is the best
    for index, url in enumerate(collection.urls):
        entry = collection.entry(index)
        if entry.is_page and not is_asset[index]:
            key = url.count("/"), not url.endswith("/"), entry.outcome is Outcome.REDIRECT, entry.time
            host = host_of(url)
            if host not in best or key < best[host][0]:
                best[host] = key, url
    seeds = {host: url for host, (_, url) in best.items()}
    for url in listed:
        scheme, _, after = url.partition("://")
        seeds.setdefault(host_of(url), f"{scheme}://{after.partition('/')[0]}/")
    return list(seeds.values())


def expect_known(seeds: Sequence[str], collection: Collection) -> None:
    """Raise InputError unless at least one seed is in the collection: otherwise no page would be reachable."""
    if len(collection) and not any(collection.find(seed) is not None for seed in seeds):
        example = next((url for index, url in enumerate(collection.urls) if collection.entry(index).is_page), None)
        hint = f", such as {example}" if example is not None else ""
        raise InputError(f"the seed {seeds[0]} is not in the collection; name a page that is{hint}")
