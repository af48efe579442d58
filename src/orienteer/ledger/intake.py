"""Where answers come in: they are read, and what they mean is told to the ledger. Whoever asked, and however."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from orienteer.answers.answer import Fetched
from orienteer.answers.meaning import Meaning, meaning_of
from orienteer.hooks.hook_names import Hook
from orienteer.hooks.hook_page import HookPage
from orienteer.hooks.page_hooks import PageHooks
from orienteer.ledger.ledger import Ledger
from orienteer.store.log import Log

HOOK_FAILED = "hook failed"  # in the log, and among the events of the database


class Intake:
    """Answers for one ledger; `outcomes` and `n_bytes` count what came in this run, `hooks` what hooks failed on."""

    def __init__(self, ledger: Ledger, hooks: Sequence[Hook] = (), log: Log | None = None) -> None:
        self.ledger = ledger
        self.outcomes: Counter[str] = Counter()
        self.n_bytes = 0
        self.hooks = PageHooks(hooks, self._hook_failed)
        self._log = log
        self._with_text = ledger.plan.crawl.near_duplicates != "off" or ledger.reader is not None or bool(hooks)

    def read(self, answers: Sequence[Fetched]) -> list[Meaning]:
        """What answers for pages mean; all together, since a topic is several times as fast with many at once."""
        meanings = [meaning_of(answer, self._with_text) for answer in answers]
        if self.ledger.reader is not None:
            pages = [(answer.request.url, meaning.page) for answer, meaning in zip(answers, meanings, strict=True)]
            scores = iter(self.ledger.reader.relevance([(url, page) for url, page in pages if page is not None]))
            meanings = [
                meaning if meaning.page is None else replace(meaning, relevance=next(scores)) for meaning in meanings
            ]
        if self.hooks:
            meanings = [self._hooked(answer, meaning) for answer, meaning in zip(answers, meanings, strict=True)]
        return meanings

    def take_in(self, page: int, answer: Fetched, meaning: Meaning, now: float, digest: bytes | None = None) -> None:
        """An answer that will stay as it is becomes what is known of the page."""
        self.outcomes[meaning.reason] += 1
        self.ledger.take_in(page, answer, meaning, now, digest)

    def block(self, page: int, reason: str, now: float) -> None:
        """The page will not be fetched; nobody was asked."""
        self.outcomes[reason] += 1
        self.ledger.blocked(page, reason, None, now)

    def _hooked(self, answer: Fetched, meaning: Meaning) -> Meaning:
        if meaning.page is None:
            return meaning
        return replace(meaning, added=self.hooks.additions(HookPage.of(answer, meaning.page)))

    def _hook_failed(self, hook: Hook, url: str, why: str) -> None:
        """Every failure goes into the log, the first of each hook into the database."""
        if self._log is not None:
            self._log.note(HOOK_FAILED, hook=hook.name, url=url, why=why)
        failures = self.hooks.failures[hook.name]
        if failures.n == 1:
            self.ledger.note(HOOK_FAILED, None, f"{hook.name}: {failures.first}")
