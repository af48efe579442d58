"""The HTML of results in a notebook, and their conversion to data frames.

Untrusted texts (URLs, titles) are escaped and shortened, without invisible characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
