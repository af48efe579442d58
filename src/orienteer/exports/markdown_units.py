"""The units of a page for Markdown, in document order.

    heading, paragraph (an item's, a term's, a caption's), image    the lines of one element
    code                                                            the whole code block
    table                                                           a list of rows

Tables with headings, code or other tables in their cells are layout tables: their cells are treated like the other
elements of the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from orienteer.extract.blocks import (
    CAPTION,
    CODE,
    HEADING,
    IMAGE,
    PARAGRAPH,
    Block,
    Cell,
    CodeText,
    Item,
    Quote,
    Table,
)

TABLE = "table"

_MAX_CELL_CHARS = 2_000
_MAX_CELL_LINES = 12
_MAX_COLUMNS = 40
_MAX_CELLS = 50_000


@dataclass(slots=True, eq=False)
class TableRow:
    """A row of a table: the lines of its cells, one cell for each column."""

    cells: list[list[Block]]

    @property
    def blocks(self) -> Iterator[Block]:
        for cell in self.cells:
            yield from cell


@dataclass(slots=True, eq=False)
class Unit:
    """A unit; `containers` are the quotes and items that contain it, outermost first; `header` is that of a table."""

    kind: str
    blocks: list[Block]
    containers: tuple[Quote | Item, ...]
    code: CodeText | None = None
    header: TableRow | None = None
    rows: list[TableRow] = field(default_factory=list)

    @property
    def anchor(self) -> str:
        return next((block.anchor for block in self.blocks if block.anchor), "")

    @property
    def n_words(self) -> int:
        if self.code is not None:
            return len(self.code.text.split())
        return sum(len(block.text.split()) for block in self.blocks)


def units_of(blocks: Sequence[Block], mask: Sequence[bool] | None = None) -> list[Unit]:
    """Return the units of a page; with `mask`, of the blocks for which it is true."""
    selected = [block for k, block in enumerate(blocks) if mask is None or mask[k]]
    tables = _Tables(selected)
    units: list[Unit] = []
    for block in selected:
        table = tables.of(block)
        last = units[-1] if units else None
        if table is not None:
            if table not in tables.done:
                tables.done.add(table)
                units.append(tables.unit(table, tables.outer(table, block)))
        elif block.code is not None:
            if not block.code.is_numbering and (last is None or last.code is not block.code):
                units.append(Unit(CODE, [block], tables.containers(block), block.code))
            elif last is not None and last.code is block.code:
                last.blocks.append(block)
        elif last is not None and last.kind == block.kind and _continues(last.blocks[-1], block):
            last.blocks.append(block)
        else:
            kind = block.kind if block.kind in (HEADING, IMAGE, CAPTION) else PARAGRAPH
            units.append(Unit(kind if block.kind != IMAGE else IMAGE, [block], tables.containers(block)))
    return [unit for unit in units if unit.code is None or unit.code.text.strip()]


def _continues(block: Block, other: Block) -> bool:
    """Return whether a line continues the same element after a `br`."""
    if block.kind == HEADING:
        return block.element.context is other.element.context
    return block.element is other.element and not other.anchor and block.kind != IMAGE


class _Tables:
    """Distinguishes data tables from layout tables."""

    def __init__(self, blocks: Iterable[Block]) -> None:
        self.done: set[Table] = set()
        self._lines: dict[Cell, list[Block]] = {}
        self._layouts: set[Table] = set()
        self._tables: set[Table] = set()
        for block in blocks:
            self._add(block)
        for table in self._tables - self._layouts:
            if not self._is_table(table):
                self._layouts.add(table)

    def _add(self, block: Block) -> None:
        cells = [container for container in block.containers() if isinstance(container, Cell)]
        if not cells:
            return
        self._tables.update(cell.table for cell in cells)
        self._layouts.update(cell.table for cell in cells[1:])
        innermost = cells[0]
        if block.kind == HEADING or block.code is not None:
            self._layouts.add(innermost.table)
        self._lines.setdefault(innermost, []).append(block)

    def _is_table(self, table: Table) -> bool:
        cells = table.cells
        n_columns = max(cell.column + cell.n_columns for cell in cells)
        if not (2 <= n_columns <= _MAX_COLUMNS and len(cells) <= _MAX_CELLS and table.n_rows >= 2):
            return False
        for cell in cells:
            lines = self._lines.get(cell, ())
            if len(lines) > _MAX_CELL_LINES or sum(len(block.text) for block in lines) > _MAX_CELL_CHARS:
                return False
        return True

    def of(self, block: Block) -> Table | None:
        """Return the data table that contains a block; None if there is none."""
        for container in block.containers():
            if isinstance(container, Cell):
                return None if container.table in self._layouts else container.table
        return None

    def containers(self, block: Block) -> tuple[Quote | Item, ...]:
        return tuple(outer for outer in block.containers() if not isinstance(outer, Cell))[::-1]

    def outer(self, table: Table, block: Block) -> tuple[Quote | Item, ...]:
        """Return the containers of a table, outermost first."""
        found: list[Quote | Item] = []
        inside = True
        for container in block.containers():
            if isinstance(container, Cell):
                inside = inside and container.table is not table
            elif not inside:
                found.append(container)
        return tuple(found[::-1])

    def unit(self, table: Table, containers: tuple[Quote | Item, ...]) -> Unit:
        rows, is_header = self._grid(table)
        header = rows.pop(0) if is_header else None
        blocks = [block for row in ([header] if header else []) + rows for block in row.blocks]
        return Unit(TABLE, blocks, containers, None, header, rows)

    def _grid(self, table: Table) -> tuple[list[TableRow], bool]:
        """Return the rows, with a cell for each column, and whether the first is a header."""
        by_row: list[list[Cell]] = [[] for _ in range(table.n_rows)]
        for cell in table.cells:
            by_row[cell.row].append(cell)
        taken: dict[int, int] = {}  # columns covered by a rowspan, and for how many more rows
        rows = []
        for cells in by_row:
            if not cells:
                continue
            row: list[list[Block]] = []
            for cell in cells:
                while taken.get(len(row), 0):
                    row.append([])
                for k in range(min(cell.n_columns, _MAX_COLUMNS - len(row))):
                    if cell.n_rows > 1:
                        taken[len(row)] = cell.n_rows
                    row.append(self._lines.get(cell, []) if k == 0 else [])
            rows.append(TableRow(row))
            taken = {column: n - 1 for column, n in taken.items() if n > 1}
        width = max(len(row.cells) for row in rows)
        for short in rows:
            short.cells += [[] for _ in range(width - len(short.cells))]
        filled = [cell for cell in by_row[0] if cell in self._lines]
        is_header = bool(filled) and all(cell.is_header for cell in filled) and len(rows) > 1
        return [row for k, row in enumerate(rows) if any(row.cells) or (k == 0 and is_header)], is_header
