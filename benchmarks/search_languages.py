"""Search in many languages: is a page found by a sentence of it, or by a part of one?

Pages are those of Debian's installation guide and of LibreOffice's help, at most 80 a language, all in the same crawl.
A query is a sentence of a page, verbatim, or the middle third of it, to which a script without spaces adds no break.
Every page that has it is meant. The others are those of `search_quality`; FTS5 without its stemmer, which is for
English alone. Languages of which Debian has no such pages (Arabic, Hebrew, Thai, Persian, Tamil) are in the tests
(`tests/search/test_languages.py`), with pages written for them.
"""

from __future__ import annotations

import re
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import search_web
from benchmarks.debian_docs import Manual, pages_of
from benchmarks.measure import is_installed, machine, measured, table
from benchmarks.search_quality import Answered, bm25s_defaults, fts5_plain, ours, tantivy_defaults
from benchmarks.search_queries import Query, texts_of
from benchmarks.sizes import sized
from orienteer.url import host_of

N_PAGES, N_QUERIES = sized((80, 50), (2, 2))
_GUIDE, _HELP = "usr/share/doc/installation-guide-amd64", "usr/share/libreoffice/help"
MANUALS = (
    *(
        Manual(f"{code.lower().replace('_', '-')}.test", "installation-guide-amd64", f"{_GUIDE}/{code}")
        for code in ("cs", "da", "de", "es", "fr", "it", "ja", "ko", "pt", "ru", "sv", "vi", "zh_CN")
    ),
    *(Manual(f"{code}.test", f"libreoffice-help-{code}", f"{_HELP}/{code}/text") for code in ("el", "hi", "km", "tr")),
)
CONTENDERS = {"orienteer": ours, "FTS5": fts5_plain, "tantivy": tantivy_defaults}
if is_installed("bm25s"):
    CONTENDERS["bm25s"] = bm25s_defaults
_SENTENCE = re.compile(r"(?<=[.!?։।။។])\s+|(?<=[。！？])")
_MIN_CHARS, _MIN_SIGNS, _MAX_CHARS = 40, 16, 300
_SIGNS = ("ja", "km", "ko", "zh-cn")


def run() -> str:
    with tempfile.TemporaryDirectory(prefix="orienteer-languages-") as place:
        folder = Path(place) / "crawl"
        files = {name: body for manual in MANUALS for name, body in _some(pages_of(manual))}
        search_web.crawl(search_web.written_files(Path(place) / "web.tar", files), folder)
        return languages_table(folder)


def _some(pages: Iterator[search_web.File]) -> list[search_web.File]:
    """As many as are wanted, evenly from all of them."""
    listed = [page for page in pages if len(page[1]) > 2_000]
    return [listed[int(k)] for k in np.unique(np.linspace(0, len(listed) - 1, min(N_PAGES, len(listed))).round())]


def languages_table(folder: Path) -> str:
    from orienteer.search.indexing import update_index

    update_index(folder)
    asked = queries(folder)
    found: dict[str, dict[str, Answered]] = {
        name: measured(contender, folder, asked, rounds=1).result for name, contender in CONTENDERS.items()
    }
    rows = []
    for language in sorted({kind.partition(" ")[0] for kind in asked}):
        kinds = [f"{language} sentence", f"{language} part"]
        rows.append([language, *(f"{found[name][kind].first:.2f}" for kind in kinds for name in CONTENDERS)])
    means = [np.mean([found[name][kind].first for kind in asked if kind.endswith(what)])
             for what in ("sentence", "part") for name in CONTENDERS]  # fmt: skip
    rows.append(["all", *(f"{mean:.3f}" for mean in means)])
    headings = [f"{what}: {name}" for what in ("sentence", "part") for name in CONTENDERS]
    n_pages = sum(1 for _ in texts_of(folder))
    head = f"{machine('tantivy', 'bm25s')}, SQLite {sqlite3.sqlite_version}\n\n"
    return f"{head}{n_pages:,} pages; {N_QUERIES} queries a cell at most: success@1.\n\n" + table(["", *headings], rows)


def queries(folder: Path) -> dict[str, list[Query]]:
    """Queries by language and kind; text in ASCII is untranslated English."""
    rng = np.random.default_rng(20260117)
    texts = {page.url: page.text for page in texts_of(folder)}
    asked: dict[str, list[Query]] = {}
    for manual in MANUALS:
        language = manual.host.partition(".")[0]
        mine = sorted(url for url in texts if host_of(url) == manual.host)
        said = [(url, sentence) for url in mine for sentence in _sentences(texts[url], language)]
        chosen = [said[int(k)][1] for k in rng.choice(len(said), min(N_QUERIES, len(said)), replace=False)]
        for kind, pasted in (("sentence", chosen), ("part", [_part(sentence) for sentence in chosen])):
            asked[f"{language} {kind}"] = [
                Query(words, frozenset(url for url in mine if words in texts[url])) for words in pasted
            ]
    return asked


def _sentences(text: str, language: str) -> list[str]:
    least = _MIN_SIGNS if language in _SIGNS else _MIN_CHARS
    found = (sentence.strip() for line in text.split("\n") for sentence in _SENTENCE.split(line))
    return [sentence for sentence in found if least <= len(sentence) <= _MAX_CHARS and not sentence.isascii()]


def _part(sentence: str) -> str:
    """The middle third, from the beginning of a word to the end of one, where there are spaces."""
    words = sentence.split()
    if len(words) < 6:
        return sentence[len(sentence) // 3 : 2 * len(sentence) // 3].strip()
    return " ".join(words[len(words) // 3 : 2 * len(words) // 3])
