"""Seeds that were typed without a scheme: `example.org` is requested by https, and then by http.

Seeds are fixed for the life of a crawl, so this is decided before it begins, by a request for the robots.txt of each
host with the fetcher and the limits of the crawl.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from orienteer.errors import SeedError
from orienteer.fetch.addresses import forbidden_reason, literal_address
from orienteer.fetch.fetcher import make_fetcher
from orienteer.fetch.settings import FetchSettings
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.settings import canonical_seeds
from orienteer.live.seed_check import describe_failure
from orienteer.pages.outcome import Outcome
from orienteer.responses.response import Request, Response
from orienteer.store.folder_files import settings_of_folder
from orienteer.url import canonical_url
from orienteer.wording import plain

_TIMEOUT_S, _CONNECT_TIMEOUT_S = 10.0, 5.0
_NEAR_TIMEOUT_S = 2.0  # for private addresses: a server without TLS may wait for more bytes and never respond
_POLL_S = 0.25


def resolve_schemes(
    plan: CrawlPlan, typed: Sequence[str], folder: Path, notify: Callable[[str], None] | None = None
) -> CrawlPlan:
    """Return the plan, with http for those `typed` seeds whose hosts do not respond by https.

    The plan has them as https. If the folder has a crawl already, its seeds decide without any request. `notify`
    receives a line for each host that did not respond by https. Raises SeedError if no seed responded by either.
    """
    by_https = {}
    for text in typed:
        seed = canonical_seeds([text])[0]
        if "://" not in text and seed in plan.crawl.seeds:
            by_https[seed] = canonical_url(f"http://{text}") or seed
    stored = settings_of_folder(folder)
    if stored is not None:
        known = CrawlPlan.parse(stored, str(folder / "crawl.toml")).crawl.seeds
        moved = {https: http for https, http in by_https.items() if http in known}
    else:
        moved = _answering(by_https, plan, notify)
    seeds = tuple(dict.fromkeys(moved.get(seed, seed) for seed in plan.crawl.seeds))
    if len(seeds) < len(plan.crawl.seeds):  # one was also typed with http; merging them would change the trust
        return plan
    return replace(plan, crawl=replace(plan.crawl, seeds=seeds))


def _answering(by_https: Mapping[str, str], plan: CrawlPlan, notify: Callable[[str], None] | None) -> dict[str, str]:
    """Return the seeds that respond only by http, with their http URLs."""
    failed = {url: response for url, response in _requested(list(by_https), plan.fetch).items() if not response.status}
    # A forbidden address is forbidden by http as well; the crawl reports it.
    retryable = {url: response for url, response in failed.items() if response.outcome is not Outcome.FORBIDDEN_ADDRESS}
    again = _requested([by_https[url] for url in retryable], plan.fetch)
    moved, lost = {}, []
    for url, response in retryable.items():
        other = again[by_https[url]]
        seed, why = plain(url.partition("://")[2], 200), _why(response)
        if other.status:
            moved[url] = by_https[url]
            if notify is not None:
                notify(f"{seed}: https was tried ({why}), http answers: starting at {plain(by_https[url], 200)}")
        elif why == _why(other):
            lost.append(f"{seed}: https, then http was tried ({why})")
        else:
            lost.append(f"{seed}: https was tried ({why}), then http ({_why(other)})")
    if lost and len(lost) == len(plan.crawl.seeds):
        raise SeedError(f"nothing was crawled: {'; '.join(lost[:3])}")
    if notify is not None:
        for line in lost:
            notify(f"seed {line}")
    return moved


def _requested(urls: Sequence[str], settings: FetchSettings) -> dict[str, Response]:
    """Request the robots.txt of each URL; with a fetcher that sends no requests to hosts, the page itself."""
    if not urls:
        return {}
    limit_s = _NEAR_TIMEOUT_S if all(_is_near(url, settings) for url in urls) else _CONNECT_TIMEOUT_S
    timeout_s, connect_s = min(settings.timeout_s, _TIMEOUT_S), min(settings.connect_timeout_s, limit_s)
    responses: dict[str, Response] = {}
    with closing(make_fetcher(replace(settings, timeout_s=timeout_s, connect_timeout_s=connect_s))) as fetcher:
        at_once = getattr(fetcher, "max_in_flight", len(urls))
        waiting = list(enumerate(urls))[::-1]
        while waiting or fetcher.n_in_flight:
            while waiting and fetcher.n_in_flight < at_once:
                page, url = waiting.pop()
                target = f"{urlsplit(url).scheme}://{urlsplit(url).netloc}/robots.txt" if fetcher.uses_network else url
                fetcher.start(Request(target, page, any_type=True))
            responses |= {urls[response.request.page]: response for response in fetcher.poll(_POLL_S)}
    return responses


def _is_near(url: str, settings: FetchSettings) -> bool:
    """Return whether the host is this machine, or in a private network."""
    address = literal_address(url if settings.connect_to is None else f"http://{settings.connect_to}/")
    return address is not None and forbidden_reason(address) is not None


def _why(response: Response) -> str:
    if response.outcome is Outcome.TLS_FAILED:
        return "it does not support TLS, or its certificate was not accepted"
    return describe_failure(response)
