"""The TOML file of `--settings`."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def tables_in(path: Path | None) -> dict[str, dict[str, Any]]:
    """Return its tables, as in crawl.toml; empty if no file is given."""
    from orienteer.ledger.plan import tables_of

    return {} if path is None else tables_of(_text_of(path), str(path))


def _text_of(path: Path) -> str:
    from orienteer.errors import InputError

    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"{path}: {reason}") from None
