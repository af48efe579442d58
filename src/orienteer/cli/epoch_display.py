"""How epochs are told: a refresh in one sentence, and all of them as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from orienteer.cli import display
from orienteer.cli.wording import counted, moment, size
from orienteer.store.visits import ASKED, VisitKind

if TYPE_CHECKING:
    from rich.table import Table

    from orienteer.inspect.epoch_status import EpochStatus
    from orienteer.ledger.revisiting import RefreshSettings

_SAME = (VisitKind.UNCHANGED, VisitKind.NOT_MODIFIED)
_TOLD = (VisitKind.NEW, VisitKind.CHANGED)
_TOLD_IF_ANY = (VisitKind.MISSING, VisitKind.GONE, VisitKind.OUT_OF_REACH, VisitKind.NOTHING)
_WORDS = {VisitKind.NOTHING: "new links lead to no page"}


def visits_in_words(visits: Mapping[str, int]) -> str:
    """`140 looked at: 5 new, 7 changed, 128 unchanged (101 of them not sent again); 4,020 not due`."""
    n = partial(_n, visits)
    parts = [f"{n(kind):,} {kind.words}" for kind in _TOLD]
    unsent = n(VisitKind.NOT_MODIFIED)
    how = f" ({unsent:,} of them not sent again)" if unsent else ""
    parts.append(f"{n(*_SAME):,} unchanged{how}")
    parts += [f"{n(kind):,} {_WORDS.get(kind, kind.words)}" for kind in _TOLD_IF_ANY if n(kind)]
    text = f"{n(*ASKED):,} looked at: {', '.join(parts)}"
    if n(VisitKind.CARRIED):
        text += f"; {n(VisitKind.CARRIED):,} not due"
    if n(VisitKind.LEFT):
        text += f"; {n(VisitKind.LEFT):,} left for later, too many links away"
    return text


def kept_in_words(visits: Mapping[str, int], settings: RefreshSettings) -> str:
    """What becomes of pages that could not be had; nothing where there are none."""
    n_kept = _n(visits, VisitKind.MISSING, VisitKind.OUT_OF_REACH)
    if not n_kept:
        return ""
    pages = counted(n_kept, "page is", "pages are")
    rule = f"{counted(settings.gone_after, 'refresh', 'refreshes')} over {settings.gone_after_days:g} days or more"
    return f"{pages} kept as last seen; a page is forgotten when it is missing in {rule}"


def epochs_table(epochs: Sequence[EpochStatus]) -> Table:
    """A row for each epoch."""
    columns = (
        ("visits", ASKED), ("new", {VisitKind.NEW}), ("changed", {VisitKind.CHANGED}), ("same", _SAME),
        ("not due", {VisitKind.CARRIED}), ("missing", {VisitKind.MISSING}), ("gone", {VisitKind.GONE}),
        ("down", {VisitKind.OUT_OF_REACH}),
    )  # fmt: skip
    table = display.columns_table(None, ("epoch", True), ("began", False), *((name, True) for name, _ in columns))
    table.box, table.padding = None, (0, 2, 0, 0)
    table.columns[1].no_wrap = True
    for epoch in epochs:
        began = moment(epoch.began)[:10] if epoch.began is not None else ""
        counts = [_n(epoch.visits, *kinds) for _, kinds in columns]
        table.add_row(str(epoch.number), began, *(f"{n:,}" if n else "·" for n in counts))
    return table


def savings_in_words(epochs: Sequence[EpochStatus]) -> str:
    """What servers did not have to send again; nothing where they had to."""
    n_same = sum(_n(epoch.visits, *_SAME) for epoch in epochs)
    n_unsent = sum(_n(epoch.visits, VisitKind.NOT_MODIFIED) for epoch in epochs)
    if not n_unsent:
        return ""
    unsent = size(sum(epoch.unsent_bytes for epoch in epochs))
    return f"{n_unsent:,} of the {counted(n_same, 'time')} that a page was the same, it was not sent again: {unsent}."


def _n(visits: Mapping[str, int], *kinds: VisitKind) -> int:
    return sum(visits.get(kind.words, 0) for kind in kinds)
