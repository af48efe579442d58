"""`python -m experiments.main_text_weights`: train the main text classifier, and write the file that the package ships.

    python -m experiments.main_text_weights ../shared/data/wcxb-dev.jsonl.zst src/orienteer/extract/main_text.npz

Everything is cross-validated by host: what was learned of words is never applied to the pages that it was learned on,
nor is the first judgement that the second one builds on. The figures that are printed are of pages that nothing was
learned from. Everything is seeded; it takes some minutes.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.main_text_pages import (
    Sample,
    WordShares,
    known_pages,
    sample_of,
    word_shares,
    words_of,
)
from orienteer.extract.learned_words import LearnedWords, lowered
from orienteer.extract.line_features import N_LEARNED, context_columns, fill_learned
from orienteer.extract.main_text import MainTextModel, Net, arrays_of

N_OUTER, N_INNER = 5, 3
MIN_HOSTS = 5  # on which a word must occur
PRIOR_PAGES = 3.0
HIDDEN = (32, 16)
N_EPOCHS = 10
BATCH = 1024
RATE = 2e-3
DECAY = 2e-3
DROPOUT = 0.15
MOST_LINES = 300  # of a page that are learned from
MOST = 4.0

Matrix = NDArray[np.float32]


def fold_of(host: str, n_folds: int, salt: str) -> int:
    """The same for a host at any time."""
    return zlib.crc32(f"{salt} {host}".encode()) % n_folds


# Words


def learned_words(shares: Sequence[tuple[WordShares, WordShares]], hosts: Sequence[str]) -> LearnedWords:
    return LearnedWords(_odds([one[0] for one in shares], hosts), _odds([one[1] for one in shares], hosts))


def _odds(shares: Sequence[WordShares], hosts: Sequence[str]) -> dict[str, float]:
    """Return the log odds of words that occur on enough hosts, smoothed towards those of all words."""
    sums: dict[str, float] = {}
    counts: dict[str, int] = {}
    on: dict[str, set[str]] = {}
    for of_page, host in zip(shares, hosts, strict=True):
        for word, share in of_page.items():
            sums[word] = sums.get(word, 0.0) + share
            counts[word] = counts.get(word, 0) + 1
            on.setdefault(word, set()).add(host)
    prior = sum(sums.values()) / max(sum(counts.values()), 1)
    usual = np.log(prior / (1 - prior))
    odds = {}
    for word in sorted(sums):
        if len(on[word]) >= MIN_HOSTS:
            main, rest = sums[word] + PRIOR_PAGES * prior, counts[word] - sums[word] + PRIOR_PAGES * (1 - prior)
            odds[word] = round(float(np.log(main / rest) - usual), 3)
    return odds


def columns_of(sample: Sample, words: LearnedWords) -> Matrix:
    columns = np.empty((len(sample.texts), N_LEARNED), np.float32)
    fill_learned(sample.context, lowered("\n".join(sample.texts)), sample.n_words, words, columns)
    return columns


# Networks: several at once, which differ in the rows that they learn from.


class Task(NamedTuple):
    rows: Any  # (rows, columns)
    truth: Any
    weights: Any  # (networks, rows): 0 for those that a network must not see


def trained(task: Task, seed: int) -> list[Net]:
    """Adam on the cross entropy, the rate falling to 0 along a cosine; inputs are dropped at random."""
    n_nets, n_rows = task.weights.shape
    means, deviations = task.rows.mean(axis=0), task.rows.std(axis=0) + 1e-3
    rows = np.clip((task.rows - means) / deviations, -MOST, MOST).astype(np.float32)
    rng = np.random.default_rng(seed)
    sizes = (rows.shape[1], *HIDDEN, 1)
    parameters = []
    for before, after in pairwise(sizes):
        drawn = rng.normal(0, np.sqrt(2 / before), (n_nets, before, after)).astype(np.float32)
        parameters += [np.asarray(drawn), np.zeros((n_nets, 1, after), np.float32)]
    first, second = [np.zeros_like(p) for p in parameters], [np.zeros_like(p) for p in parameters]
    n_steps = N_EPOCHS * (n_rows // BATCH)
    weights = task.weights / task.weights.mean(axis=1, keepdims=True)
    step = 0
    for _ in range(N_EPOCHS):
        order = rng.permutation(n_rows)
        for start in range(0, n_rows - BATCH + 1, BATCH):
            step += 1
            some = np.asarray(order[start : start + BATCH])
            retained = rng.random((BATCH, sizes[0]), np.float32) >= DROPOUT
            inputs = rows[some] * np.asarray(retained) / (1 - DROPOUT)
            gradients = _gradients(parameters, inputs, task.truth[some], weights[:, some])
            rate = RATE * 0.5 * (1 + np.cos(np.pi * step / n_steps))
            for k, gradient in enumerate(gradients):
                first[k] = 0.9 * first[k] + 0.1 * gradient
                second[k] = 0.999 * second[k] + 0.001 * gradient**2
                change = first[k] / (1 - 0.9**step) / (np.sqrt(second[k] / (1 - 0.999**step)) + 1e-8)
                parameters[k] = parameters[k] - rate * (change + DECAY * parameters[k] * (k % 2 == 0))
    return [
        Net(
            means.astype(np.float32),
            deviations.astype(np.float32),
            tuple((parameters[k][net], parameters[k + 1][net, 0]) for k in range(0, len(parameters), 2)),
        )
        for net in range(n_nets)
    ]


def _gradients(parameters: list[Any], inputs: Any, truth: Any, weights: Any) -> list[Any]:
    values, made = np.broadcast_to(inputs, (weights.shape[0], *inputs.shape)), []
    for k in range(0, len(parameters), 2):
        made.append(values)
        values = np.matmul(values, parameters[k]) + parameters[k + 1]
        if k + 2 < len(parameters):
            values = np.maximum(values, 0)
    likely = 1 / (1 + np.exp(-np.clip(values[:, :, 0], -30, 30)))
    error = (weights * (likely - truth))[:, :, None] / inputs.shape[0]
    gradients: list[Any] = []
    for k in range(len(parameters) - 2, -1, -2):
        gradients = [np.matmul(made[k // 2].transpose(0, 2, 1), error), error.sum(axis=1, keepdims=True), *gradients]
        if k:
            error = np.matmul(error, parameters[k].transpose(0, 2, 1)) * (made[k // 2] > 0)
    return gradients


# The two judgements


def learned(samples: Sequence[Sample], shares: Sequence[tuple[WordShares, WordShares]], seed: int = 1) -> MainTextModel:
    """What can be learned from these pages."""
    hosts = [sample.page.host for sample in samples]
    folds = np.array([fold_of(host, N_INNER, "inner") for host in hosts])
    words = [
        learned_words(*_where(folds != fold, shares, hosts)) if (folds != fold).any() else LearnedWords({}, {})
        for fold in range(N_INNER)
    ]
    matrices = [
        np.concatenate([sample.matrix, columns_of(sample, words[fold])], axis=1)
        for sample, fold in zip(samples, folds, strict=True)
    ]
    chosen = [_chosen(sample, k) for k, sample in enumerate(samples)]
    row_folds = np.concatenate([np.full(len(rows), fold) for rows, fold in zip(chosen, folds, strict=True)])
    truth = np.concatenate([sample.truth[rows] for sample, rows in zip(samples, chosen, strict=True)])
    weights = np.concatenate([sample.weights[rows] for sample, rows in zip(samples, chosen, strict=True)])
    masks = np.stack([*((row_folds != fold) for fold in range(N_INNER)), np.ones(len(truth), np.bool_)])
    rows = np.concatenate([matrix[some] for matrix, some in zip(matrices, chosen, strict=True)])
    *inner, first = trained(_task(rows, truth, masks * weights), seed)
    seen = [
        context_columns(sample.context, inner[fold].scores(matrix))
        for sample, matrix, fold in zip(samples, matrices, folds, strict=True)
    ]
    more = np.concatenate([one[some] for one, some in zip(seen, chosen, strict=True)])
    (second,) = trained(_task(np.concatenate([rows, more], axis=1), truth, weights[None]), seed + 1)
    return MainTextModel(learned_words(shares, hosts), first, second)


def _where(mask: NDArray[np.bool_], *lists: Sequence[Any]) -> list[list[Any]]:
    return [[one for one, wanted in zip(some, mask, strict=True) if wanted] for some in lists]


def _chosen(sample: Sample, seed: int) -> NDArray[np.int64]:
    """The lines of a page that are learned from: some of those of a very long one."""
    n = len(sample.texts)
    if n <= MOST_LINES:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, MOST_LINES, replace=False))


def _task(rows: Matrix, truth: NDArray[np.float64], weights: NDArray[np.float64]) -> Task:
    return Task(np.asarray(rows), np.asarray(truth, np.float32), np.asarray(weights, np.float32))


def judged(model: MainTextModel, sample: Sample) -> NDArray[np.float64]:
    """The scores of a page's lines."""
    matrix = np.concatenate([sample.matrix, columns_of(sample, model.words)], axis=1)
    seen = context_columns(sample.context, model.first.scores(matrix))
    return model.second.scores(np.concatenate([matrix, seen], axis=1))


def outer_fold(sample: Sample) -> int:
    return fold_of(sample.page.host, N_OUTER, "outer")


def cross_validated(samples: Sequence[Sample]) -> list[MainTextModel]:
    """A judge for each fold, which has seen none of its pages."""
    shares = [word_shares(sample) for sample in samples]
    folds = np.array([outer_fold(sample) for sample in samples])
    judges = []
    for fold in range(N_OUTER):
        others, their_shares = _where(folds != fold, samples, shares)
        judges.append(learned(others, their_shares))
    return judges


def f1(found: str, true: str) -> tuple[float, float, float]:
    """Precision, recall and F1 of words, repeated ones counted as often as both have them."""
    from collections import Counter

    some, all_words = Counter(words_of(found)), Counter(words_of(true))
    n_both = (some & all_words).total()
    precision, recall = n_both / max(some.total(), 1), n_both / max(all_words.total(), 1)
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)


def main(source: str, target: str) -> None:
    samples = [one for known in known_pages(Path(source)) if (one := sample_of(known)) is not None]
    judges = cross_validated(samples)
    found = []
    for sample in samples:
        scores = judged(judges[outer_fold(sample)], sample)
        retained = "\n".join(text for text, score in zip(sample.texts, scores, strict=True) if score >= 0.5)
        found.append(f1(retained, sample.page.main))
    precision, recall, both = np.mean(found, axis=0)
    print(f"cross-validated over {len(samples)} pages: precision {precision:.3f}, recall {recall:.3f}, F1 {both:.3f}")
    model = learned(samples, [word_shares(sample) for sample in samples])
    with Path(target).open("wb") as file:
        np.savez_compressed(file, **arrays_of(model))  # type: ignore[arg-type]


if __name__ == "__main__":
    main(*sys.argv[1:])
