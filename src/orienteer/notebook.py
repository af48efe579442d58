"""Results in a notebook: their HTML, their conversion to data frames, and a line of progress.

Untrusted texts (URLs, titles) are escaped and shortened, without invisible characters.
"""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from html import escape
from typing import TYPE_CHECKING, Any

from orienteer.errors import MissingExtraError
from orienteer.wording import plain

if TYPE_CHECKING:
    import pandas

_MAX_CHARS = 120
_LEFT = ' style="text-align:left"'


def facts_html(title: str, facts: Iterable[tuple[str, object]]) -> str:
    """Return a small table of names and facts; empty facts are left out.

    >>> facts_html("a <b>", [("pages", 1200), ("hosts", "")])
    '<table><caption style="text-align:left">a &lt;b&gt;</caption><tr><th style="text-align:left">pages</th>\
<td style="text-align:left">1,200</td></tr></table>'
    """
    rows = [
        f"<tr><th{_LEFT}>{escape(name)}</th><td{_LEFT}>{_cell(fact)}</td></tr>" for name, fact in facts if fact != ""
    ]
    return _table(title, rows)


def rows_html(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], n_more: int = 0) -> str:
    """Return a small table with a row for each item; `n_more` is the number of rows that are left out."""
    head = "".join(f"<th{_LEFT}>{escape(column)}</th>" for column in columns)
    lines = [f"<tr>{''.join(f'<td{_LEFT}>{_cell(value)}</td>' for value in row)}</tr>" for row in rows]
    if n_more > 0:
        lines.append(f'<tr><td{_LEFT} colspan="{len(columns)}">… and {n_more:,} more</td></tr>')
    return _table(title, [f"<tr>{head}</tr>", *lines])


def data_frame(columns: Mapping[str, Any]) -> pandas.DataFrame:
    """Return the columns as a pandas DataFrame."""
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("a data frame", "pandas", "pandas") from None
    return pandas.DataFrame(dict(columns))


class ProgressLine:
    """A line that is replaced by the next one, below the cell of a notebook or on a terminal; else no output."""

    def __init__(self) -> None:
        self._in_notebook = _is_notebook()
        self._on_terminal = not self._in_notebook and sys.stderr is not None and sys.stderr.isatty()
        self._handle: Any = None

    def show(self, line: str) -> None:
        if self._in_notebook:
            data = {"text/plain": plain(line)}
            if self._handle is None:
                display: Any = importlib.import_module("IPython.display").display
                self._handle = display(data, raw=True, display_id=True)
            else:
                self._handle.update(data, raw=True)
        elif self._on_terminal:
            self._write(f"\r{plain(line)[: shutil.get_terminal_size().columns - 1]}\x1b[K")

    def end(self, line: str) -> None:
        """Leave this line in the notebook; remove it from the terminal."""
        if self._in_notebook:
            self.show(line)
        elif self._on_terminal:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        with suppress(OSError):  # a terminal that was closed must not end a crawl
            sys.stderr.write(text)
            sys.stderr.flush()


def _is_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


def _table(title: str, rows: Iterable[str]) -> str:
    return f"<table><caption{_LEFT}>{_cell(title)}</caption>{''.join(rows)}</table>"


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else escape(plain(str(value), _MAX_CHARS))
