"""Where answers come in: they are read, and what they mean is told to the ledger. Whoever asked, and however."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from orienteer.answers.answer import Fetched
from orienteer.answers.meaning import Meaning, meaning_of
from orienteer.ledger.ledger import Ledger


class Intake:
    """Answers for one ledger; `outcomes` and `n_bytes` count what came in this run."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.outcomes: Counter[str] = Counter()
        self.n_bytes = 0
        self._with_text = ledger.plan.crawl.near_duplicates != "off" or ledger.reader is not None

    def read(self, answers: Sequence[Fetched]) -> list[Meaning]:
        """What answers for pages mean; all together, since a topic is several times as fast with many at once."""
        meanings = [meaning_of(answer, self._with_text) for answer in answers]
        if self.ledger.reader is None:
            return meanings
        pages = [(answer.request.url, meaning.page) for answer, meaning in zip(answers, meanings, strict=True)]
        scores = iter(self.ledger.reader.relevance([(url, page) for url, page in pages if page is not None]))
        return [meaning if meaning.page is None else replace(meaning, relevance=next(scores)) for meaning in meanings]

    def take_in(self, page: int, answer: Fetched, meaning: Meaning, now: float, digest: bytes | None = None) -> None:
        """An answer that will stay as it is becomes what is known of the page."""
        self.outcomes[meaning.reason] += 1
        self.ledger.take_in(page, answer, meaning, now, digest)

    def block(self, page: int, reason: str, now: float) -> None:
        """The page will not be fetched; nobody was asked."""
        self.outcomes[reason] += 1
        self.ledger.blocked(page, reason, None, now)
