"""Units of a page as Markdown blocks, nested in quotes and lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from orienteer.exports.markdown_text import LineWriter, at_start
from orienteer.exports.markdown_units import TABLE, TableRow, Unit, units_of
from orienteer.extract.blocks import CAPTION, CODE, HEADING, TERM, Block, Item, List, Quote

_FENCE = re.compile("`{3,}")
_NOT_IN_CODE = re.compile("[\x00-\x08\x0e-\x1f\x7f]")


def markdown_of(blocks: Sequence[Block], base: str, mask: Sequence[bool] | None = None) -> str:
    """Return a page as Markdown; with `mask`, the selected blocks. References are relative to `base`."""
    return rendered(units_of(blocks, mask), base)


def rendered(units: Iterable[Unit], base: str) -> str:
    """Return units as Markdown, each a block of lines."""
    return _Writer(base).written(units)


class _Writer:
    def __init__(self, base: str) -> None:
        self._lines = LineWriter(base)
        self._markers: dict[Item, str] = {}  # of begun items
        self._marker_styles: dict[List, int] = {}
        self._n_lists = 0

    def written(self, units: Iterable[Unit]) -> str:
        out: list[str] = []
        last: Unit | None = None
        for unit in units:
            lines = self._unit_lines(unit)
            if not lines:
                continue
            begun = [one for one in unit.containers if isinstance(one, Item) and one not in self._markers]
            if last is not None and not self._is_tight(last, unit, begun):
                out.append(self._blank(last, unit))
            self._begin(unit, begun, last)
            first, following = self._prefixes(unit, begun)
            out.append(first + lines[0])
            out += [following + line if line else following.rstrip() for line in lines[1:]]
            last = unit
        return "\n".join(out) + "\n" if out else ""

    # Containers of a unit

    def _is_tight(self, last: Unit, unit: Unit, begun: list[Item]) -> bool:
        """Return whether an item directly follows the text of another, or begins a list inside it."""
        if len(begun) != 1 or last.kind in (TABLE, HEADING, CODE) or unit.containers[-1:] != (begun[0],):
            return False
        outer = unit.containers[:-1]
        if last.containers == outer:
            # A nested list; an ordered list that does not begin with 1 cannot interrupt a paragraph.
            items = begun[0].list
            return bool(outer) and isinstance(outer[-1], Item) and (not items.is_ordered or begun[0].number == 1)
        if last.containers[: len(outer)] != outer or len(last.containers) <= len(outer):
            return False
        previous = last.containers[len(outer)]
        return isinstance(previous, Item) and previous.list is begun[0].list

    def _blank(self, last: Unit, unit: Unit) -> str:
        n_same = 0
        for one, other in zip(last.containers, unit.containers, strict=False):
            if one is not other:
                break
            n_same += 1
        return "".join(map(self._indent, unit.containers[:n_same])).rstrip()

    def _indent(self, container: Quote | Item) -> str:
        return "> " if isinstance(container, Quote) else " " * len(self._markers[container])

    def _prefixes(self, unit: Unit, begun: list[Item]) -> tuple[str, str]:
        first = "".join([self._markers[one] if one in begun else self._indent(one) for one in unit.containers])
        return first, "".join(map(self._indent, unit.containers))

    def _begin(self, unit: Unit, begun: list[Item], last: Unit | None) -> None:
        for item in begun:
            if item.list not in self._marker_styles:
                # Adjacent lists alternate between two markers, or they would be one list.
                previous = self._previous_list(item, unit, last)
                self._marker_styles[item.list] = 0 if previous is None else 1 - self._marker_styles[previous]
            style = self._marker_styles[item.list]
            self._markers[item] = f"{item.number}{'.)'[style]} " if item.list.is_ordered else f"{'-*'[style]} "

    def _previous_list(self, item: Item, unit: Unit, last: Unit | None) -> List | None:
        """Return the list that ends directly before the list of this item."""
        if last is None:
            return None
        depth = unit.containers.index(item)
        if last.containers[:depth] != unit.containers[:depth] or len(last.containers) <= depth:
            return None
        previous = last.containers[depth]
        if not isinstance(previous, Item) or previous.list.is_ordered != item.list.is_ordered:
            return None
        if previous.list.is_of_definitions and item.list.is_of_definitions:
            return None  # generators often write a list for each term
        return previous.list

    # Contents of a unit

    def _unit_lines(self, unit: Unit) -> list[str]:
        if unit.kind == CODE:
            return _fenced(unit)
        if unit.kind == TABLE:
            return self._table_lines(unit)
        written = [self._lines.line(block.text, block.spans, len(unit.blocks) > 1) for block in unit.blocks]
        lines = [line for line in written if line]
        if unit.kind == HEADING:
            return ["#" * unit.blocks[0].level + " " + " ".join(lines)] if lines else []
        lines = [at_start(line) for line in lines]
        if unit.blocks[0].kind == TERM:
            lines = [_strong(line) for line in lines]
        elif unit.kind == CAPTION:
            lines = [_emphasised(line) for line in lines]
        return [line + "\\" for line in lines[:-1]] + lines[-1:]

    def _table_lines(self, unit: Unit) -> list[str]:
        width = len((unit.header or unit.rows[0]).cells) if unit.header or unit.rows else 0
        header = unit.header or TableRow([[] for _ in range(width)])
        lines = [self._row_line(header), "|" + " --- |" * width]
        return lines + [self._row_line(row) for row in unit.rows] if width else []

    def _row_line(self, row: TableRow) -> str:
        cells = ["<br>".join(filter(None, map(self._cell_line, cell))) for cell in row.cells]
        return "| " + " | ".join(cells) + " |"

    def _cell_line(self, block: Block) -> str:
        return self._lines.line(block.text, block.spans, in_table=True)


def _strong(line: str) -> str:
    return line if "*" in line else f"**{line}**"


def _emphasised(line: str) -> str:
    return line if "*" in line or "_" in line else f"*{line}*"


def _fenced(unit: Unit) -> list[str]:
    assert unit.code is not None
    text = _NOT_IN_CODE.sub("\ufffd", unit.code.text)
    longest = max((len(run) for run in _FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return [fence + unit.code.language, *text.split("\n"), fence]
