"""The intake of responses of any source: it completes what was read, and records it in the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from orienteer.extract.robot_rules import ALL_ROBOTS, robot_name
from orienteer.hooks import Hook, HookPage, PageHooks
from orienteer.ledger.ledger import Ledger
from orienteer.responses.response import Response
from orienteer.store.log import Log
from orienteer.workers.fetch_result import FetchResult, ReadSettings, read_response

HOOK_FAILED = "hook failed"  # in the log, and among the events of the database


class Intake:
    """The responses for one ledger; `outcomes` and `n_bytes` count those of this run, `hooks` has failures of hooks."""

    def __init__(self, ledger: Ledger, hooks: Sequence[Hook] = (), log: Log | None = None) -> None:
        self.ledger = ledger
        self.outcomes: Counter[str] = Counter()
        self.n_bytes = 0
        self.hooks = PageHooks(hooks, self._hook_failed)
        self._log = log

    @property
    def reading(self) -> ReadSettings:
        """How workers must read the pages of this crawl."""
        crawl = self.ledger.plan.crawl
        return ReadSettings(
            signatures=crawl.near_duplicates != "off",
            texts=self.ledger.reader is not None,
            full_responses=bool(self.hooks),
            records=crawl.archive,
            revisits=crawl.archive and self.ledger.epoch is not None,
            assets=crawl.assets,
            user_agent=self.ledger.plan.fetch.user_agent,
            robot=robot_name(self.ledger.plan.fetch.user_agent) or ALL_ROBOTS,
        )

    def read(self, responses: Sequence[Response]) -> list[FetchResult]:
        """Read responses that the archive has already, in this process."""
        reading = replace(self.reading, records=False)
        return self.completed([read_response(response, reading) for response in responses])

    def completed(self, responses: list[FetchResult]) -> list[FetchResult]:
        """Add the relevance of pages and the results of hooks to the responses.

        The relevance is computed for all together, which is several times as fast as one by one.
        """
        if self.ledger.reader is not None:
            read = [(response, response.verdict.page) for response in responses]
            pages = [(response, page) for response, page in read if page is not None]
            scores = self.ledger.reader.relevance([(response.request.url, page) for response, page in pages])
            for (response, _), score in zip(pages, scores, strict=True):
                response.verdict = replace(response.verdict, relevance=score)
        if self.hooks:
            for response in responses:
                self._run_hooks(response)
        return responses

    def record_response(self, page: int, response: FetchResult, now: float) -> None:
        """Record the final response of a page."""
        self.outcomes[response.verdict.reason] += 1
        self.ledger.record_response(page, response, now)

    def block(self, page: int, reason: str, now: float) -> None:
        """Record that the page will not be fetched, without a request."""
        self.outcomes[reason] += 1
        self.ledger.blocked(page, reason, None, now)

    def _run_hooks(self, response: FetchResult) -> None:
        page = response.verdict.page
        if page is not None and response.full_response is not None:
            response.verdict = replace(
                response.verdict, added=self.hooks.additions(HookPage.of(response.full_response, page))
            )

    def _hook_failed(self, hook: Hook, url: str, why: str) -> None:
        """Log every failure of a hook, and store the first of each hook in the database."""
        if self._log is not None:
            self._log.note(HOOK_FAILED, hook=hook.name, url=url, why=why)
        failures = self.hooks.failures[hook.name]
        if failures.n == 1:
            self.ledger.note(HOOK_FAILED, None, f"{hook.name}: {failures.first}")
