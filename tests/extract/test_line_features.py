"""Features of lines: the kernels compute the same as a slow reference."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.extract.feature_columns import COLUMNS, N_LEVELS, SHIFTS, WINDOWS
from orienteer.extract.learned_words import line_words
from orienteer.extract.line_features import LineFeatures, context_columns
from orienteer.extract.line_places import placed
from orienteer.extract.page_text import NAMES
from orienteer.extract.reader import PageReader, read

_URL = "http://example.org/news/a-new-bridge-2025"
_PROSE = "The old bridge across the river, closed since March, will be rebuilt by the council next year. "
_PIECES = st.sampled_from(
    ["<p>", "<div class=box>", "<div class=nav-bar>", "</div>", "<ul>", "<li>", "</ul>", "<h1>", "<h2>", "</h2>",
     "<nav>", "</nav>", "<main>", "</main>", "<a href=/>", "</a>", "<table><tr><td>", "</table>", "A new bridge",
     "short | line", "12 %", _PROSE, 3 * _PROSE, "<br>", "menu"]
)  # fmt: skip
_PAGES = st.lists(_PIECES, min_size=1, max_size=40).map("".join)


def _features(html: str, title: str | None = None) -> LineFeatures | None:
    """Return the features of a page; None if it is empty."""
    reader: PageReader = read(html.encode(), with_nodes=True)
    assert reader.lines is not None
    if not reader.text:
        return None
    return LineFeatures(reader.text, placed(reader.lines), reader.title if title is None else title, _URL)


class Slow:
    """The same features, line by line, without arrays; `columns` maps names of columns to values."""

    def __init__(self, page: LineFeatures, title: str) -> None:
        self.page, self.n = page, page.n
        self.lines = range(page.n)
        self.chars, self.linked = page.chars.tolist(), page.linked.tolist()
        self.sensible, self.prose = page.sensible.tolist(), page.prose.tolist()
        self.parents, self.of_lines = page.places.parents.tolist(), page.places.of_lines.tolist()
        self.names = [NAMES[k] for k in page.places.names]
        self.columns: dict[str, list[float]] = {}
        self._fill_lines(line_words(title))
        self._fill_held()
        self._fill_containers()
        self._fill_likes()
        self._fill_neighbours()

    def path(self, element: int) -> list[int]:
        """Return the element and its ancestors, from the inside out."""
        found = []
        while element >= 0:
            found.append(element)
            element = self.parents[element]
        return found

    def level(self, line: int) -> int:
        ancestors = {self.names[k] for k in self.path(self.of_lines[line])}
        return min((level for level in range(1, 7) if f"h{level}" in ancestors), default=0)

    def _fill_lines(self, of_title: set[str]) -> None:
        texts = self.page.texts
        self.columns["log chars"] = self.chars
        self.columns["link share"] = [linked / chars for linked, chars in zip(self.linked, self.chars, strict=True)]
        self.columns["log repeated"] = [texts.count(text) - 1 for text in texts]
        self.columns["is h2"] = [self.level(k) == 2 for k in self.lines]
        for name in ("nav", "table", "main"):
            inside = [any(self.names[k] == name for k in self.path(self.of_lines[line])) for line in self.lines]
            self.columns[f"within {name}"] = inside
        self.columns["in a p"] = [self.names[self.of_lines[line]] == "p" for line in self.lines]
        words = [line_words(text) if n <= 14 else set() for text, n in zip(texts, self.page.words, strict=True)]
        self.columns["in title"] = [len(own & of_title) / len(own) if own else 0 for own in words]
        headings = [k for k in self.lines if self.level(k)]
        last = [max((k for k in headings if k <= line), default=None) for line in self.lines]
        following = [min((k for k in headings if k > line), default=line + 99) for line in self.lines]
        self.columns["log since heading"] = [99 if k is None else line - k for line, k in enumerate(last)]
        self.columns["log to heading"] = [min(k - line, 99) for line, k in enumerate(following)]
        self.columns["level of heading"] = [0 if k is None else self.level(k) for k in last]

    def held(self, element: int, values: list[float]) -> float:
        return sum(values[line] for line in self.lines if element in self.path(self.of_lines[line]))

    def _fill_held(self) -> None:
        for level in range(1, N_LEVELS + 1):
            paths = [self.path(self.of_lines[line]) for line in self.lines]
            elements = [path[min(level, len(path)) - 1] for path in paths]
            chars = [self.held(k, self.chars) for k in elements]
            self.columns[f"log held chars {level}"] = chars
            self.columns[f"held link share {level}"] = [
                self.held(k, self.linked) / own for k, own in zip(elements, chars, strict=True)
            ]
            self.columns[f"log held lines {level}"] = [self.held(k, [1.0] * self.n) for k in elements]

    def _fill_containers(self) -> None:
        everything = max(sum(self.sensible), 1.0)
        for name, share in (("80 %", 0.8), ("50 %", 0.5)):
            holding = [k for k in range(len(self.parents)) if self.held(k, self.sensible) >= share * everything]
            container = max(holding, key=lambda k: (len(self.path(k)), -k), default=0)
            inside = [container in self.path(self.of_lines[line]) for line in self.lines]
            within = [line for line in self.lines if inside[line]] or [0, self.n - 1]
            ancestors = self.path(container)
            met = [next(k for k in self.path(self.of_lines[line]) if k in ancestors) for line in self.lines]
            self.columns[f"in container {name}"] = inside
            self.columns[f"out of container {name}"] = [min(ancestors.index(k), 12) for k in met]
            self.columns[f"log before container {name}"] = [max(within[0] - line, 0) for line in self.lines]
            self.columns[f"log after container {name}"] = [max(line - within[-1], 0) for line in self.lines]

    def _fill_likes(self) -> None:
        places = self.page.places
        calls = [
            (self.names[k], places.words_of(k), self.names[self.parents[k]] if k else "")
            for k in range(len(self.parents))
        ]
        paths = [tuple(self.names[j] for j in self.path(k)) for k in range(len(self.parents))]
        for name, kinds in (("class", calls), ("path", paths)):
            own = [kinds[k] for k in self.of_lines]
            alike = [[k for k in self.lines if own[k] == kind] for kind in own]
            self.columns[f"log lines, same {name}"] = [len(some) for some in alike]
            self.columns[f"of page, same {name}"] = [
                sum(self.chars[k] for k in some) / sum(self.chars) for some in alike
            ]

    def _fill_neighbours(self) -> None:
        for shift in SHIFTS:
            others = [line - shift for line in self.lines]
            self.columns[f"log chars, {-shift:+}"] = [self.chars[k] if 0 <= k < self.n else 0.0 for k in others]
        for window in WINDOWS:
            near = [range(max(line - window, 0), min(line + window + 1, self.n)) for line in self.lines]
            chars = [sum(self.chars[k] for k in some) for some in near]
            prose = [sum(self.prose[k] for k in some) for some in near]
            self.columns[f"log chars, window {window}"] = chars
            self.columns[f"prose, window {window}"] = [one / all_ for one, all_ in zip(prose, chars, strict=True)]
        self.columns["chars before"] = [sum(self.chars[:line]) / sum(self.chars) for line in self.lines]


@given(_PAGES)
def test_columns_are_those_of_the_reference(html: str):
    page = _features(f"<title>A new bridge</title>{html}")
    if page is None:
        return
    assert np.isfinite(page.matrix).all()
    for name, values in Slow(page, "A new bridge").columns.items():
        wanted = [math.log1p(value) if name.startswith("log ") else float(value) for value in values]
        assert page.matrix[:, COLUMNS.index(name)].tolist() == pytest.approx(wanted, abs=1e-5), name


@given(_PAGES, st.integers(0, 1000))
def test_context_columns(html: str, number: int):
    page = _features(html, title="")
    if page is None:
        return
    slow = Slow(page, "")
    scores = np.random.default_rng(number).random(page.n)
    weighed = (scores * page.chars).tolist()
    columns = context_columns(page.context, scores)
    for line in slow.lines:
        near = range(max(line - 3, 0), min(line + 4, page.n))
        assert columns[line, 9] == pytest.approx(sum(weighed[k] for k in near) / sum(slow.chars[k] for k in near))
        element = slow.of_lines[line]
        share = slow.held(element, weighed) / slow.held(element, slow.chars)
        assert (columns[line, 2], columns[line, 11]) == pytest.approx((scores[line], share))


def test_columns_of_the_whole_page():
    page = _features("<main><p>One<p>Two costs $5")
    assert page is not None
    wanted = {"page: main": 1, "page: prices": 0.5, "page: segments": 2, "page: hyphens": 3, "page: figures in path": 4}
    for name, value in wanted.items():
        assert (page.matrix[:, COLUMNS.index(name)] == np.float32(value)).all(), name
