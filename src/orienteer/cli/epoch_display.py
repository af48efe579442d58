"""Epochs as text: a refresh in one sentence, and all epochs as a table."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from orienteer.cli import display
from orienteer.store.visits import REQUESTED, VisitKind
from orienteer.wording import counted, moment, plain, size

if TYPE_CHECKING:
    from rich.table import Table

    from orienteer.inspect.changes import MissingPage
    from orienteer.inspect.tallies import EpochStatus
    from orienteer.ledger.settings import RefreshSettings

_SAME = (VisitKind.UNCHANGED, VisitKind.NOT_MODIFIED)
_ALWAYS = (VisitKind.NEW, VisitKind.CHANGED)
_IF_ANY = (VisitKind.MISSING, VisitKind.GONE, VisitKind.UNREACHABLE, VisitKind.NOTHING)
_MISSING_NAMED = 20
_WORDS = {VisitKind.NOTHING: "new links lead to no page"}


def describe_visits(visits: Mapping[str, int]) -> str:
    """`140 checked: 5 new, 7 changed, 128 unchanged (101 of them not sent again); 4,020 not due`."""
    n = partial(_n, visits)
    counts = [f"{n(kind):,} {kind.words}" for kind in _ALWAYS]
    unsent = n(VisitKind.NOT_MODIFIED)
    how = f" ({unsent:,} of them not sent again)" if unsent else ""
    counts.append(f"{n(*_SAME):,} unchanged{how}")
    counts += [f"{n(kind):,} {_WORDS.get(kind, kind.words)}" for kind in _IF_ANY if n(kind)]
    text = f"{n(*REQUESTED):,} checked: {', '.join(counts)}"
    if n(VisitKind.CARRIED):
        text += f"; {n(VisitKind.CARRIED):,} not due"
    if n(VisitKind.LEFT):
        text += f"; {n(VisitKind.LEFT):,} postponed, too many links away"
    return text


def describe_unchanged(visits: Mapping[str, int], settings: RefreshSettings) -> str:
    """Describe what happens to pages that are missing or unreachable; empty if there are none."""
    n_stored = _n(visits, VisitKind.MISSING, VisitKind.UNREACHABLE)
    if not n_stored:
        return ""
    pages = counted(n_stored, "page is", "pages are")
    rule = f"{counted(settings.gone_after, 'refresh', 'refreshes')} over {settings.gone_after_days:g} days or more"
    return f"{pages} missing or unreachable; a last copy is stored until the page is missing in {rule}"


def describe_missing(missing: Sequence[MissingPage], folder: Path) -> list[str]:
    """Return a line for each page missing now, up to a limit."""
    lines = [page.describe() for page in missing[:_MISSING_NAMED]]
    if (n_more := len(missing) - len(lines)) > 0:
        command = f"orienteer changes {shlex.quote(plain(str(folder)))} --kind missing"
        lines.append(f"and {counted(n_more, 'more missing page')}: {command}")
    return lines


def epochs_table(epochs: Sequence[EpochStatus]) -> Table:
    """Return a table with a row per epoch."""
    columns = (
        ("visits", REQUESTED), ("new", {VisitKind.NEW}), ("changed", {VisitKind.CHANGED}), ("same", _SAME),
        ("not due", {VisitKind.CARRIED}), ("missing", {VisitKind.MISSING}), ("gone", {VisitKind.GONE}),
        ("down", {VisitKind.UNREACHABLE}),
    )  # fmt: skip
    table = display.columns_table(None, ("epoch", True), ("began", False), *((name, True) for name, _ in columns))
    table.box, table.padding = None, (0, 2, 0, 0)
    table.columns[1].no_wrap = True
    for epoch in epochs:
        began = moment(epoch.began)[:10] if epoch.began is not None else ""
        counts = [_n(epoch.visits, *kinds) for _, kinds in columns]
        table.add_row(str(epoch.number), began, *(f"{n:,}" if n else "·" for n in counts))
    return table


def describe_savings(epochs: Sequence[EpochStatus]) -> str:
    """Describe the bytes that conditional requests saved; empty if there are none."""
    n_same = sum(_n(epoch.visits, *_SAME) for epoch in epochs)
    n_unsent = sum(_n(epoch.visits, VisitKind.NOT_MODIFIED) for epoch in epochs)
    if not n_unsent:
        return ""
    unsent = size(sum(epoch.unsent_bytes for epoch in epochs))
    return f"{n_unsent:,} of the {counted(n_same, 'time')} that a page was the same, it was not sent again: {unsent}."


def _n(visits: Mapping[str, int], *kinds: VisitKind) -> int:
    return sum(visits.get(kind.words, 0) for kind in kinds)
