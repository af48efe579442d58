"""The CPU time of judging the relevance of a page, on real pages of universities (2,000 characters of text).

Pages have been read before (see extraction); scikit-learn's HashingVectorizer and MultinomialNB get title and text.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from benchmarks.measure import machine, measured, table
from benchmarks.sizes import DATA
from orienteer.files.compressed import zstd

ARCHIVE = DATA / "webkb-dev.jsonl.zst"
BATCH = 512
WORDS = ("course", "homework*", "lecture*", "syllabus", "exam", "instructor", "textbook", "office hours")


def examples() -> tuple[list[Any], list[bool]]:
    from orienteer.extract.page import extract_page
    from orienteer.topics.topic import PageContent

    rows = [json.loads(line) for line in zstd.decompress(ARCHIVE.read_bytes()).splitlines()]
    pages = [PageContent.of(row["url"], extract_page(row["html"].encode(), row["url"])) for row in rows]
    return pages, [row["cls"] == "course" for row in rows]


def in_batches(work: Callable[[list[Any]], Any], things: list[Any], batch: int) -> Callable[[], int]:
    work(things[:2])  # compiles what is to be compiled

    def run() -> int:
        for start in range(0, len(things), batch):
            work(things[start : start + batch])
        return len(things)

    return run


def words(batch: int) -> Callable[[], int]:
    from orienteer.topics.words import word_counts

    return in_batches(word_counts, examples()[0], batch)


def topic(name: str, batch: int) -> Callable[[], int]:
    from orienteer.topics import make_topic

    pages, is_positive = examples()
    made = make_topic(name, words=WORDS) if name == "keywords" else make_topic(name)
    if made.needs_training:
        made.train(pages, is_positive)
    return in_batches(made.relevance, pages, batch)


def training(name: str) -> Callable[[], int]:
    from orienteer.topics import make_topic

    pages, is_positive = examples()
    make_topic(name).train(pages, is_positive)

    def run() -> int:
        make_topic(name).train(pages, is_positive)
        return len(pages)

    return run


def peer(with_bayes: bool, batch: int) -> Callable[[], int]:
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.naive_bayes import MultinomialNB

    pages, is_positive = examples()
    texts = [f"{page.title}\n{page.text}" for page in pages]
    vectorizer = HashingVectorizer(n_features=1 << 18, alternate_sign=False, norm=None)
    if not with_bayes:
        return in_batches(vectorizer.transform, texts, batch)
    bayes = MultinomialNB().fit(vectorizer.transform(texts), is_positive)
    return in_batches(lambda some: bayes.predict_proba(vectorizer.transform(some)), texts, batch)


CONTENDERS: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
    (f"words in buckets, {BATCH} pages at a time", words, (BATCH,)),
    ("words in buckets, one by one", words, (1,)),
    (f"HashingVectorizer, {BATCH} pages at a time", peer, (False, BATCH)),
    (f"bayes, {BATCH} pages at a time", topic, ("bayes", BATCH)),
    ("bayes, one by one", topic, ("bayes", 1)),
    (f"HashingVectorizer and MultinomialNB, {BATCH} pages at a time", peer, (True, BATCH)),
    ("HashingVectorizer and MultinomialNB, one by one", peer, (True, 1)),
    (f"linear, {BATCH} pages at a time", topic, ("linear", BATCH)),
    (f"keywords (8 of them), {BATCH} pages at a time", topic, ("keywords", BATCH)),
    ("training bayes", training, ("bayes",)),
    ("training linear (20 passes)", training, ("linear",)),
]


def run() -> str:
    if not ARCHIVE.is_file():
        return f"The real pages are not here ({ARCHIVE.name}); nothing was measured.\n"
    rows, n_pages = [], 0
    for name, prepare, arguments in CONTENDERS:
        found = measured(prepare, *arguments)
        n_pages = found.result
        rows.append([name, f"{1e3 * found.cpu_s / n_pages:.3f}"])
    return f"{n_pages:,} pages. {machine('numba', 'scikit-learn')}\n\n" + table(["", "CPU ms per page"], rows)
