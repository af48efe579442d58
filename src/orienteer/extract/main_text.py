"""Main text detection: separate the lines of a page's content from menus, notices and other boilerplate.

Lines are scored in two passes by small neural networks over their features (`line_features`). The second network also
gets the scores of the first one for neighboring lines, similar lines, and lines in the same elements. The weights were
learned on real web pages (`experiments/main_text_weights`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.extract.learned_words import LearnedWords
from orienteer.extract.line_features import LineFeatures, context_columns
from orienteer.extract.line_places import Places
from orienteer.extract.page_text import Floats, Ints
from orienteer.kernel import kernel

MAIN = 128  # lines with at least this score are main text
_WEIGHTS = Path(__file__).with_name("main_text.npz")
_CLIP = 4.0  # standard deviations from the mean; inputs are clipped, since values beyond are rare in training

_THRESHOLDS = 0.15, 0.65  # the limits of a page's threshold
_MIN_HEADING_SCORE = 0.01  # of headings that may belong to the next line
REPEATED_CHARS = 40  # from this length on, a line that repeats on the page is boilerplate

Layer = tuple[NDArray[np.float32], NDArray[np.float32]]


class Net(NamedTuple):
    """A feed-forward network; inputs are normalized to mean 0 and standard deviation 1."""

    means: NDArray[np.float32]
    deviations: NDArray[np.float32]
    layers: tuple[Layer, ...]

    def scores(self, matrix: NDArray[np.float32]) -> Floats:
        """Return a score between 0 and 1 for each row."""
        values: NDArray[np.float32] = np.empty(matrix.shape, np.float32)
        _normalise(matrix, self.means, self.deviations, values)
        for k, (weights, biases) in enumerate(self.layers):
            after = np.empty((len(values), weights.shape[1]), np.float32)
            _apply_layer(values, weights, biases, after, k + 1 < len(self.layers))
            values = after
        result: Floats = 1 / (1 + np.exp(-np.clip(values[:, 0], -30, 30).astype(np.float64)))
        return result


@kernel
def _normalise(matrix: Any, means: Any, deviations: Any, values: Any) -> Any:
    for row in range(matrix.shape[0]):
        for k in range(matrix.shape[1]):
            values[row, k] = min(max((matrix[row, k] - means[k]) / deviations[k], -_CLIP), _CLIP)
    return 0


@kernel
def _apply_layer(before: Any, weights: Any, biases: Any, after: Any, is_hidden: Any) -> Any:
    """Apply a layer to each row, to four at a time: weights are loaded once for them.

    (NumPy would start threads for it, which costs more than it saves.)
    """
    n_rows, n_after = len(before), len(biases)
    for row in range(n_rows):
        for k in range(n_after):
            after[row, k] = biases[k]
    for first in range(0, n_rows - 3, 4):
        for i in range(before.shape[1]):
            a, b, c, d = before[first, i], before[first + 1, i], before[first + 2, i], before[first + 3, i]
            for k in range(n_after):
                weight = weights[i, k]
                after[first, k] += a * weight
                after[first + 1, k] += b * weight
                after[first + 2, k] += c * weight
                after[first + 3, k] += d * weight
    for row in range(n_rows - n_rows % 4, n_rows):
        for i in range(before.shape[1]):
            for k in range(n_after):
                after[row, k] += before[row, i] * weights[i, k]
    if is_hidden:
        for row in range(n_rows):
            for k in range(n_after):
                after[row, k] = max(after[row, k], np.float32(0))
    return 0


class MainTextModel(NamedTuple):
    """The learned weights: words, and the networks of both passes."""

    words: LearnedWords
    first: Net
    second: Net

    def scores(self, text: str, places: Places, title: str, url: str, groups: Ints) -> tuple[Floats, Floats]:
        """Return the probability of each line to be main text, 0 for repeated lines, and the numbers of words."""
        features = LineFeatures(text, places, title, url, self.words)
        first = self.first.scores(features.matrix)
        context = context_columns(features.context, first)
        scores = self.second.scores(np.concatenate([features.matrix, context], axis=1))
        scores = with_headings(without_repeats(scores, features.repeats(REPEATED_CHARS)), features.levels)
        return with_wholes(scores, features.words, groups), features.words


def with_headings(scores: Floats, levels: Floats) -> Floats:
    """Raise the score of a heading to that of the next line, or of the next heading of a deeper level.

    Headings with a very low score are excluded, such as those of lists of other pages.
    """
    for k in np.nonzero((levels[:-1] > 0) & (scores[:-1] > _MIN_HEADING_SCORE))[0][::-1].tolist():
        if levels[k + 1] == 0 or levels[k + 1] > levels[k]:
            scores[k] = max(scores[k], scores[k + 1])
    return scores


def with_wholes(scores: Floats, n_words: Floats, groups: Ints) -> Floats:
    """Give all lines of a code block or a table (`Places.groups`) their mean score, by words."""
    inside = np.nonzero(groups >= 0)[0]
    if len(inside):
        numbers = np.unique(groups[inside], return_inverse=True)[1]
        sums, total = (np.bincount(numbers, values[inside]) for values in (scores * n_words, n_words))
        scores[inside] = (sums / total)[numbers]
    return scores


def whole_groups(is_main: NDArray[np.bool_], lines: Sequence[str], groups: bytes) -> NDArray[np.bool_]:
    """Return the mask with each code block and each table included as a whole, or not at all.

    `groups` are those of `Places.numbered_groups`. A group is included if most of it is, and code also if the line
    before it is: what is repeated on many pages may be a command.
    """
    if not groups or len(groups) != len(is_main):
        return is_main
    numbers = np.frombuffer(groups, np.uint8)
    mask = is_main.copy()
    borders = [0, *(np.nonzero(np.diff(numbers))[0] + 1).tolist(), len(mask)]
    for start, end in pairwise(borders):
        if numbers[start]:
            chars = [len(line) for line in lines[start:end]]
            is_most = 2 * sum(n for n, is_in in zip(chars, is_main[start:end], strict=True) if is_in) >= sum(chars)
            is_next_code = numbers[start] % 2 == 1 and start > 0 and mask[start - 1]
            mask[start:end] = is_most or is_next_code
    return mask if mask.any() else is_main


def without_repeats(scores: Floats, repeats: list[int]) -> Floats:
    """Set the scores of repeated lines to 0."""
    scores[repeats] = 0.0
    return scores


def line_scores(text: str, places: Places, title: str, url: str, groups: Ints) -> bytes:
    """Return the scores of the lines of a page, from 0 to 255; lines with `MAIN` or more are main text."""
    if not text:
        return b""
    return as_bytes(*load_model().scores(text, places, title, url, groups))


def as_bytes(scores: Floats, n_words: Floats) -> bytes:
    """Scale scores so that the threshold of the page is at `MAIN`; the best lines of a page are always above it."""
    likely, threshold = (np.clip(values, 0.001, 0.999) for values in (scores, _threshold(scores, n_words)))
    odds = np.log(likely / (1 - likely)) - np.log(threshold / (1 - threshold))
    levels: NDArray[np.uint8] = np.minimum(np.round(256 / (1 + np.exp(-odds))), 255).astype(np.uint8)
    return levels.tobytes()


def _threshold(scores: Floats, n_words: Floats) -> float:
    """Return the threshold of scores that maximizes the expected F1 of the words of the main text.

    If the selected lines have n words, e of them expected to be main text, out of m expected on the page, F1 is about
    2 e / (n + m). A page with uncertain lines has a low threshold, not an empty main text.
    """
    order = np.argsort(-scores, kind="stable")
    expected, selected = np.cumsum((scores * n_words)[order]), np.cumsum(n_words[order])
    best = int(np.argmax(2 * expected / (selected + expected[-1])))
    return float(min(np.clip(scores[order[best]], *_THRESHOLDS), scores.max()))


@cache
def load_model() -> MainTextModel:
    """Load the learned weights from main_text.npz."""
    with np.load(_WEIGHTS, allow_pickle=False) as file:
        return model_of(dict(file))


def arrays_of(model: MainTextModel) -> dict[str, NDArray[Any]]:
    """Return the learned weights as arrays of half precision, which does not change results measurably."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, words in (("element", model.words.of_elements), ("line", model.words.of_lines)):
        arrays[f"{name}_words"] = np.frombuffer("\n".join(words).encode(), np.uint8)
        arrays[f"{name}_scores"] = np.array(list(words.values()), np.float16)
    for name, net in (("first", model.first), ("second", model.second)):
        arrays[f"{name}_means"], arrays[f"{name}_deviations"] = net.means, net.deviations
        for k, (weights, biases) in enumerate(net.layers):
            arrays[f"{name}_weights_{k}"] = weights.astype(np.float16)
            arrays[f"{name}_biases_{k}"] = biases.astype(np.float16)
    return arrays


def model_of(arrays: dict[str, NDArray[Any]]) -> MainTextModel:
    return MainTextModel(
        LearnedWords(_words(arrays, "element"), _words(arrays, "line")), _net(arrays, "first"), _net(arrays, "second")
    )


def _words(arrays: dict[str, NDArray[Any]], name: str) -> dict[str, float]:
    words = arrays[f"{name}_words"].tobytes().decode().split("\n")
    return dict(zip(words, arrays[f"{name}_scores"].astype(float).tolist(), strict=True))


def _net(arrays: dict[str, NDArray[Any]], name: str) -> Net:
    n_layers = sum(key.startswith(f"{name}_weights_") for key in arrays)
    layers = [
        (arrays[f"{name}_weights_{k}"].astype(np.float32), arrays[f"{name}_biases_{k}"].astype(np.float32))
        for k in range(n_layers)
    ]
    return Net(arrays[f"{name}_means"], arrays[f"{name}_deviations"], tuple(layers))


def main_text(text: str, scores: bytes, groups: bytes = b"") -> str:
    """Return the lines of a text that are main text by their scores; all lines if there are no scores."""
    if not scores:
        return text
    lines = text.split("\n")
    is_main = whole_groups(np.frombuffer(scores, np.uint8) >= MAIN, lines, groups)
    return "\n".join(line for line, is_included in zip(lines, is_main.tolist(), strict=True) if is_included)
