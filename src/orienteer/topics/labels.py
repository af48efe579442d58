"""A topic from a list of labelled pages, for simulations in which the truth is known.

A text file (.gz, .zst: compressed) with lines `page`, which is on topic, or `page value`; a page is a URL, or an id in
graphs without URLs, and a value is a number from 0 to 1. The separator is a tab, or else the last space of the line.
With the setting `label` the value is the name of a class: `page label`, and a page may have several.
Lines that start with # are comments. Pages that are not in the list have the relevance 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError, OrienteerError
from orienteer.files.compressed import text_of
from orienteer.graph.link_graph import LinkGraph
from orienteer.graph.page_names import is_number, page_named
from orienteer.topics.topic import PageContent, Topic, topic
from orienteer.url import canonical_url


@topic
class Labels(Topic):
    """The relevance of pages by a file; a page without a URL is given by its id: `PageContent("17", "", "")`."""

    name = "labels"
    reads_text = False
    file_settings = ("file",)

    def __init__(self, file: str = "", label: str = "") -> None:
        if not file:
            raise InputError(f"topic {self.name}: it needs a file of pages and values")
        self.file, self.label = Path(file), label
        self._values: dict[str, tuple[int, float]] = {}  # by page: the line, the value
        for line, name, value in self._lines():
            page = name if is_number(name) else canonical_url(name) or name
            if page in self._values and not label:
                raise InputError(f"{file}, line {line}: page {name!r} is named twice")
            if page not in self._values or value > self._values[page][1]:
                self._values[page] = line, value
        if not any(value for _, value in self._values.values()):
            raise InputError(f"{file}: no page in it is " + (f"labelled {label!r}" if label else "on topic"))

    def relevance(self, pages: Sequence[PageContent]) -> NDArray[np.float64]:
        return np.array([self._value(page.url) for page in pages], np.float64)

    def of_graph(self, web: LinkGraph) -> NDArray[np.float64]:
        """Return the relevance of all pages of a graph; a listed page that is not in the graph is an error."""
        relevance = np.zeros(web.n_pages)
        for name, (line, value) in self._values.items():
            try:
                page = page_named(web, name)
            except OrienteerError as error:
                raise InputError(f"{self.file}, line {line}: {error}") from None
            relevance[page] = max(relevance[page], value)
        return relevance

    def _value(self, url: str) -> float:
        found = self._values.get(url) or self._values.get(canonical_url(url) or "")
        return found[1] if found else 0.0

    def _lines(self) -> Iterator[tuple[int, str, float]]:
        """Yield the number, page and value of each line."""
        text = text_of(self.file, str(self.file), "no such file of labels")
        for number, line in enumerate(text.splitlines(), 1):
            line = line.strip()
            if line and not line.startswith("#"):
                name, _, value = line.rpartition("\t" if "\t" in line else " ")
                if self.label:
                    yield number, name.strip(), float(value.strip() == self.label)
                elif name.strip():
                    yield number, name.strip(), self._number(number, value)
                else:
                    yield number, line, 1.0

    def _number(self, line: int, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise InputError(f"{self.file}, line {line}: {text.strip()!r} is no number (or set label)") from None
        if not 0 <= value <= 1:
            raise InputError(f"{self.file}, line {line}: the value {text.strip()} must be from 0 to 1")
        return value
