"""Decide which lines of pages are main text, using the lines that repeat on a host.

Boilerplate, such as a menu, occurs on many pages of a host. It is learned from the first `N_LEARNED` pages of the host
by id. So the main text of a page depends on its own lines and on these pages alone, and an index that was updated many
times equals a rebuilt one. The result is approximate for further pages: if the layout of a host changes later, more of
its boilerplate is taken for main text.

Each page stores the `basis` of its decision, a hash of the learned pages. If the basis of its host has changed, the
page is decided again, also after an interrupted run.
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


class BoilerplateFilter(Protocol):
    """Learns the boilerplate of a host from all its pages first, then classifies the lines of each."""

    def learn(self, host: str, lines: Sequence[str]) -> None: ...

    def main_lines(self, host: str, lines: Sequence[str], scores: bytes) -> NDArray[np.bool_]: ...


def update_main_lines(texts: PageTexts, learner: Callable[[], BoilerplateFilter]) -> int:
    """Decide again for all pages with an outdated basis; return how many these were."""
    by_host: dict[str, list[tuple[int, int, int]]] = {}
    for page, stamp, url, basis in texts.stamps_and_bases():
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


def _judge(
    texts: PageTexts, host: str, learned: list[int], stale: list[int], basis: int, boilerplate: BoilerplateFilter
) -> None:
    for page in learned:
        lines, scores = texts.lines(page)
        if scores:  # texts without scores, such as documents, do not share the layout of the host
            boilerplate.learn(host, lines)
    for start in range(0, len(stale), _PAGES_PER_TRANSACTION):
        judged = []
        for page in stale[start : start + _PAGES_PER_TRANSACTION]:
            lines, scores = texts.lines(page)
            judged.append((page, boilerplate.main_lines(host, lines, scores) if scores else None))
        texts.set_main(judged, basis)
