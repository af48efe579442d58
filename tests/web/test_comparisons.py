"""Finished comparisons: each kind that the commands print is read, and what is none is refused in a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orienteer.errors import InputError
from orienteer.web.comparisons import Comparisons, read_comparison
from tests.web import comparison_files


def read(tmp_path: Path, data: Any) -> Any:
    path = tmp_path / "some.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return read_comparison(path)


def test_policies(tmp_path: Path) -> None:
    data = comparison_files.policies(uniform=True)
    found = read(tmp_path, data)
    assert (found.kind, found.name) == ("policies", "some")
    assert found.names == sorted(comparison_files.POLICIES)
    assert [row.name for row in found.rows] == [policy["policy"] for policy in data["policies"]]
    assert found.headings[:4] == ["policy", "90 % actual", "90 % own", "90 % certified"]
    assert all(len(row.cells) == len(found.headings) - 1 for row in found.rows)
    first = data["policies"][0]
    assert found.rows[0].cells[2] == f"{first['fetches_until']['certified']['0.9']:,}"
    proved, actual, uniform = found.charts
    assert proved.y_scale == "proof"
    assert proved.levels == data["levels"]
    assert proved.series[0].values == first["curves"]["lower"]["values"]
    assert {series.name for series in proved.series if series.style == "dotted"} == {"rankmass"}
    assert actual.series[0].style == "limit"
    assert actual.series[1].values == first["curves"]["actual"]["values"]
    assert "uniform" in uniform.title


def test_harvests(tmp_path: Path) -> None:
    data = comparison_files.harvest()
    found = read(tmp_path, data)
    assert (found.kind, len(found.charts)) == ("harvest", 1)
    best, *curves = found.charts[0].series
    assert best.positions == [0, data["n_targets"], data["n_reached"]]
    assert [series.name for series in curves] == [policy["policy"] for policy in data["policies"]]
    assert found.about.startswith("labels.txt: ")
    assert found.rows[0].cells[0] == f"{data['policies'][0]['area']:.3f}"


def test_seeds(tmp_path: Path) -> None:
    data = comparison_files.seeds()
    found = read(tmp_path, data)
    assert found.kind == "seeds"
    assert [chart.x_title for chart in found.charts] == ["seeds", "hops"]
    assert set(found.names) == set(data["by_seeds"])
    for series in found.charts[0].series:
        assert series.values == data["by_seeds"][series.name]["pages"]["coverage"]
        assert series.positions == [1, 2, 3, 4]
    last = [float(row.cells[0].removesuffix(" %")) for row in found.rows]
    assert last == sorted(last, reverse=True)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not the JSON"),
        ("\ufeff{", "not the JSON"),
        ("[" * 100_000, "not the JSON"),
        ("[]", "not a comparison"),
        ("{}", "not a comparison"),
        ('{"ceilings": 3}', "not a comparison as.*KeyError"),
        ('{"ceilings": {}, "policies": [], "levels": []}', "IndexError"),
        ('{"by_seeds": {}, "by_hops": {}}', "not a comparison"),
        ('{"best_area": 1, "policies": "abc"}', "TypeError"),
    ],
)
def test_what_is_none_is_refused(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "some.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=f"some.json: .*{why}"):
        read_comparison(path)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, "high"])
def test_curves_hold_numbers(tmp_path: Path, value: Any) -> None:
    data = comparison_files.policies()
    data["policies"][0]["curves"]["actual"]["values"][0] = value
    with pytest.raises(InputError, match="not a comparison"):
        read(tmp_path, data)


def test_curves_are_as_long_as_their_positions(tmp_path: Path) -> None:
    data = comparison_files.policies()
    data["policies"][0]["curves"]["actual"]["values"].pop()
    with pytest.raises(InputError, match="positions and"):
        read(tmp_path, data)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="gone.json: No such file"):
        read_comparison(tmp_path / "gone.json")


def test_those_in_the_folder_and_those_named(tmp_path: Path) -> None:
    assert Comparisons(tmp_path).entries() == []
    comparison_files.write_comparisons(tmp_path)
    other = tmp_path / "seeds.json"
    other.write_text(json.dumps(comparison_files.policies()), encoding="utf-8")
    entries = Comparisons(tmp_path, [other]).entries()
    kinds = {one.name: one.comparison.kind for one in entries if one.comparison is not None}
    assert kinds == {"seeds": "policies", "harvest": "harvest", "policies": "policies", "seeds (2)": "seeds"}
    assert [one.name for one in entries if one.problem] == ["wrong"]
