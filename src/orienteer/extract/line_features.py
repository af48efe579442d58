"""What can be told of each line of a page without understanding it: a row of numbers a line.

Of the line itself: its length, how much of it is links, sentences, figures. Of its place: the elements around it, how
much text and how many links those hold, whether most of the page's sentences stand there. Of its like: lines in
elements of the same name and class. Of its neighbours, of the headings before and after it, of the page as a whole. And
what was learned of words: those by which authors call their elements (`sidebar`, `entry`), and those of short lines
(`Share`, `Subscribe`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.extract.line_counts import (
    CAPITALS,
    CHARS,
    COMMAS,
    ENDS_COLON,
    ENDS_SENTENCE,
    FIGURES,
    PRICES,
    SENTENCES,
    SEPARATORS,
    STARTS_HIGH,
    WORDS,
    line_counts,
)
from orienteer.extract.line_places import Floats, Ints, Places

SHORT_LINE_WORDS = 14  # lines up to this length are judged by their words, too

_INNERMOST = {
    name: k
    for k, name in enumerate((
        "p", "div", "li", "td", "th", "button", "option", "label", "section", "article", "dd", "summary",
    ))
}  # fmt: skip
_AROUND = (
    "nav", "footer", "header", "aside", "main", "article", "form", "table", "ul", "ol", "button", "select", "figure",
    "blockquote", "details", "dialog", "address", "label", "section", "dl", "pre", "figcaption", "h1", "h2", "h3", "h4",
    "h5", "h6",
)  # fmt: skip
_BITS = {name: 1 << k for k, name in enumerate(_AROUND)}
_N_FLAGS = len(_AROUND) - 6  # headings are told otherwise
_OUTSIDE = _BITS["nav"] | _BITS["footer"] | _BITS["aside"]
_N_LEVELS = 5
_SHIFTS = (-2, -1, 1, 2)
_WINDOWS = (2, 5, 12, 30)
_SHARES = (0.8, 0.5)

_CLASS_WORD = re.compile("[a-z]{2,}")
_WORD = re.compile(r"\w+")


_MAX_KNOWN = 20_000  # pages of a site call their elements by the same words

Three = tuple[float, float, float]


@dataclass(slots=True)
class LearnedWords:
    """How much more often than others they stand in the main text, as the logarithm of odds."""

    of_elements: Mapping[str, float]
    of_lines: Mapping[str, float]
    known: dict[str, Three] = field(default_factory=dict, compare=False, repr=False)  # of elements so far

    def element(self, words: str) -> Three:
        """Least, most and sum of what was learned of an element's words; the least and the most never beyond 0."""
        own = [self.of_elements[word] for word in element_words(words) if word in self.of_elements]
        found = (min(0.0, *own), max(0.0, *own), sum(own)) if own else (0.0, 0.0, 0.0)
        if len(self.known) >= _MAX_KNOWN:
            self.known.clear()
        self.known[words] = found
        return found


NO_WORDS = LearnedWords({}, {})


class Groups:
    """Lines of the same kind."""

    def __init__(self, groups: Ints) -> None:
        self.index: Ints = np.unique(groups, return_inverse=True)[1]

    def sum(self, values: Floats) -> Floats:
        """Of each line: the sum over its group."""
        return np.bincount(self.index, values)[self.index].astype(np.float64)


class Context(NamedTuple):
    """What lines have to do with one another."""

    places: Places
    chars: Floats
    same_class: Groups
    same_path: Groups
    last_heading: Ints  # of each line the heading above it, or itself; -1: none


def element_words(words: str) -> set[str]:
    """The words by which an element is called, of its class, id and role."""
    return set(_CLASS_WORD.findall(words))


def line_words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


class LineFeatures:
    """Of the lines of a page; `matrix` has a row for each, and `names` its columns."""

    def __init__(
        self, texts: list[str], places: Places, title: str, url: str, learned: LearnedWords = NO_WORDS
    ) -> None:
        self.texts, self.places = texts, places
        self.n = len(texts)
        self.counts = line_counts("\n".join(texts), self.n)
        self.chars = np.maximum(self.counts[:, CHARS], 1)
        self.words = np.maximum(self.counts[:, WORDS], 1)
        self.linked = np.minimum(places.linked, self.chars)
        self.depths = places.depths
        self.flags = places.flags(np.array([_BITS.get(name, 0) for name in places.names], np.int64))[places.of_lines]
        self.levels = np.zeros(self.n)
        for level in range(6, 0, -1):
            self.levels[(self.flags & _BITS[f"h{level}"]) > 0] = level
        self.columns: dict[str, Any] = {}  # a number for each line, or one for all
        self._add_lines()
        self._add_places()
        self._add_likes()
        self._add_neighbours()
        self.short = short_lines(texts, self.words)
        self._add_headings(title)
        self._add_page(url)
        self.n_unlearned = len(self.columns)
        for name, values in learned_columns(self.context, self.short, learned).items():
            self._add(name, values)

    def repeats(self, least_chars: int) -> list[int]:
        """The long lines that stood on the page before; not those of code and of tables, which may well repeat."""
        seen: set[str] = set()
        again = []
        may_repeat = (self.flags & (_BITS["pre"] | _BITS["table"])) > 0
        for k in np.nonzero((self.chars >= least_chars) & ~may_repeat)[0].tolist():
            if self.texts[k] in seen:
                again.append(k)
            seen.add(self.texts[k])
        return again

    @property
    def names(self) -> list[str]:
        return list(self.columns)

    @property
    def matrix(self) -> NDArray[np.float32]:
        matrix = np.empty((self.n, len(self.columns)), np.float32)
        for k, values in enumerate(self.columns.values()):
            matrix[:, k] = values
        return matrix

    def _add(self, name: str, values: Any) -> None:
        self.columns[name] = values

    def _add_lines(self) -> None:
        counts, chars, words = self.counts, self.chars, self.words
        self.link_share = self.linked / chars
        self.sentences = np.minimum(counts[:, SENTENCES], 20)
        self.log_chars = np.log1p(chars)
        self._add("log chars", self.log_chars)
        self._add("log words", np.log1p(words))
        self._add("chars per word", np.minimum(chars / words, 20))
        self._add("link share", self.link_share)
        self._add("has link", self.linked > 0)
        self._add("sentences", np.log1p(self.sentences))
        self._add("commas per word", counts[:, COMMAS] / words)
        self._add("figures", counts[:, FIGURES] / chars)
        self._add("capitals", counts[:, CAPITALS] / chars)
        self._add("prices", counts[:, PRICES] > 0)
        self._add("separators", counts[:, SEPARATORS] > 0)
        self._add("starts high", counts[:, STARTS_HIGH])
        self._add("ends sentence", counts[:, ENDS_SENTENCE])
        self._add("ends colon", counts[:, ENDS_COLON])
        for level in (1, 2, 3):
            self._add(f"is h{level}", self.levels == level)
        self._add("is h4", self.levels >= 4)
        repeated = Counter(self.texts)
        self._add("repeated", np.log([repeated[text] for text in self.texts]))

    def _add_places(self) -> None:
        places, of_lines = self.places, self.places.of_lines
        names = places.names
        innermost = np.array([_INNERMOST.get(name, -1) for name in names], np.int64)[of_lines]
        for name, k in _INNERMOST.items():
            self._add(f"in a {name}", innermost == k)
        for name in _AROUND[:_N_FLAGS]:
            self._add(f"within {name}", (self.flags & _BITS[name]) > 0)
        self._add("depth", self.depths[of_lines])
        self.sensible = self._sensible((self.flags & _OUTSIDE) > 0)
        self.held = places.sums(np.stack([self.chars, self.linked, self.sensible, np.ones(self.n)], axis=1))
        self.all_sensible = max(float(self.sensible.sum()), 1.0)
        self.all_chars = float(self.chars.sum())
        for share in _SHARES:
            self._add_container(share)
        element = of_lines
        for level in range(1, _N_LEVELS + 1):
            chars, linked, sensible, n_lines = self.held[element].T
            self._add(f"held chars {level}", np.log1p(chars))
            self._add(f"held link share {level}", linked / chars)
            self._add(f"held of page {level}", sensible / self.all_sensible)
            self._add(f"held sensible {level}", sensible / chars)
            self._add(f"held lines {level}", np.log(n_lines))
            element = places.above(element)

    def _sensible(self, is_outside: NDArray[np.bool_]) -> Floats:
        """Characters of lines that look like sentences; of all lines where the page has hardly any."""
        is_prose = (self.chars >= 60) & (self.link_share < 0.35) & (self.sentences >= 1)
        self.prose = np.where(is_prose, self.chars - self.linked, 0.0)
        sensible = np.where(is_outside, 0.0, self.prose)
        if sensible.sum() >= 200:
            return sensible
        return (self.chars - self.linked) * np.where(is_outside, 0.1, 1.0)

    def _add_container(self, share: float) -> None:
        """Where a line stands beside the innermost element that holds this share of the sentences."""
        places, of_lines = self.places, self.places.of_lines
        enough = np.nonzero(self.held[:, 2] >= share * self.all_sensible)[0]
        container = int(enough[np.argmax(self.depths[enough])]) if len(enough) else 0
        meeting = places.meeting(container)[of_lines]
        is_in = meeting == container
        inside = np.nonzero(is_in)[0]
        first, last = (inside[0], inside[-1]) if len(inside) else (0, self.n - 1)
        here = np.arange(self.n)
        self._add(f"in container {share}", is_in)
        self._add(f"out of container {share}", np.minimum(self.depths[container] - self.depths[meeting], 12))
        self._add(f"down from it {share}", np.minimum(self.depths[of_lines] - self.depths[meeting], 15))
        self._add(f"before container {share}", np.log1p(np.maximum(first - here, 0)))
        self._add(f"after container {share}", np.log1p(np.maximum(here - last, 0)))
        self._add(f"share of container {share}", self.held[container, 0] / self.all_chars)
        self.is_in_container = is_in

    def _add_likes(self) -> None:
        """Lines whose elements have the same names and classes are the same kind of thing."""
        places = self.places
        around = [places.names[parent] for parent in places.parents.tolist()]
        calls: dict[tuple[str, str, str], int] = {}
        own = [calls.setdefault(call, len(calls)) for call in zip(places.names, places.words, around, strict=True)]
        names: dict[str, int] = {}
        paths = places.hashes(np.array([names.setdefault(name, len(names)) for name in places.names], np.int64))
        of_lines, likes = places.of_lines, []
        for name, groups in (("class", np.array(own, np.int64)[of_lines]), ("path", paths[of_lines])):
            like = Groups(groups)
            likes.append(like)
            n_lines, chars = like.sum(np.ones(self.n)), like.sum(self.chars)
            self._add(f"same {name}: lines", np.log(n_lines))
            self._add(f"same {name}: chars", np.log1p(chars / n_lines))
            self._add(f"same {name}: link share", like.sum(self.linked) / chars)
            self._add(f"same {name}: of page", chars / self.all_chars)
            self._add(f"same {name}: sensible", like.sum(self.sensible) / self.all_sensible)

        self.same_class, self.same_path = likes

    @property
    def context(self) -> Context:
        return Context(self.places, self.chars, self.same_class, self.same_path, self.last_heading)

    def _add_neighbours(self) -> None:
        for shift in _SHIFTS:
            self._add(f"{shift}: log chars", shifted(self.log_chars, shift))
            self._add(f"{shift}: link share", shifted(self.link_share, shift, -0.5))
            self._add(f"{shift}: heading", shifted((self.levels > 0).astype(float), shift))
            self._add(f"{shift}: sentences", np.log1p(shifted(self.sentences, shift)))
        for window in _WINDOWS:
            chars = windowed(self.chars, window)
            self._add(f"around {window}: chars", np.log1p(chars))
            self._add(f"around {window}: link share", windowed(self.linked, window) / chars)
            self._add(f"around {window}: prose", windowed(self.prose, window) / chars)

    def _add_headings(self, title: str) -> None:
        here = np.arange(self.n)
        is_heading = self.levels > 0
        last = np.maximum.accumulate(np.where(is_heading, here, -1))
        following = np.where(is_heading, here, self.n + 99)
        following = np.append(np.minimum.accumulate(following[::-1])[::-1][1:], self.n + 99)
        self.last_heading = last
        self._add("since heading", np.log1p(np.where(last >= 0, here - last, 99)))
        self._add("to heading", np.log1p(np.minimum(following - here, 99)))
        self._add("level of heading", np.where(last >= 0, self.levels[np.maximum(last, 0)], 0))
        in_title, of_title = _title_shares(self.short, self.n, title)
        self._add("in title", in_title)
        self._add("of title", of_title)
        titles = np.nonzero((of_title > 0.3) & (in_title > 0.5) & (self.levels > 0) & (self.levels <= 2))[0]
        if not len(titles):
            titles = np.nonzero(self.levels == 1)[0]
        first = int(titles[0]) if len(titles) else -1
        self._add("has title", first >= 0)
        self._add("behind title", np.log1p(np.maximum(here - first, 0)) if first >= 0 else 0.0)
        self._add("before title", np.log1p(np.maximum(first - here, 0)) if first >= 0 else 0.0)
        self._add("title in container", first >= 0 and self.is_in_container[first])

    def _add_page(self, url: str) -> None:
        n, here = self.n, np.arange(self.n)
        before = np.cumsum(self.chars) - self.chars
        self._add("lines before", here / n)
        self._add("chars before", before / self.all_chars)
        self._add("log lines before", np.log1p(here))
        self._add("log lines after", np.log1p(n - here))
        prose = np.nonzero(self.sensible > 0)[0]
        first, last = (prose[0], prose[-1]) if len(prose) else (0, n - 1)
        self._add("before prose", np.log1p(np.maximum(first - here, 0)))
        self._add("after prose", np.log1p(np.maximum(here - last, 0)))
        in_p = self.columns["in a p"] @ self.chars / self.all_chars
        in_li = self.columns["in a li"] @ self.chars / self.all_chars
        names = Counter(self.places.names)
        path = url.partition("://")[2].partition("/")[2].partition("?")[0]
        segments = [segment for segment in path.split("/") if segment]
        for name, value in {
            "chars": np.log1p(self.all_chars), "lines": np.log1p(n), "link share": self.linked.sum() / self.all_chars,
            "prose": self.prose.sum() / self.all_chars, "sensible": np.log1p(self.sensible.sum()), "p": in_p,
            "li": in_li, "headings": (self.levels > 0).mean(), "main": names["main"] > 0,
            "articles": min(names["article"], 5), "prices": (self.counts[:, PRICES] > 0).mean(),
            "median": np.log1p(np.median(self.chars)), "segments": min(len(segments), 8),
            "hyphens": min(segments[-1].count("-"), 10) if segments else 0,
            "figures in path": min(sum(letter.isdigit() for letter in path), 12),
        }.items():  # fmt: skip
            self._add(f"page: {name}", value)


def shifted(values: Floats, shift: int, otherwise: float = 0.0) -> Floats:
    """The values of the lines so many places before (or behind, below 0)."""
    moved = np.full(len(values), otherwise)
    if abs(shift) < len(values):
        if shift > 0:
            moved[shift:] = values[:-shift]
        else:
            moved[:shift] = values[-shift:]
    return moved


def windowed(values: Floats, window: int) -> Floats:
    """The sums of each line and of so many on both sides of it."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    here = np.arange(len(values))
    total: Floats = sums[np.minimum(here + window + 1, len(values))] - sums[np.maximum(here - window, 0)]
    return total


def short_lines(texts: Sequence[str], n_words: Floats) -> dict[int, set[str]]:
    """The words of short lines."""
    return {k: line_words(texts[k]) for k in np.nonzero(n_words <= SHORT_LINE_WORDS)[0].tolist()}


def learned_columns(context: Context, short: Mapping[int, set[str]], learned: LearnedWords) -> dict[str, Floats]:
    """What the words say of lines: of those that elements are called by, and of those of short lines."""
    places = context.places
    known = learned.known.get
    own = np.array([known(words) or learned.element(words) for words in places.words])
    least, most, total = places.spread(own)
    of_lines = places.of_lines
    above = places.above(of_lines)
    said = _line_scores(short, len(of_lines), learned.of_lines)
    last = context.last_heading
    columns = {
        "class words: least": least[of_lines],
        "class words: most": most[of_lines],
        "class words: sum": np.clip(total[of_lines], -15, 15),
        "class words: own": own[of_lines, 2],
        "class words: above": own[above, 2],
        "class words: above that": own[places.above(above), 2],
        "words: least": said[:, 0],
        "words: most": said[:, 1],
        "words": said[:, 2],
        "words of heading": np.where(last >= 0, said[np.maximum(last, 0), 2], 0),
    }
    for shift in (-1, 1):
        columns[f"{shift}: class words"] = shifted(least[of_lines], shift)
    for shift in _SHIFTS:
        columns[f"{shift}: words"] = shifted(said[:, 2], shift)
    return columns


def context_columns(context: Context, scores: Floats) -> Floats:
    """What a first judgement of all lines says of each: its own, and those around it."""
    chars, places = context.chars, context.places
    weighed = scores * chars
    last = context.last_heading
    mean = weighed.sum() / chars.sum()
    columns = [scores, np.full(len(scores), mean), np.where(last >= 0, scores[np.maximum(last, 0)], mean)]
    columns += [shifted(scores, shift, 0.0) for shift in _SHIFTS]
    columns += [windowed(weighed, window) / windowed(chars, window) for window in (3, 8)]
    columns += [like.sum(weighed) / like.sum(chars) for like in (context.same_class, context.same_path)]
    held = places.sums(np.stack([weighed, chars], axis=1))
    shares = held[:, 0] / np.maximum(held[:, 1], 1)
    element = places.of_lines
    for _ in range(4):
        columns.append(shares[element])
        element = places.above(element)
    return np.stack(columns, axis=1)


def _line_scores(short: Mapping[int, set[str]], n_lines: int, learned: Mapping[str, float]) -> Floats:
    """Least, most and mean of what was learned of the words of short lines."""
    scores = [(0.0, 0.0, 0.0)] * n_lines
    for k, words in short.items():
        own = [learned[word] for word in words if word in learned]
        if own:
            scores[k] = min(own), max(own), sum(own) / len(own)
    return np.array(scores)


def _title_shares(short: Mapping[int, set[str]], n_lines: int, title: str) -> tuple[Floats, Floats]:
    """How much of a short line stands in the title, and how much of the title in it."""
    of_title = line_words(title)
    shares = np.zeros((2, n_lines))
    for k, words in short.items():
        if not of_title.isdisjoint(words):
            n_shared = len(words & of_title)
            shares[0, k], shares[1, k] = n_shared / len(words), n_shared / len(of_title)
    return shares[0], shares[1]
