"""Tests of pure functions over a table: one test, which tries every row and reports all that fail.

Thousands of rows as tests of their own would take longer to collect and to report than to try. A test whose rows need
a fixture for each of them uses `pytest.mark.parametrize`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def over_rows(names: str | Iterable[str], rows: Iterable[Any], ids: Any = None) -> Callable[[Any], Callable[..., None]]:
    """Replace `pytest.mark.parametrize`: the test is called with each of the rows."""
    arguments = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    listed = list(rows)
    assert listed, "a table without rows tests nothing"

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def test_all(**others: Any) -> None:
            failures = []
            for row in listed:
                values = dict(zip(arguments, (row,) if len(arguments) == 1 else row, strict=True))
                try:
                    test(**values, **others)
                except Exception as error:
                    error.add_note(f"with {values!r}")
                    failures.append(error)
            if len(failures) == 1:
                raise failures[0]
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(listed)} rows", failures)

        kept = [one for name, one in inspect.signature(test).parameters.items() if name not in arguments]
        test_all.__signature__ = inspect.Signature(kept)  # type: ignore[attr-defined]  # pytest fills in what is left
        return test_all

    return decorated
