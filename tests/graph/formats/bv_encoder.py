"""A BV encoder for tests: slow and obvious, written from the definitions of format and codes, not from our decoder.

Bits are strings of 0 and 1 in the order of the stream. A graph is a list of rows, each the sorted links of a page,
which may link to itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from pathlib import Path

Row = list[int]

DEFAULT_CODES = {
    "OUTDEGREES": "GAMMA",
    "REFERENCES": "UNARY",
    "BLOCK_COUNT": "GAMMA",
    "BLOCKS": "GAMMA",
    "INTERVALS": "GAMMA",
    "RESIDUALS": "ZETA",
}


@dataclass(frozen=True)
class Settings:
    """`codes` are those that differ from the default, by part: {"RESIDUALS": "DELTA"}.

    `endianness` is not written where it is None, as in WebGraph's Java version.
    """

    window: int = 7
    min_interval: int = 4
    zetak: int = 3
    codes: dict[str, str] = field(default_factory=dict)
    endianness: str | None = None

    def number(self, part: str, n: int) -> str:
        code = (DEFAULT_CODES | self.codes)[part]
        return number_bits(code, n, self.zetak, self.endianness == "little")


def write_graph(path: Path, rows: list[Row], settings: Settings) -> None:
    """Write `path`.graph and `path`.properties."""
    bits = graph_bits(rows, settings)
    path.with_name(path.name + ".graph").write_bytes(packed(bits, settings.endianness == "little"))
    n_links = sum(map(len, rows))
    path.with_name(path.name + ".properties").write_text(properties_text(len(rows), n_links, settings))


def properties_text(n_pages: int, n_links: int, settings: Settings) -> str:
    flags = " | ".join(f"{part}_{code}" for part, code in settings.codes.items())
    lines = [
        "#BVGraph properties",
        "graphclass=it.unimi.dsi.webgraph.BVGraph",
        f"version={int(settings.endianness == 'little')}",
        f"nodes={n_pages}",
        f"arcs={n_links}",
        f"windowsize={settings.window}",
        f"minintervallength={settings.min_interval}",
        f"zetak={settings.zetak}",
        f"compressionflags={flags}",
    ]
    if settings.endianness:
        lines.append(f"endianness={settings.endianness}")
    return "\n".join(lines) + "\n"


def packed(bits: str, little: bool = False) -> bytes:
    """The bits in bytes, the first one highest (or lowest, where `little`), filled up with zeros."""
    bits += "0" * (-len(bits) % 8)
    if little:
        bits = "".join(bits[i : i + 8][::-1] for i in range(0, len(bits), 8))
    return int("1" + bits, 2).to_bytes(len(bits) // 8 + 1, "big")[1:]


def graph_bits(rows: list[Row], settings: Settings) -> str:
    codes: list[str] = []
    for page, row in enumerate(rows):
        codes.append(settings.number("OUTDEGREES", len(row)))
        if not row:
            continue
        missing = row
        if settings.window > 0:
            back = _best_reference(rows, page, settings.window)
            codes.append(settings.number("REFERENCES", back))
            if back > 0:
                reference = rows[page - back]
                codes += _blocks(row, reference, settings)
                missing = sorted(set(row) - set(reference))
        if missing and settings.min_interval > 0:
            intervals, missing = _intervals(missing, settings.min_interval)
            codes += _interval_numbers(page, intervals, settings)
        codes += _residuals(page, missing, settings)
    return "".join(codes)


def _best_reference(rows: list[Row], page: int, window: int) -> int:
    """How far back the page is that has most links in common with this one; 0 for none."""
    links = set(rows[page])
    shared = {back: len(links.intersection(rows[page - back])) for back in range(1, min(window, page) + 1)}
    best = max(shared, key=shared.__getitem__, default=0)
    return best if best and shared[best] else 0


def _blocks(row: Row, reference: Row, settings: Settings) -> list[str]:
    links = set(row)
    runs = [(taken, len(list(run))) for taken, run in groupby(target in links for target in reference)]
    lengths = [length for _, length in runs]
    if not runs[0][0]:
        lengths.insert(0, 0)
    lengths.pop()
    numbers = [settings.number("BLOCKS", length - (i > 0)) for i, length in enumerate(lengths)]
    return [settings.number("BLOCK_COUNT", len(lengths)), *numbers]


def _intervals(targets: Row, shortest: int) -> tuple[list[Row], Row]:
    """The runs of consecutive pages that are long enough, and the pages that are in none."""
    runs = [[t for _, t in run] for _, run in groupby(enumerate(targets), lambda pair: pair[1] - pair[0])]
    return [run for run in runs if len(run) >= shortest], [t for run in runs if len(run) < shortest for t in run]


def _interval_numbers(page: int, intervals: list[Row], settings: Settings) -> list[str]:
    numbers = [len(intervals)]
    for i, interval in enumerate(intervals):
        # Two intervals have at least one page between them.
        numbers.append(_natural(interval[0] - page) if i == 0 else interval[0] - intervals[i - 1][-1] - 2)
        numbers.append(len(interval) - settings.min_interval)
    return [settings.number("INTERVALS", number) for number in numbers]


def _residuals(page: int, targets: Row, settings: Settings) -> list[str]:
    gaps = [_natural(t - page) if i == 0 else t - targets[i - 1] - 1 for i, t in enumerate(targets)]
    return [settings.number("RESIDUALS", gap) for gap in gaps]


def _natural(number: int) -> int:
    """0, -1, 1, -2, 2, ... as 0, 1, 2, 3, 4, ..."""
    return 2 * number if number >= 0 else -2 * number - 1


@lru_cache(maxsize=1 << 16)
def number_bits(code: str, n: int, zetak: int = 3, little: bool = False) -> str:
    """n in a code named as in compressionflags: GAMMA, ZETA (with k = zetak), ZETA5, PI2, ..."""
    name, digits = re.fullmatch(r"([A-Z]+)(\d*)", code).groups()
    k = int(digits or zetak)
    if name == "UNARY":
        return "0" * n + "1"
    if name == "NIBBLE":
        octal = oct(n)[2:]
        last = len(octal) - 1
        return "".join(("1" if i == last else "0") + binary(int(d), 3, little) for i, d in enumerate(octal))
    if name == "GOLOMB":
        return number_bits("UNARY", n // k) + minimal_binary(n % k, k, little)
    width = (n + 1).bit_length() - 1
    rest = binary(n + 1 - 2**width, width, little)
    if name == "GAMMA":
        return number_bits("UNARY", width) + rest
    if name == "DELTA":
        return number_bits("GAMMA", width, little=little) + rest
    if name == "PI":
        return number_bits("UNARY", width >> k) + binary(width % 2**k, k, little) + rest
    assert name == "ZETA", name
    h = width // k
    return number_bits("UNARY", h) + minimal_binary(n + 1 - 2 ** (h * k), 2 ** (h * k + k) - 2 ** (h * k), little)


def binary(n: int, width: int, little: bool) -> str:
    bits = format(n, f"0{width}b") if width else ""
    return bits[::-1] if little else bits


def minimal_binary(n: int, bound: int, little: bool) -> str:
    width = bound.bit_length() - 1
    n_short = 2 ** (width + 1) - bound
    if n < n_short:
        return binary(n, width, little)
    return binary((n + n_short) // 2, width, little) + str((n + n_short) % 2)
