"""Values of pages: 1, or a number per page from an array or a file, or the paper's rule.

Values may be negative (spam). They are rounded to a grid on which every sum is exact in float64, in steps of 2^-52 of
the sum of all absolute values. Invariant: sums do not depend on the order of addition, so ties are the same on every
machine. Integers whose absolute values add up to less than 2^52 are not changed.
"""

from __future__ import annotations

import math
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orienteer.errors import InputError, OrienteerError
from orienteer.files.compressed import text_of
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.page_names import page_named

Value = ArrayLike | str | PathLike[str] | None

PAPER = "paper"  # selects the paper's rule instead of a file of values; a file of that name is ./paper

_SPAM, _CLICKED = -10.0, 10.0


def page_values(graph: LinkGraph, value: Value = None) -> NDArray[np.float64]:
    """Return the value of every page, on the grid. A text or a path is a file (see `values_in_file`)."""
    if value is None:
        return np.ones(graph.n_pages)
    if isinstance(value, str | PathLike):
        return on_grid(values_in_file(graph, Path(value)))
    try:
        values = np.asarray(value, np.float64)
    except (ValueError, TypeError):
        raise InputError("values: expected one number per page") from None
    if values.shape != (graph.n_pages,):
        raise InputError(f"values: {values.size:,} for {graph.n_pages:,} pages")
    return on_grid(values)


def on_grid(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round the values so that all sums of them are exact."""
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise InputError(f"values: page {int(bad[0])} has the value {values[bad[0]]}; it must be a finite number")
    with np.errstate(over="ignore"):
        total = float(np.abs(values).sum())
    if not math.isfinite(total):
        raise InputError("values: they are too large to be added up")
    exponent = math.frexp(total)[1]
    return np.ldexp(np.rint(np.ldexp(values, 52 - exponent)), exponent - 52)


def values_in_file(graph: LinkGraph, path: Path, unnamed: float = 1.0) -> NDArray[np.float64]:
    """Read values from a text file (.gz and .zst are decompressed); lines that start with # are ignored.

    The file has either one number per line, for every page in order, or lines `page value`, where a page is an id or a
    URL; other pages have the value `unnamed`.
    """
    numbered = [
        (number, line.strip())
        for number, line in enumerate(text_of(path, str(path), "no such file of values").splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not numbered:
        raise InputError(f"{path}: the file names no value")
    if any(" " in line or "\t" in line for _, line in numbered):
        return _named_values(graph, path, numbered, unnamed)
    if len(numbered) != graph.n_pages:
        raise InputError(f"{path}: {len(numbered):,} values for {graph.n_pages:,} pages")
    return np.array([_number(path, number, line) for number, line in numbered])


def _named_values(graph: LinkGraph, path: Path, numbered: list[tuple[int, str]], unnamed: float) -> NDArray[np.float64]:
    values = np.full(graph.n_pages, unnamed)
    named: set[int] = set()
    for number, line in numbered:
        # Names used instead of URLs may contain spaces, so the value is what follows the last space, or a tab.
        name, _, value = line.rpartition("\t" if "\t" in line else " ")
        try:
            page = page_named(graph, name.strip())
        except OrienteerError as error:
            raise InputError(f"{path}, line {number}: {error}") from None
        if page in named:
            raise InputError(f"{path}, line {number}: page {page} is named twice")
        named.add(page)
        values[page] = _number(path, number, value)
    return values


def _number(path: Path, number: int, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"{path}, line {number}: {text.strip()!r} is not a number") from None
    if not math.isfinite(value):
        raise InputError(f"{path}, line {number}: the value {text.strip()} must be a finite number")
    return value


def paper_value(
    n_pages: int,
    spam: ArrayLike | None = None,
    clicked: ArrayLike | None = None,
    n_uncrawled: ArrayLike | None = None,
    p_unique: ArrayLike = 1.0,
) -> NDArray[np.float64]:
    """Compute values by the paper's rule: 1 for a page, -10 for spam, 10 for a clicked page, plus `p_unique` for each
    link to an uncrawled page.

    `spam` and `clicked` are masks, `n_uncrawled` counts links, `p_unique` is the probability that a newly crawled page
    of the site is not a duplicate, one number or one for each page (see `unique_share`).

    >>> paper_value(4, spam=[1, 0, 0, 0], clicked=[0, 1, 0, 0], n_uncrawled=[0, 0, 6, 0], p_unique=0.5).tolist()
    [-10.0, 10.0, 4.0, 1.0]
    """
    values = np.ones(n_pages)
    if spam is not None:
        values[_per_page(n_pages, "spam", spam).astype(np.bool_)] = _SPAM
    if clicked is not None:
        values[_per_page(n_pages, "clicked", clicked).astype(np.bool_)] = _CLICKED
    if n_uncrawled is None:
        return values
    counts = _per_page(n_pages, "n_uncrawled", n_uncrawled).astype(np.float64)
    shares = np.asarray(p_unique, np.float64)
    if shares.ndim:
        _per_page(n_pages, "p_unique", shares)
    if not (counts >= 0).all():
        raise InputError("n_uncrawled: the number of links must be 0 or more")
    if not ((shares >= 0) & (shares <= 1)).all():
        raise InputError("p_unique: a probability is from 0 to 1")
    return values + counts * shares


def unique_share(sites: ArrayLike, is_duplicate: ArrayLike, is_crawled: ArrayLike | None = None) -> NDArray[np.float64]:
    """Return for every page the share of the pages of its site that are not duplicates: the paper's P_uniq, measured.

    With `is_crawled`, only these pages are counted, and a site without any is assumed to have no duplicates.

    >>> unique_share([0, 0, 1, 1], [True, False, False, False]).tolist()
    [0.5, 0.5, 1.0, 1.0]
    """
    ids = np.asarray(sites, np.int64)
    counted = np.ones(len(ids)) if is_crawled is None else _per_page(len(ids), "is_crawled", is_crawled)
    duplicate = _per_page(len(ids), "is_duplicate", is_duplicate).astype(np.bool_) * counted
    share = 1 - np.bincount(ids, duplicate) / np.maximum(np.bincount(ids, counted), 1)
    return np.asarray(share[ids])


def _per_page(n_pages: int, name: str, values: ArrayLike) -> NDArray[np.float64] | NDArray[np.bool_]:
    array = np.asarray(values)
    if array.shape != (n_pages,):
        raise InputError(f"{name}: {array.size:,} values for {n_pages:,} pages")
    return array
