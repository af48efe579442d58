"""Furniture: lines that stand on many pages of a host, which no single page can tell from its text.

While the pages of a host are read, pairs of lines that follow one another are counted, each once a page. Furniture
comes with its surroundings: a menu stands beside the same lines everywhere, while `Parameters`, a licence in an example
or a line of code stand between other lines on each page. So a line repeats as often as the more frequent of the two
pairs that it is part of.

Repetition is evidence beside the score of the model (`main_text`), which it raises or lowers: a line of the model's
main text that repeats on most pages is furniture, one that repeats on a few is not. Of a page whose main text would all
but vanish, the main text is the model's: pages of the same content do not erase each other. Pages that share
their long lines are counted once, for the same reason.

Memory is bounded: a host has at most `MAX_PAIRS` pairs, of which those seen once are forgotten when there are more.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from orienteer.extract.main_text import MAIN

MIN_PAGES = 5  # of a host: with fewer, nothing is said of them
MAX_PAIRS = 200_000  # of a host
MAX_HOSTS = 20_000

_LONG_CHARS = 60
_SELDOM = 2
_N_SKETCHED = 3  # long lines by which pages that say the same are told
_LEAST_LEFT = 0.3  # of the characters of the model's main text
_FIGURES = re.compile(r"\d+")

# What repetition adds to the logarithm of the odds of a score, by the share of pages that have the line.
_SHARES = (0.0, 0.02, 0.06, 0.15, 0.3, 0.6, 1.0)
_EVIDENCE = (4.0, 3.5, 3.0, 1.0, -1.0, -5.0, -7.0)
_AT_EDGES = 1.0  # the most that it adds before the first and behind the last line of main text


@dataclass(slots=True)
class _Host:
    n_pages: int = 0
    pairs: dict[int, int] = field(default_factory=dict)
    sketches: set[int] = field(default_factory=set)

    def sketch(self, lines: Sequence[str], numbers: Sequence[int], pairs: Sequence[int]) -> int:
        """The same for pages that say the same, of some long lines that hardly any page has so far."""
        count = self.pairs.get
        long = {
            number
            for line, number, pair in zip(lines, numbers, pairs, strict=False)
            if len(line) >= _LONG_CHARS and count(pair, 0) <= _SELDOM
        }
        return hash(tuple(sorted(long)[:_N_SKETCHED] if len(long) >= _N_SKETCHED else numbers))


class Furniture:
    """What repeats on the pages of each host: `learn` from all of them first, then ask of each."""

    def __init__(self) -> None:
        self._hosts: dict[str, _Host] = {}

    def learn(self, host: str, lines: Sequence[str]) -> None:
        """Count the lines of another page."""
        known = self._hosts.get(host)
        if known is None:
            if len(self._hosts) >= MAX_HOSTS:
                return
            known = self._hosts[host] = _Host()
        numbers = _numbers(lines)
        pairs = _pairs(numbers)
        sketch = known.sketch(lines, numbers, pairs)
        if sketch in known.sketches:
            return
        known.sketches.add(sketch)
        known.n_pages += 1
        for pair in set(pairs):
            known.pairs[pair] = known.pairs.get(pair, 0) + 1
        if len(known.pairs) > MAX_PAIRS:
            known.pairs = {pair: n for pair, n in known.pairs.items() if n > 1}

    def repeated(self, host: str, lines: Sequence[str]) -> NDArray[np.float64] | None:
        """On what share of the other pages of the host each line stands; None where too few pages are known."""
        known = self._hosts.get(host)
        if known is None or known.n_pages < MIN_PAGES:
            return None
        counts = np.array([known.pairs.get(pair, 0) for pair in _pairs(_numbers(lines))], np.float64)
        counts = np.maximum(counts - 1, 0)  # this page itself
        return np.maximum(counts[:-1], counts[1:]) / (known.n_pages - 1)

    def main_lines(self, host: str, lines: Sequence[str], scores: bytes) -> NDArray[np.bool_]:
        """Which lines of a page are main text, by their scores and by how often they repeat."""
        by_model = np.frombuffer(scores, np.uint8)
        is_main = by_model >= MAIN
        shares = self.repeated(host, lines) if len(lines) else None
        if shares is None:
            return is_main
        likely = np.clip(by_model / 256, 0.002, 0.998)
        evidence = np.interp(shares, _SHARES, _EVIDENCE)
        odds = np.log(likely / (1 - likely))
        inside = np.nonzero(odds + np.minimum(evidence, 0) >= 0)[0]
        if len(inside):
            evidence[: inside[0]] = np.minimum(evidence[: inside[0]], _AT_EDGES)
            evidence[inside[-1] + 1 :] = np.minimum(evidence[inside[-1] + 1 :], _AT_EDGES)
        without = odds + evidence >= 0
        chars = np.array([len(line) for line in lines])
        if chars[without & is_main].sum() < _LEAST_LEFT * chars[is_main].sum():
            return is_main
        return without


def _numbers(lines: Sequence[str]) -> list[int]:
    """A number for each line, the same for lines that differ in case or in figures."""
    return [_number(_FIGURES.sub("0", line.casefold())) for line in lines]


def _number(text: str) -> int:
    """The same in every process, unlike `hash`: so an index made anew is the same."""
    return int.from_bytes(blake2b(text.encode(errors="replace"), digest_size=7).digest())


def _pairs(numbers: Sequence[int]) -> list[int]:
    """A number for each line and the next; with the beginning and the end of the page one more than there are lines."""
    return [hash(pair) for pair in zip([0, *numbers], [*numbers, 0], strict=True)]
