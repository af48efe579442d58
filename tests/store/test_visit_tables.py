"""Epochs and visits: rows are read back, and visits have the links that the Crawl received."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orienteer.errors import CrawlFolderError
from orienteer.store import history
from orienteer.store.archive import Position
from orienteer.store.database import Database
from orienteer.store.history import DonePages, KnownPages
from orienteer.store.page_row import PageRow
from orienteer.store.visits import EpochRow, Revisits, Visit, VisitKind

FETCHED, FAILED, BLOCKED = 2, 3, 4


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.create(tmp_path / "crawl.db") as database:
        database.urls.add(0, [f"http://a.test/{k}" for k in range(100)])
        yield database


def page(number: int, position: int, links: Any = (), **more: Any) -> PageRow:
    return PageRow(number, position, more.pop("state", FETCHED), links=np.array(links, np.uint32), **more)


def epoch(number: int, **changed: Any) -> EpochRow:
    values: dict[str, Any] = {
        "began": 10.5, "ended": None, "position": 7, "hops": 5, "seeds": np.array([1, 9], np.uint32),
        "trust": np.array([0.25, 0.75]), "due": np.array([0, 3, 99], np.uint32),
    }  # fmt: skip
    return EpochRow(number, **values | changed)


def test_epochs_come_back_in_order(database: Database) -> None:
    assert database.epochs.all() == []
    assert database.epochs.last() is None
    database.epochs.add(epoch(2, hops=None, due=np.empty(0, np.uint32)))
    database.epochs.add(epoch(1))
    database.epochs.end(1, 99.0)
    assert database.epochs.all() == [(1, 10.5, 99.0, 7, 2, 3), (2, 10.5, None, 7, 2, 0)]
    last = database.epochs.last()
    assert last is not None
    assert last[:5] == (2, 10.5, None, 7, None)
    database.epochs.add(epoch(3))
    last = database.epochs.last()
    assert last is not None
    assert last[:5] == (3, 10.5, None, 7, 5)
    assert last.seeds.tolist() == [1, 9]
    assert last.trust.tolist() == [0.25, 0.75]
    assert last.due.tolist() == [0, 3, 99]


@pytest.mark.parametrize("per_batch", [1, 2, 100])
def test_visits_have_the_links_that_the_crawl_received(
    database: Database, monkeypatch: pytest.MonkeyPatch, per_batch: int
) -> None:
    """The links of a page whose visit failed stay in the database, but the Crawl did not receive them."""
    monkeypatch.setattr(history, "PAGES_PER_BATCH", per_batch)
    database.pages.add(page(5, 0, [1, 2]))
    database.pages.add(page(6, 1, [3]))
    database.pages.add(page(7, 2, [4]))
    database.pages.add(page(8, 3, [5, 6, 7]))
    database.visits.add(Visit(4, 6, VisitKind.NOT_MODIFIED, FETCHED, 1.0, archived=Position(0, 5, 9)))
    database.visits.add(Visit(5, 5, VisitKind.MISSING, FAILED, 2.0))
    database.history.add_known(6, [11])
    database.visits.add(Visit(7, 7, VisitKind.MISSING, FETCHED, 3.0, redirect_to=8))
    database.visits.add(Visit(8, 9, VisitKind.LEFT, BLOCKED, 4.0))
    database.visits.add(Visit(9, 8, VisitKind.CARRIED, FETCHED, 5.0))
    events = []
    for batch in database.history.visits_from(4):
        if isinstance(batch, KnownPages):
            events.append((batch.position, batch.pages.tolist()))
            continue
        assert isinstance(batch, DonePages)
        for k in range(len(batch.pages)):
            links = batch.links[batch.link_offsets[k] : batch.link_offsets[k + 1]].tolist()
            events.append(
                (int(batch.positions[k]), int(batch.pages[k]), int(batch.states[k]), links, bool(batch.requested[k]))
            )
    assert events == [
        (4, 6, FETCHED, [3], True), (5, 5, FAILED, [], True), (6, [11]), (7, 7, FETCHED, [8], True),
        (8, 9, BLOCKED, [], False), (9, 8, FETCHED, [5, 6, 7], False),
    ]  # fmt: skip
    assert [batch.pages.tolist() for batch in database.history.visits_from(9)] == [[8]]


def test_visits_are_counted_by_kind(database: Database) -> None:
    database.pages.add(page(1, 0, size_bytes=100))
    database.pages.add(page(2, 1, size_bytes=20))
    for position, number, kind in ((2, 1, VisitKind.NOT_MODIFIED), (3, 2, VisitKind.UNCHANGED), (4, 3, VisitKind.LEFT)):
        database.visits.add(Visit(position, number, kind, FETCHED, 1.0))
    assert database.visits.counts(2) == {VisitKind.UNCHANGED: 1, VisitKind.NOT_MODIFIED: 1, VisitKind.LEFT: 1}
    assert database.visits.counts(3, 4) == {VisitKind.UNCHANGED: 1}
    assert database.visits.unsent_bytes(2) == 100
    assert database.visits.unsent_bytes(3) == 0


def test_seen_pages(database: Database) -> None:
    assert len(database.visits.seen_pages().pages) == 0
    database.pages.add(page(4, 0, time=7.0))
    database.pages.add(page(2, 1, time=8.0, state=BLOCKED))
    assert database.visits.revisits(4) is None
    revisits = Revisits(4, 1.0, 9.0, 5, 2, 1, 8.5)
    database.visits.set_revisits(Revisits(4, 1.0, 9.0))
    database.visits.set_revisits(revisits)
    assert database.visits.revisits(4) == revisits
    seen = database.visits.seen_pages()
    assert seen.pages.tolist() == [4, 2]
    assert seen.states.tolist() == [FETCHED, BLOCKED]
    assert seen.first_times.tolist() == [1.0, 8.0]
    assert seen.checked.tolist() == [9.0, 8.0]
    assert (seen.n_checks.tolist(), seen.n_changes.tolist(), seen.n_missing.tolist()) == ([5, 0], [2, 0], [1, 0])


def test_a_changed_page_keeps_its_position(database: Database) -> None:
    database.pages.add(page(4, 0, [1], title="old"))
    database.pages.add(page(2, 1))
    database.pages.change(page(4, 0, [1, 2], title="new", etag='"e"', last_modified="Mon"))
    found = database.pages.row(4)
    assert found is not None
    assert (found.title, found.links.tolist(), found.etag, found.last_modified) == ("new", [1, 2], '"e"', "Mon")
    (done,) = database.history.pages_after()
    assert done.pages.tolist() == [4, 2]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE visit SET kind = 77",
        "UPDATE visit SET kind = 'x'",
        "UPDATE epoch SET trust = x'01'",
        "UPDATE epoch SET due = x'0102'",
        "UPDATE epoch SET seeds = 5",
        "UPDATE visit SET state = 'x'",
        "DELETE FROM page",
        "UPDATE page SET id = 'x', time = 'y'",
    ],
)
def test_damage_is_a_one_line_error(database: Database, damage: str) -> None:
    database.pages.add(page(4, 0, [1]))
    database.epochs.add(epoch(1))
    database.visits.add(Visit(1, 4, VisitKind.CARRIED, FETCHED, 1.0))
    database.commit()
    database.connection.write(damage)
    with pytest.raises(CrawlFolderError) as error:
        database.epochs.last()
        database.visits.counts(0)
        list(database.history.visits_from(1))
        database.visits.seen_pages()
    assert "\n" not in str(error.value)
