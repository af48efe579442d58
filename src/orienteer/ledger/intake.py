"""Where answers come in: they are read, and what they mean is told to the ledger. Whoever asked, and however."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from orienteer.answers.answer import Fetched
from orienteer.extract.robot_rules import ANYBODY, robot_name
from orienteer.hooks.hook_names import Hook
from orienteer.hooks.hook_page import HookPage
from orienteer.hooks.page_hooks import PageHooks
from orienteer.ledger.ledger import Ledger
from orienteer.store.log import Log
from orienteer.workers.answer_reader import read_answer
from orienteer.workers.received import Reading, Received

HOOK_FAILED = "hook failed"  # in the log, and among the events of the database


class Intake:
    """Answers for one ledger; `outcomes` and `n_bytes` count what came in this run, `hooks` what hooks failed on."""

    def __init__(self, ledger: Ledger, hooks: Sequence[Hook] = (), log: Log | None = None) -> None:
        self.ledger = ledger
        self.outcomes: Counter[str] = Counter()
        self.n_bytes = 0
        self.hooks = PageHooks(hooks, self._hook_failed)
        self._log = log

    @property
    def reading(self) -> Reading:
        """What the crawl wants to know of its pages."""
        crawl = self.ledger.plan.crawl
        return Reading(
            signs=crawl.near_duplicates != "off",
            words=self.ledger.reader is not None,
            whole=bool(self.hooks),
            records=crawl.archive,
            revisits=crawl.archive and self.ledger.epoch is not None,
            requisites=crawl.requisites,
            robot=robot_name(self.ledger.plan.fetch.user_agent) or ANYBODY,
        )

    def read(self, answers: Sequence[Fetched]) -> list[Received]:
        """Answers that stand in the archive already, read here."""
        reading = replace(self.reading, records=False)
        return self.completed([read_answer(answer, reading) for answer in answers])

    def completed(self, answers: list[Received]) -> list[Received]:
        """With what the crawl itself says of pages: how relevant they are, and what hooks make of them.

        All together, since a topic is several times as fast with many at once.
        """
        if self.ledger.reader is not None:
            found = [(answer, answer.meaning.page) for answer in answers]
            pages = [(answer, page) for answer, page in found if page is not None]
            scores = self.ledger.reader.relevance([(answer.request.url, page) for answer, page in pages])
            for (answer, _), score in zip(pages, scores, strict=True):
                answer.meaning = replace(answer.meaning, relevance=score)
        if self.hooks:
            for answer in answers:
                self._run_hooks(answer)
        return answers

    def take_in(self, page: int, answer: Received, now: float) -> None:
        """An answer that will stay as it is becomes what is known of the page."""
        self.outcomes[answer.meaning.reason] += 1
        self.ledger.take_in(page, answer, now)

    def block(self, page: int, reason: str, now: float) -> None:
        """The page will not be fetched; nobody was asked."""
        self.outcomes[reason] += 1
        self.ledger.blocked(page, reason, None, now)

    def _run_hooks(self, answer: Received) -> None:
        page = answer.meaning.page
        if page is not None and answer.whole is not None:
            answer.meaning = replace(answer.meaning, added=self.hooks.additions(HookPage.of(answer.whole, page)))

    def _hook_failed(self, hook: Hook, url: str, why: str) -> None:
        """Every failure goes into the log, the first of each hook into the database."""
        if self._log is not None:
            self._log.note(HOOK_FAILED, hook=hook.name, url=url, why=why)
        failures = self.hooks.failures[hook.name]
        if failures.n == 1:
            self.ledger.note(HOOK_FAILED, None, f"{hook.name}: {failures.first}")
