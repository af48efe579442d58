"""What the scheduler reads of a Scrapy project: its settings, the source of each request, the downloader's slots.

*Sources.* A request given to the engine has the number of its page in its meta. Requests that the downloader makes from
it (a redirect, a retry) have it, too, as copies. Requests that the spider yields from the response are marked as links
from that page, requests from `start()` as starts. The scheduler removes these marks.

*Slots.* The downloader accepts any request and queues it in its slot, where it counts towards CONCURRENT_REQUESTS and
keeps out requests to other hosts. So a request is given to the engine only when its slot is free. The delay of a slot
is drawn at random: hosts whose longest delay is over come first, then those whose shortest delay is over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, NamedTuple, Self

from scrapy import Request
from scrapy.core.downloader import Downloader
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.settings import BaseSettings

from orienteer.crawl.goal import Goal
from orienteer.errors import InputError, OrienteerError
from orienteer.graph.survey.crawl_survey import check_confidence
from orienteer.policies.focused import FocusedPolicy
from orienteer.policies.policy import Policy, checked_damping
from orienteer.policies.policy_spec import PolicySpec

PAGE = "orienteer_page"
SOURCE = "orienteer_source"
START = -1  # used as source


@dataclass(frozen=True)
class PluginSettings:
    policy: str = "certified"
    folder: Path | None = None
    until: float | None = None
    damping: float = 0.85
    confidence: float | None = None

    def __post_init__(self) -> None:
        _named("ORIENTEER_DAMPING", lambda: checked_damping(self.damping))
        if self.confidence is not None:
            _named("ORIENTEER_CONFIDENCE", lambda: check_confidence(self.confidence or 0.0))
        _named("CLOSESPIDER_COVERAGE", self.goal)
        policy = _named("ORIENTEER_POLICY", self.new_policy)
        if policy.knows_truth:
            raise InputError(
                f"ORIENTEER_POLICY: {self.policy} needs the true rank of the whole web: it is for simulations only"
            )
        if isinstance(policy, FocusedPolicy):
            raise InputError(f"ORIENTEER_POLICY: {self.policy} looks for pages of a topic, and a spider has none")

    @classmethod
    def of_project(cls, settings: BaseSettings) -> PluginSettings:
        """Read the settings of a project; an InputError names the first invalid one."""
        folder = settings.get("ORIENTEER_DIR")
        if not folder and settings.get("JOBDIR"):
            folder = Path(settings["JOBDIR"]) / "orienteer"
        return cls(
            policy=str(settings.get("ORIENTEER_POLICY") or cls.policy),
            folder=Path(folder) if folder else None,
            until=_number(settings, "CLOSESPIDER_COVERAGE", 0.0) or None,
            damping=_number(settings, "ORIENTEER_DAMPING", cls.damping),
            confidence=_number(settings, "ORIENTEER_CONFIDENCE", 0.0) or None,
        )

    def goal(self) -> Goal:
        return Goal(until=self.until, by_certificate=True, confidence=self.confidence)

    def new_policy(self) -> Policy:
        return PolicySpec.parse(self.policy).make(self.damping)


def _number(settings: BaseSettings, name: str, default: float) -> float:
    value = settings.get(name)
    try:
        return default if value is None else float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} is {value!r}; it must be a number") from None


def _named(setting: str, check: Any) -> Any:
    try:
        return check()
    except OrienteerError as error:
        raise InputError(f"{setting}: {error}") from None


class LinkNotes:
    """The spider middleware that marks requests; its position among other middlewares does not matter."""

    def __init__(self) -> None:
        self.start_has_ended = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls()

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        try:
            async for item in start:
                yield _marked(item, START)
        finally:
            self.start_has_ended = True

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        source = response.meta.get(PAGE)
        async for item in result:
            yield _marked(item, source)


def _marked(item: Any, source: int | None) -> Any:
    if isinstance(item, Request):
        item.meta.pop(PAGE, None)  # copied from the response
        item.meta[SOURCE] = START if source is None else source
    return item


def pop_marks(request: Request) -> tuple[int | None, int | None]:
    """Remove and return the marks of a request: its source (a page or START), and the page that it replaces."""
    return request.meta.pop(SOURCE, None), request.meta.pop(PAGE, None)


class Wait(NamedTuple):
    """The time until a request to a host would be sent, at least and at most; infinite until another one has ended."""

    min_s: float
    max_s: float


class Slots:
    """The number of requests that were given to the engine and have not left the downloader, by slot."""

    def __init__(self, downloader: Downloader) -> None:
        self._downloader = downloader
        self._n_active: Counter[str] = Counter()

    def name(self, request: Request) -> str:
        return self._downloader.get_slot_key(request)

    def enter(self, name: str) -> None:
        self._n_active[name] += 1

    def leave(self, name: str) -> None:
        self._n_active[name] -= 1
        if self._n_active[name] <= 0:
            del self._n_active[name]

    def wait(self, name: str, now: float) -> Wait:
        n_active = self._n_active[name]
        concurrency, delay_s, jitter, n_sent, last_sent = self._state(name)
        if n_active >= max(concurrency, 1):
            return Wait(inf, inf)
        if delay_s <= 0:
            return Wait(0.0, 0.0)
        past_s = 0.0 if n_active > n_sent else now - last_sent  # a request that was not sent yet will be the next
        return Wait(delay_s * max(1 - jitter, 0.0) - past_s, delay_s * (1 + jitter) - past_s)

    def _state(self, name: str) -> tuple[int, float, float, int, float]:
        """Return concurrency, delay, jitter, requests in flight, and the time when the last one was sent."""
        slot = self._downloader.slots.get(name)
        if slot is not None:
            return slot.concurrency, slot.delay, slot.jitter, len(slot.transferring), slot.lastseen
        # The downloader creates the slot with its first request.
        own = self._downloader.per_slot_settings.get(name, {})
        concurrency = own.get("concurrency", self._downloader.domain_concurrency)
        return concurrency, own.get("delay", self._downloader.settings.getfloat("DOWNLOAD_DELAY")), 0.0, 0, -inf
