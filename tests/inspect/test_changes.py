"""What was new, changed and gone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from orienteer.errors import InputError
from orienteer.inspect.captures import Captures
from orienteer.inspect.changes import change_id, changes, crawl_id, epoch_changes
from orienteer.inspect.text_changes import describe_change
from orienteer.store.database import DatabaseView
from tests.changing_crawl import EDITED, GONE, NEW, SITE


@pytest.fixture
def database(changed: Path) -> Iterator[DatabaseView]:
    with DatabaseView(changed / "crawl.db") as database:
        yield database


def test_the_figures_of_the_epochs(database: DatabaseView) -> None:
    found = epoch_changes(database)
    assert [(one.epoch, one.new, one.changed, one.missing, one.gone) for one in found] == [
        (3, 0, 0, 0, 1),
        (2, 0, 0, 0, 0),
        (1, 1, 1, 1, 0),
        (0, 5, 0, 0, 0),
    ]
    assert all(one.ended is not None for one in found[:3])
    assert [one.n_all for one in found] == [1, 0, 3, 5]


def test_the_changes_of_all_epochs_the_newest_first(database: DatabaseView) -> None:
    found = list(changes(database))
    assert [(one.epoch, one.kind, one.url) for one in found[:1]] == [(3, "gone", GONE)]
    assert {(one.epoch, one.kind, one.url, one.title) for one in found[1:4]} == {
        (1, "changed", EDITED, "X2"),
        (1, "new", NEW, "New"),
        (1, "missing", GONE, ""),
    }
    assert {one.url for one in found[4:]} == set(SITE) - {GONE}  # of the first crawl what is still there
    assert [one.kind for one in found[4:]] == ["new"] * 4
    assert found[0].describe() == "The page is gone (http 404)."


def test_one_epoch_some_kinds_and_a_limit(database: DatabaseView) -> None:
    assert [one.url for one in changes(database, 1, ["changed"])] == [EDITED]
    assert [one.url for one in changes(database, 2)] == []
    assert list(changes(database, 0, ["gone"])) == []
    assert len(list(changes(database, limit=2))) == 2
    with pytest.raises(InputError, match=r"^there is no epoch 7; the last one is 3$"):
        changes(database, 7)


def test_ids_are_stable_and_differ(database: DatabaseView, changed: Path) -> None:
    ids = [change_id(crawl_id(database), one) for one in changes(database)]
    assert len(set(ids)) == len(ids)
    with closing(DatabaseView(changed / "crawl.db")) as again:
        assert [change_id(crawl_id(again), one) for one in changes(again)] == ids


def test_what_a_changed_page_says_now(database: DatabaseView, changed: Path) -> None:
    (change,) = changes(database, 1, ["changed"])
    with closing(Captures(changed)) as captures:
        captures.update()
        said = describe_change(captures, change)
    assert said == "The page has changed: 1 line added, 1 removed. It says now: Another line & more. new"
