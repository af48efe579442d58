from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import orienteer as ori
from orienteer.graph.link_graph import LinkGraph
from orienteer.seeds.value import on_grid, page_values, paper_value, unique_share, values_in_file
from tests.tables import over_rows

WEB = LinkGraph.from_links(3, [0, 1], [1, 2], urls=["http://a.org/", "A title, with spaces", "http://c.org/"])


def test_sums_on_the_grid_do_not_depend_on_the_order(rng: np.random.Generator) -> None:
    values = rng.normal(size=1000) * 10.0 ** rng.integers(-9, 9, 1000)
    snapped = on_grid(values)
    sums = {float(np.cumsum(rng.permutation(snapped))[-1]) for _ in range(20)}
    assert len(sums) == 1
    assert np.abs(snapped - values).max() <= 2.0**-52 * np.abs(values).sum()


def test_whole_numbers_stay_as_they_are(rng: np.random.Generator) -> None:
    values = rng.integers(-(10**9), 10**9, 1000).astype(float)
    assert (on_grid(values) == values).all()
    assert (on_grid(np.zeros(3)) == 0).all()
    tiny = np.array([5e-324, 0.0])
    assert (on_grid(tiny) == tiny).all()


def test_a_number_a_line(tmp_path: Path) -> None:
    path = tmp_path / "values.txt"
    path.write_text("# worth\n1\n-2.5\n\n3e1\n")
    assert page_values(WEB, path).tolist() == [1.0, -2.5, 30.0]
    packed = tmp_path / "values.txt.gz"
    packed.write_bytes(gzip.compress(b"1\n2\n3\n"))
    assert page_values(WEB, str(packed)).tolist() == [1.0, 2.0, 3.0]


def test_pages_named_by_id_or_url_and_the_rest_is_worth_one(tmp_path: Path) -> None:
    path = tmp_path / "values"
    path.write_text("http://c.org/ -10\nA title, with spaces 4\n")
    assert values_in_file(WEB, path).tolist() == [1.0, 4.0, -10.0]
    path.write_text("0\t7\n")
    assert values_in_file(WEB, path).tolist() == [7.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "names no value"),
        ("1\n2\n", "2 values for 3 pages"),
        ("1\nx\n2\n", "line 2: 'x' is not a number"),
        ("1\nnan\n2\n", "line 2: the value nan must be a finite number"),
        ("0 inf\n", "line 1: the value inf must be a finite number"),
        ("0 1\n0 2\n", "line 2: page 0 is named twice"),
        ("9 1\n", "line 1: page 9 is not in the graph"),
        ("http://nowhere.org/ 1\n", "line 1: no page of the graph has the URL"),
        ("0 1\n7\n", "line 2: "),
    ],
)
def test_faults_of_a_file_are_one_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "values.txt"
    path.write_text(text)
    with pytest.raises(ori.InputError, match=message):
        page_values(WEB, path)


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ori.InputError, match="no such file of values"):
        page_values(WEB, tmp_path / "none")
    with pytest.raises(ori.InputError, match="Is a directory"):
        page_values(WEB, tmp_path)
    (tmp_path / "a.gz").write_bytes(b"no gzip")
    with pytest.raises(ori.InputError, match="a.gz: the compressed file is corrupt"):
        page_values(WEB, tmp_path / "a.gz")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ori.InputError, match="no text file"):
        page_values(WEB, tmp_path / "binary")


@over_rows(
    ("value", "message"),
    [
        ([1, 2], "2 for 3 pages"),
        ([[1, 2, 3]], "3 for 3 pages"),
        ([1, np.nan, 2], "page 1 has the value nan"),
        ([1, 2, -np.inf], "page 2 has the value -inf"),
        (["a", "b", "c"], "expected one number per page"),
        ([1e308, 1e308, 1e308], "too large to be added up"),
    ],
)
def test_unusable_values_are_one_line(value: object, message: str) -> None:
    with pytest.raises(ori.InputError, match=message):
        page_values(WEB, value)


def test_the_papers_rule() -> None:
    assert paper_value(3).tolist() == [1, 1, 1]
    # A page that was clicked counts as clicked, spam or not.
    assert paper_value(3, spam=[True, True, False], clicked=[False, True, False]).tolist() == [-10, 10, 1]
    worth = paper_value(2, spam=[True, False], n_uncrawled=[4, 3], p_unique=[0.5, 1.0])
    assert worth.tolist() == [-8, 4]
    assert unique_share([0, 0, 0, 2], [1, 0, 0, 1]).tolist() == pytest.approx([2 / 3, 2 / 3, 2 / 3, 0])
    # Of the crawled pages alone; of site 1 there is none.
    found = unique_share([0, 0, 0, 2, 1], [True, False, False, True, False], [True, True, False, True, False])
    assert found.tolist() == pytest.approx([1 / 2, 1 / 2, 1 / 2, 0, 1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"spam": [True]}, "spam: 1 values for 2 pages"),
        ({"n_uncrawled": [1, -1]}, "n_uncrawled: the number of links must be 0 or more"),
        ({"n_uncrawled": [1, 1], "p_unique": 1.5}, "p_unique: a probability is from 0 to 1"),
        ({"n_uncrawled": [1, 1], "p_unique": [0.5]}, "p_unique: 1 values for 2 pages"),
    ],
)
def test_the_papers_rule_refuses_nonsense(arguments: dict, message: str) -> None:
    with pytest.raises(ori.InputError, match=message):
        paper_value(2, **arguments)
