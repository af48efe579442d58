"""Comparisons, read from the output of `orienteer compare --json` and `orienteer compare-seeds --json`.

They are the files DIR/compare/*.json and those of `serve --comparison`. There are three kinds, distinguished by their
keys: policies by the rank they cover and prove, focused policies by their harvest, methods of choosing seeds by the
coverage of their seeds. All become charts of curves and one table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, FiniteFloat

from orienteer.errors import InputError, OrienteerError
from orienteer.wording import counted, plain

FOLDER = "compare"
_MAX_BYTES = 50_000_000
_NAME_CHARS = 100
_NEVER = "–"

Style = Literal["line", "dotted", "limit"]


class CurveSeries(BaseModel):
    """A curve: `values[k]` at `positions[k]`. A *limit* is the best that is possible; a *dotted* curve is proved by
    the policy itself."""

    name: str
    positions: list[FiniteFloat]
    values: list[FiniteFloat]
    style: Style = "line"


class Chart(BaseModel):
    """Curves of shares, from 0 to 1. The scale *proof* is logarithmic in the distance to 1."""

    title: str
    x_title: str
    y_title: str
    x_scale: Literal["linear", "log"]
    y_scale: Literal["share", "proof"]
    levels: list[FiniteFloat] = []
    series: list[CurveSeries]


class ComparisonRow(BaseModel):
    name: str
    cells: list[str]


class ComparisonResponse(BaseModel):
    """A comparison. `names` are the compared policies or methods, sorted; the rows of the table start with the best."""

    name: str
    kind: Literal["policies", "harvest", "seeds"]
    about: str
    names: list[str]
    headings: list[str]
    rows: list[ComparisonRow]
    note: str
    charts: list[Chart]


class ComparisonEntry(NamedTuple):
    """A comparison by its name; `problem` says why it cannot be read."""

    name: str
    comparison: ComparisonResponse | None
    problem: str | None


class Comparisons:
    """The comparisons of a crawl folder, read at each request, since files may be added and deleted."""

    def __init__(self, folder: Path, files: Iterable[Path] = ()) -> None:
        self._folder = folder / FOLDER
        self._files = tuple(files)

    def entries(self) -> list[ComparisonEntry]:
        entries: list[ComparisonEntry] = []
        for name, path in self._paths().items():
            try:
                entries.append(ComparisonEntry(name, read_comparison(path, name), None))
            except OrienteerError as error:
                entries.append(ComparisonEntry(name, None, str(error)))
        return entries

    def _paths(self) -> dict[str, Path]:
        """Return the files by name, first those named on the command line."""
        inside = sorted(self._folder.glob("*.json")) if self._folder.is_dir() else []
        paths: dict[str, Path] = {}
        for path in (*self._files, *inside):
            stem = plain(path.stem, _NAME_CHARS)
            name, k = stem, 2
            while name in paths:
                name, k = f"{stem} ({k})", k + 1
            paths[name] = path
        return paths


def read_comparison(path: Path, name: str | None = None) -> ComparisonResponse:
    """Read a comparison; an InputError of one line if the file does not contain one."""
    data = _json_in(path)
    title = name or plain(path.stem, _NAME_CHARS)
    for mark, read in _KINDS.items():
        if isinstance(data, dict) and mark in data:
            try:
                return read(title, data)
            except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
                why = plain(f"{type(error).__name__}: {error}", 100)
                raise InputError(f"{path}: not a comparison as `orienteer compare --json` prints it ({why})") from None
    raise InputError(
        f"{path}: not a comparison; `orienteer compare --json` and `orienteer compare-seeds --json` print it"
    )


def _json_in(path: Path) -> Any:
    try:
        size_bytes = path.stat().st_size
        text = path.read_bytes() if size_bytes <= _MAX_BYTES else b""
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    if size_bytes > _MAX_BYTES:
        raise InputError(f"{path}: {size_bytes:,} bytes are too many for a comparison")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not the JSON of a comparison ({plain(str(error), 100)})") from None


def _of_policies(name: str, data: dict[str, Any]) -> ComparisonResponse:
    policies, levels = list(data["policies"]), [float(level) for level in data["levels"]]
    measures = list(policies[0]["fetches_until"])
    headings = [f"{_level(level)} {measure}" for level in levels for measure in measures]
    rows = [
        ComparisonRow(
            name=_name(policy["policy"]),
            cells=[
                *(_count(policy["fetches_until"][measure][str(level)]) for level in levels for measure in measures),
                _count(policy["n_fetched"]), f"{float(policy['cpu_s']):.2f}", f"{policy['memory_bytes'] / 1e6:,.1f}",
            ],
        )
        for policy in policies
    ]  # fmt: skip
    about = (
        f"{counted(int(data['n_pages']), 'page')}, {counted(int(data['n_links']), 'link')}, "
        f"{counted(int(data['n_trusted']), 'trusted page')}, damping {float(data['damping']):g}"
    )
    return ComparisonResponse(
        name=name,
        kind="policies",
        about=about,
        names=sorted(row.name for row in rows),
        headings=["policy", *headings, "fetched", "CPU s", "MB"],
        rows=rows,
        note="Pages fetched until a share of the rank is reached. actual: by the true rank of the pages fetched; own: "
        "by what the policy itself proves; certified: by the certificate. –: not in this run, or it proves nothing.",
        charts=[
            _proof_chart(policies, levels),
            *(_rank_chart(policies, truth, ceiling) for truth, ceiling in data["ceilings"].items()),
        ],
    )


_TRUTHS = {
    "actual": "Share of the true rank among the pages fetched",
    "uniform": "Share of the uniform PageRank among the pages fetched",
}


def _rank_chart(policies: list[Any], truth: str, ceiling: Any) -> Chart:
    return Chart(
        title=_TRUTHS.get(truth, truth),
        x_title="pages fetched",
        y_title="share of all rank",
        x_scale="log",
        y_scale="share",
        series=[
            _curve("no order can do better", ceiling, "limit"),
            *(_curve(policy["policy"], policy["curves"][truth]) for policy in policies),
        ],
    )


def _proof_chart(policies: list[Any], levels: list[float]) -> Chart:
    return Chart(
        title="Share of the rank that is proved to be among the pages fetched",
        x_title="pages fetched",
        y_title="at least this share of all rank",
        x_scale="log",
        y_scale="proof",
        levels=levels,
        series=[
            *(_curve(policy["policy"], policy["curves"]["lower"]) for policy in policies),
            *(
                _curve(policy["policy"], policy["curves"]["own"], "dotted")
                for policy in policies
                if "own" in policy["curves"]
            ),
        ],
    )


def _of_harvests(name: str, data: dict[str, Any]) -> ComparisonResponse:
    policies = list(data["policies"])
    levels = list(policies[0]["pages_until"])
    n_targets, n_reached = int(data["n_targets"]), int(data["n_reached"])
    best = CurveSeries(
        name="no order can do better",
        positions=[0, n_targets, n_reached],
        values=[0, 1, 1],
        style="limit",
    )
    task = plain(str(data["task"]), 100)
    rows = [
        ComparisonRow(
            name=_name(policy["policy"]),
            cells=[
                f"{float(policy['area']):.3f}", *(_count(policy["pages_until"][level]) for level in levels),
                f"{float(policy['cpu_s']):.2f}",
            ],
        )
        for policy in policies
    ]  # fmt: skip
    return ComparisonResponse(
        name=name,
        kind="harvest",
        about=f"{task + ': ' if task else ''}{counted(n_targets, 'relevant page')} among the {n_reached:,} that can be "
        f"reached ({int(data['n_pages']):,} in all)",
        names=sorted(row.name for row in rows),
        headings=["policy", "area", *(f"pages to {_level(float(level))}" for level in levels), "CPU s"],
        rows=rows,
        note="area: mean share of the relevant pages found, over all pages fetched; the best there can be is "
        f"{float(data['best_area']):.3f}.",
        charts=[
            Chart(
                title="Share of the relevant pages among the pages fetched",
                x_title="pages fetched",
                y_title="share of the relevant pages",
                x_scale="linear",
                y_scale="share",
                series=[best, *(_curve(policy["policy"], policy["curve"]) for policy in policies)],
            )
        ],
    )


def _of_seeds(name: str, data: dict[str, Any]) -> ComparisonResponse:
    by_seeds, by_hops = data["by_seeds"], data["by_hops"]
    first, *_ = by_seeds.values()
    measures = list(first)
    k, hops, fixed = int(data["k"]), int(data["hops"]), int(data["fixed_seeds"])
    best_first = sorted(by_seeds, key=lambda method: (-by_seeds[method][measures[0]]["coverage"][-1], method))
    rows = [
        ComparisonRow(
            name=_name(method),
            cells=[
                cell
                for measure in measures
                for cell in (
                    _share(by_seeds[method][measure]["coverage"][-1]),
                    _share(by_seeds[method][measure]["improvement"][-1], "+.0f"),
                    _share(by_seeds[method][measure]["of_greedy"][-1]),
                )
            ],
        )
        for method in best_first
    ]
    webs = f", mean of {counted(int(data['n_webs']), str(data['per']))}" if data["per"] else ""
    return ComparisonResponse(
        name=name,
        kind="seeds",
        about=f"{counted(int(data['n_pages']), 'page')}{webs}; {counted(k, 'seed')}, {counted(hops, 'hop')}",
        names=sorted(row.name for row in rows),
        headings=[
            "method",
            *(f"{measure}{what}" for measure in measures for what in ("", " over random", " of greedy")),
        ],
        rows=rows,
        note=f"Shares covered with {counted(k, 'seed')} within {counted(hops, 'hop')}; what that is more than random "
        "seeds cover, and the share of what the exact greedy covers.",
        charts=[
            _seed_chart(series, best_first, measure, title, x_title)
            for measure in measures
            for series, title, x_title in (
                (by_seeds, f"Share of the {measure} covered, {counted(hops, 'hop')}", "seeds"),
                (by_hops, f"Share of the {measure} covered, {counted(fixed, 'seed')}", "hops"),
            )
        ],
    )


def _seed_chart(by_method: Any, methods: Sequence[str], measure: str, title: str, x_title: str) -> Chart:
    curves = {method: by_method[method][measure]["coverage"] for method in methods}
    return Chart(
        title=title,
        x_title=x_title,
        y_title=f"share of the {measure}",
        x_scale="linear",
        y_scale="share",
        series=[
            _curve(method, {"positions": list(range(1, len(values) + 1)), "values": values})
            for method, values in curves.items()
        ],
    )


def _curve(name: str, data: Any, style: Style = "line") -> CurveSeries:
    series = CurveSeries(name=_name(name), positions=data["positions"], values=data["values"], style=style)
    if len(series.positions) != len(series.values):
        raise ValueError(f"the curve of {name} has {len(series.positions)} positions and {len(series.values)} values")
    return series


def _name(data: Any) -> str:
    return plain(str(data), _NAME_CHARS)


def _level(level: float) -> str:
    return f"{100 * level:.6g} %"


def _count(number: Any) -> str:
    return _NEVER if number is None else f"{int(number):,}"


def _share(share: Any, form: str = ".1f") -> str:
    return _NEVER if share is None else f"{100 * float(share):{form}} %"


# By a key that only this kind of comparison has.
_KINDS: dict[str, Callable[[str, dict[str, Any]], ComparisonResponse]] = {
    "ceilings": _of_policies,
    "best_area": _of_harvests,
    "by_seeds": _of_seeds,
}
