"""Which lines of pages are main text, when what repeats on a host counts.

Furniture, such as a menu, is told by standing on many pages of a host. It is learned from the first `N_LEARNED` pages
of a host that the crawl knows, by their numbers. So what is main text on a page follows from its own lines and from
these pages alone: an index that was brought up to date again and again is the same as one made anew. Pages beyond them
are judged by what was learned, which is what is approximate; a host whose look changed later keeps more of its
furniture.

Each page remembers by what it was judged (its `basis`). Where that is no longer what its host has, it is judged again,
however the last run ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from orienteer.search.page_reading import stamp_of
from orienteer.store.page_texts import PageTexts
from orienteer.url import host_of

N_LEARNED = 500
_PAGES_PER_TRANSACTION = 200


class Furniture(Protocol):
    """What learns furniture: from all pages first, then it judges each."""

    def learn(self, host: str, lines: Sequence[str]) -> None: ...

    def main_lines(self, host: str, lines: Sequence[str], scores: bytes) -> NDArray[np.bool_]: ...


def judge_again(texts: PageTexts, learner: Callable[[], Furniture]) -> int:
    """Bring up to date which lines are main text; how many pages were judged."""
    by_host: dict[str, list[tuple[int, int, int]]] = {}
    for page, stamp, url, basis in texts.judged():
        by_host.setdefault(host_of(url), []).append((page, stamp, basis))
    n_judged = 0
    for host, rows in by_host.items():
        learned = [(page, stamp) for page, stamp, _ in rows[:N_LEARNED]]
        basis = stamp_of(host, learned)
        stale = [page for page, _, judged_by in rows if judged_by != basis]
        if stale:
            _judge(texts, host, [page for page, _ in learned], stale, basis, learner())
            n_judged += len(stale)
    return n_judged


def _judge(texts: PageTexts, host: str, learned: list[int], stale: list[int], basis: int, furniture: Furniture) -> None:
    for page in learned:
        lines, scores = texts.lines(page)
        if scores:  # a text without them, such as that of a document, is no page of its host like others
            furniture.learn(host, lines)
    for start in range(0, len(stale), _PAGES_PER_TRANSACTION):
        judged = []
        for page in stale[start : start + _PAGES_PER_TRANSACTION]:
            lines, scores = texts.lines(page)
            judged.append((page, furniture.main_lines(host, lines, scores) if scores else None))
        texts.set_main(judged, basis)
