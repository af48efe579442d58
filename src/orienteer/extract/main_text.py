"""The main text of a page: which of its lines a reader came for, and which are menus, notices and the like.

A line is judged twice by small neural networks over what can be told of it (`line_features`): first by itself and its
place, then in the light of how the lines around it, those of its kind and those in the same elements were judged. The
weights were learned on pages of the real web (`experiments/main_text_weights`).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.extract.learned_words import LearnedWords
from orienteer.extract.line_features import LineFeatures, context_columns
from orienteer.extract.line_places import Floats, Places
from orienteer.kernel import kernel

MAIN = 128  # lines with this score and more are main text
_WEIGHTS = Path(__file__).with_name("main_text.npz")
_MOST = 4.0  # standard deviations from the mean; what is beyond is rare, and nothing was learned of it

_BORDERS = 0.15, 0.65
_SURELY_NONE = 0.01
REPEATED_CHARS = 40  # from which on a line that stands on the page again is furniture

Layer = tuple[NDArray[np.float32], NDArray[np.float32]]


class Net(NamedTuple):
    """A network: what it takes is brought to mean 0 and deviation 1 first."""

    means: NDArray[np.float32]
    deviations: NDArray[np.float32]
    layers: tuple[Layer, ...]

    def scores(self, matrix: NDArray[np.float32]) -> Floats:
        """Between 0 and 1, one for each row."""
        values: NDArray[np.float32] = np.empty(matrix.shape, np.float32)
        _normalise(matrix, self.means, self.deviations, values)
        for k, (weights, biases) in enumerate(self.layers):
            after = np.empty((len(values), weights.shape[1]), np.float32)
            _pass_on(values, weights, biases, after, k + 1 < len(self.layers))
            values = after
        result: Floats = 1 / (1 + np.exp(-np.clip(values[:, 0], -30, 30).astype(np.float64)))
        return result


@kernel
def _normalise(matrix: Any, means: Any, deviations: Any, values: Any) -> Any:
    for row in range(matrix.shape[0]):
        for k in range(matrix.shape[1]):
            values[row, k] = min(max((matrix[row, k] - means[k]) / deviations[k], -_MOST), _MOST)
    return 0


@kernel
def _pass_on(before: Any, weights: Any, biases: Any, after: Any, is_hidden: Any) -> Any:
    """What a layer makes of each row. (NumPy would start threads for it, which costs more than it saves.)"""
    n_after = len(biases)
    for row in range(len(before)):
        for k in range(n_after):
            after[row, k] = biases[k]
        for i in range(before.shape[1]):
            value = before[row, i]
            if value != 0:
                for k in range(n_after):
                    after[row, k] += value * weights[i, k]
        if is_hidden:
            for k in range(n_after):
                after[row, k] = max(after[row, k], np.float32(0))
    return 0


class Judge(NamedTuple):
    """All that was learned."""

    words: LearnedWords
    first: Net
    second: Net

    def scores(self, text: str, places: Places, title: str, url: str) -> tuple[Floats, Floats]:
        """How likely each line is main text, of lines that a page repeats the first; and how many words it has."""
        features = LineFeatures(text, places, title, url, self.words)
        first = self.first.scores(features.matrix)
        seen = context_columns(features.context, first)
        scores = self.second.scores(np.concatenate([features.matrix, seen], axis=1))
        scores = with_headings(without_repeats(scores, features.repeats(REPEATED_CHARS)), features.levels)
        return scores, features.words


def with_headings(scores: Floats, levels: Floats) -> Floats:
    """A heading is as much main text as what it stands above: the next line, or the next heading below its own.

    Not one that surely is none, such as that of a list of other pages.
    """
    for k in np.nonzero((levels[:-1] > 0) & (scores[:-1] > _SURELY_NONE))[0][::-1].tolist():
        if levels[k + 1] == 0 or levels[k + 1] > levels[k]:
            scores[k] = max(scores[k], scores[k + 1])
    return scores


def without_repeats(scores: Floats, repeats: list[int]) -> Floats:
    """A line that stands on the page again is no main text the second time."""
    scores[repeats] = 0.0
    return scores


def line_scores(text: str, places: Places, title: str, url: str) -> bytes:
    """How much each line of a page belongs to its main text, from 0 to 255; what has `MAIN` and more does."""
    if not text:
        return b""
    return as_bytes(*judge().scores(text, places, title, url))


def as_bytes(scores: Floats, n_words: Floats) -> bytes:
    """Scores with the page's own border at `MAIN`; never below it are the best lines of a page."""
    likely, border = (np.clip(values, 0.001, 0.999) for values in (scores, _border(scores, n_words)))
    odds = np.log(likely / (1 - likely)) - np.log(border / (1 - border))
    levels: NDArray[np.uint8] = np.minimum(np.round(256 / (1 + np.exp(-odds))), 255).astype(np.uint8)
    return levels.tobytes()


def _border(scores: Floats, n_words: Floats) -> float:
    """The score from which on lines are taken, so that the expected F1 of their words is the largest.

    With n words in the lines that are taken, of which e are expected to be main text, of m that are expected on the
    page, F1 is about 2 e / (n + m). A page of unsure lines has a low border, not an empty main text.
    """
    order = np.argsort(-scores, kind="stable")
    expected, taken = np.cumsum((scores * n_words)[order]), np.cumsum(n_words[order])
    best = int(np.argmax(2 * expected / (taken + expected[-1])))
    return float(min(np.clip(scores[order[best]], *_BORDERS), scores.max()))


@cache
def judge() -> Judge:
    """What was learned, from the file beside this one."""
    with np.load(_WEIGHTS, allow_pickle=False) as file:
        return judge_of(dict(file))


def arrays_of(judge: Judge) -> dict[str, NDArray[Any]]:
    """What was learned, as arrays of half precision: nothing is lost that could be seen."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, words in (("element", judge.words.of_elements), ("line", judge.words.of_lines)):
        arrays[f"{name}_words"] = np.frombuffer("\n".join(words).encode(), np.uint8)
        arrays[f"{name}_scores"] = np.array(list(words.values()), np.float16)
    for name, net in (("first", judge.first), ("second", judge.second)):
        arrays[f"{name}_means"], arrays[f"{name}_deviations"] = net.means, net.deviations
        for k, (weights, biases) in enumerate(net.layers):
            arrays[f"{name}_weights_{k}"] = weights.astype(np.float16)
            arrays[f"{name}_biases_{k}"] = biases.astype(np.float16)
    return arrays


def judge_of(arrays: dict[str, NDArray[Any]]) -> Judge:
    return Judge(
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


def main_text(text: str, scores: bytes) -> str:
    """The lines of a text that are main text by their scores; all of them where there are no scores."""
    if not scores:
        return text
    return "\n".join(line for line, score in zip(text.split("\n"), scores, strict=True) if score >= MAIN)
