"""Detect boilerplate by comparing pages: lines that repeat on many pages of a host.

Pairs of adjacent lines are counted on all pages of a host, each pair once per page. Boilerplate repeats together with
its neighbors: a menu has the same lines next to it on every page, while `Parameters`, a licence in an example or a line
of code has other neighbors on each page. So a line is as frequent as the more frequent of its two pairs.

Repetition raises or lowers the score of the model (`main_text`): a line of the model's main text is boilerplate if it
repeats on most pages, but not if it repeats on a few. If the main text of a page would almost vanish, the decision of
the model stays, so that pages with the same content do not erase each other. For the same reason, pages that share
their long lines are counted once.

Memory is bounded: a host has at most `MAX_PAIRS` pairs; when there are more, pairs that were seen once are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from orienteer.extract.main_text import MAIN, whole_groups

MIN_PAGES = 5  # of a host; with fewer, repetition is no evidence
MAX_PAIRS = 200_000  # of a host
MAX_HOSTS = 20_000

_LONG_CHARS = 60  # from this length on, a line is long
_RARE = 2  # pages with a pair of lines
_N_SKETCHED = 3  # long lines that identify pages with the same content
_MIN_REMAINING = 0.3  # of the characters of the model's main text
_DIGITS = re.compile(r"\d+")

# What repetition adds to the log-odds of a score, by the share of pages that have the line.
_SHARES = (0.0, 0.02, 0.06, 0.15, 0.3, 0.6, 1.0)
_EVIDENCE = (4.0, 3.5, 3.0, 1.0, -1.0, -5.0, -7.0)
_AT_EDGES = 1.0  # the most that it adds before the first and after the last line of main text


@dataclass(slots=True)
class _HostLines:
    n_pages: int = 0
    pairs: dict[int, int] = field(default_factory=dict)
    sketches: set[int] = field(default_factory=set)

    def sketch(self, lines: Sequence[str], numbers: Sequence[int], pairs: Sequence[int]) -> int:
        """Return a hash of some long lines that few pages have so far; equal for pages with the same content."""
        count = self.pairs.get
        long = {
            number
            for line, number, pair in zip(lines, numbers, pairs, strict=False)
            if len(line) >= _LONG_CHARS and count(pair, 0) <= _RARE
        }
        return hash(tuple(sorted(long)[:_N_SKETCHED] if len(long) >= _N_SKETCHED else numbers))


class HostBoilerplate:
    """Detects boilerplate by host: `learn` from all pages first, then query `main_lines` for each."""

    def __init__(self) -> None:
        self._hosts: dict[str, _HostLines] = {}

    def learn(self, host: str, lines: Sequence[str]) -> None:
        """Count the lines of a page."""
        host_lines = self._hosts.get(host)
        if host_lines is None:
            if len(self._hosts) >= MAX_HOSTS:
                return
            host_lines = self._hosts[host] = _HostLines()
        numbers = _numbers(lines)
        pairs = _pairs(numbers)
        sketch = host_lines.sketch(lines, numbers, pairs)
        if sketch in host_lines.sketches:
            return
        host_lines.sketches.add(sketch)
        host_lines.n_pages += 1
        for pair in set(pairs):
            host_lines.pairs[pair] = host_lines.pairs.get(pair, 0) + 1
        if len(host_lines.pairs) > MAX_PAIRS:
            host_lines.pairs = {pair: n for pair, n in host_lines.pairs.items() if n > 1}

    def repeated(self, host: str, lines: Sequence[str]) -> NDArray[np.float64] | None:
        """Return the share of the other pages of the host that have each line; None if too few pages are known."""
        host_lines = self._hosts.get(host)
        if host_lines is None or host_lines.n_pages < MIN_PAGES:
            return None
        counts = np.array([host_lines.pairs.get(pair, 0) for pair in _pairs(_numbers(lines))], np.float64)
        counts = np.maximum(counts - 1, 0)  # this page itself
        return np.maximum(counts[:-1], counts[1:]) / (host_lines.n_pages - 1)

    def main_lines(self, host: str, lines: Sequence[str], scores: bytes, groups: bytes = b"") -> NDArray[np.bool_]:
        """Return which lines of a page are main text, by their scores and their repetition on the host.

        Groups of lines (`Places.numbered_groups`) are included as a whole, or not at all.
        """
        return whole_groups(self._main_lines(host, lines, scores), lines, groups)

    def _main_lines(self, host: str, lines: Sequence[str], scores: bytes) -> NDArray[np.bool_]:
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
        is_content = odds + evidence >= 0
        chars = np.array([len(line) for line in lines])
        if chars[is_content & is_main].sum() < _MIN_REMAINING * chars[is_main].sum():
            return is_main
        return is_content


def _numbers(lines: Sequence[str]) -> list[int]:
    """Hash each line, ignoring case and the values of numbers."""
    return [_number(_DIGITS.sub("0", line.casefold())) for line in lines]


def _number(text: str) -> int:
    """Hash a text deterministically, unlike `hash`, so that a rebuilt index is the same."""
    return int.from_bytes(blake2b(text.encode(errors="replace"), digest_size=7).digest())


def _pairs(numbers: Sequence[int]) -> list[int]:
    """Hash each pair of adjacent lines; with the beginning and the end of the page, one more than there are lines."""
    return [hash(pair) for pair in zip([0, *numbers], [*numbers, 0], strict=True)]
