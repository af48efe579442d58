"""Search: how fast is it found and indexed, is the page that was meant the first one, and what do ranks change?

It is compared with SQLite's FTS5 with the Porter stemmer, over the same title, headings and text, with our field
weights and its own snippets; it knows no texts of links and no ranks. Its table keeps the texts, ours are in pages.db.
What `orienteer index` takes beyond the third row is reading pages from the archive, taking words and links out of HTML,
keeping them, and ranks: FTS5 is asked for none of it, the third and fourth row are like with like. There ours takes
longer: it has a field more for what links say, and one with words as they are written, by which misspelt ones are
corrected. A sentence's rare words are found better without weights for titles and links: FTS5 is ahead there.

Speed, on a crawl of more than 30,000 pages (see `search_web`: how many are real is said below): ten results with their
snippets and their positions in all orders, as `SearchIndex.search` gives them, each query once; CPU time.

Known items, on an encyclopedia for schools (see `search_queries`): success@1 and MRR. How much fields weigh was chosen
in an earlier version among thirteen settings by 500 titles of this very site, drawn before any were held out, so the
title columns flatter us, and FTS5, which was given our weights, had no such choice. The bonus of a title with all of
the words, and the weight of the rank, were chosen on the other half of the titles, by about 12,000 queries made in the
same way (of some hundred forms and weights none was better by more than 0.004 in the mean of success@1); these figures
are of the half that was held out. That half had been used before: without the bonus for titles a blend had cost 0.010
of the second kind, and a weight of 0.05 for any number of words one or two of 2,000 queries of the second and third;
what took their place was chosen on the other half each time. On 2,000 queries 0.001 is two queries: differences below
0.01 are no differences. Three of the kinds draw their pages without regard to how much they are linked to: there a rank
cannot help, and the test is that it does no harm. The texts of links are asked for as often as there are links with
them: these are the queries that ranks are for.

Orders, on docs.python.org as the domain and 35 other documentation hosts as the world: links from the same host, and
links from others.
"""

from __future__ import annotations

import re
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import search_web
from benchmarks.measure import machine, measured, table
from benchmarks.search_queries import KINDS, Query, QueryMaker, everyday_queries, leave_out, texts_of
from benchmarks.sizes import sized
from orienteer.store.page_texts import PageTexts, StoredText
from orienteer.url import host_of

SCHOOLS = "schools-wikipedia-articles.tar.zst"
SCHOOLS_SEED = "http://schools-wikipedia.org/wp/u/United_Kingdom.htm"
WEIGHTS = (0.1, 0.3, 0.5)
EXAMPLES = ("types", "data")


class Answered(NamedTuple):
    success: float
    reciprocal: float


def run(n_pages: int = sized(31_000, 20), n_queries: int = sized(300, 3)) -> str:
    with tempfile.TemporaryDirectory(prefix="orienteer-search-") as place:
        texts = [_speed(Path(place), n_pages, n_queries), _known_items(Path(place)), _orders(Path(place))]
    return f"{machine('tantivy', 'numba')}, SQLite {sqlite3.sqlite_version}\n\n" + "\n".join(texts)


# -- speed ------------------------------------------------------------------------------------------------------


def _speed(place: Path, n_pages: int, n_queries: int) -> str:
    folder = place / "large"
    web = search_web.written_web(place / "web.tar", n_pages)
    search_web.crawl(web, folder)
    head = f"{web.n_real:,} pages are real, {web.n_made:,} are sections of real ones. "
    return head + _indexing_table(folder) + "\n" + _times_table(folder, n_queries)


def whole_indexing(folder: Path) -> Callable[[], Any]:
    from orienteer.search.indexing import update_index

    def run() -> tuple[int, int]:
        report = update_index(folder, rebuild=True)
        return report.n_pages, report.size_bytes

    return run


def nothing_new(folder: Path) -> Callable[[], Any]:
    from orienteer.search.indexing import update_index

    return lambda: update_index(folder).n_read


def ours_from_texts(folder: Path) -> Callable[[], Any]:
    from orienteer.search.text_index import TextIndex

    pages = list(_with_link_texts(folder))

    def run() -> int:
        with tempfile.TemporaryDirectory() as place:
            with TextIndex(Path(place), create=True).writer() as writer:
                for page, link_texts in pages:
                    writer.add(page, 0, link_texts)
                writer.commit()
            return sum(path.stat().st_size for path in Path(place).iterdir())

    return run


def _with_link_texts(folder: Path) -> Iterator[tuple[StoredText, list[str]]]:
    with PageTexts(folder / "index" / "pages.db", read_only=True) as texts:
        for page in texts_of(folder):
            yield page, texts.link_texts([page.id])


def fts5_from_texts(folder: Path) -> Callable[[], Any]:
    pages = [(page.url, host_of(page.url), page.title, page.headings, page.text) for page in texts_of(folder)]
    place = folder / "fts5.db"

    def run() -> int:
        place.unlink(missing_ok=True)
        with sqlite3.connect(place) as database:
            columns = "url UNINDEXED, host UNINDEXED, title, headings, text, tokenize='porter unicode61'"
            database.execute(f"CREATE VIRTUAL TABLE page USING fts5({columns})")
            database.executemany("INSERT INTO page VALUES (?, ?, ?, ?, ?)", pages)
        database.close()
        return place.stat().st_size

    return run


def _indexing_table(folder: Path) -> str:
    whole = measured(whole_indexing, folder, rounds=1)
    n_pages, size_bytes = whole.result
    again = measured(nothing_new, folder, rounds=1)
    ours, fts5 = measured(ours_from_texts, folder, rounds=1), measured(fts5_from_texts, folder, rounds=1)
    rows = [
        [name, f"{m.cpu_s:.1f}", f"{n_pages / m.cpu_s:,.0f}", f"{n_bytes / 2**20:.0f}", f"{m.peak_mib:.0f}"]
        for name, m, n_bytes in (
            ("`orienteer index`: archive to index, ranks", whole, size_bytes),
            ("`orienteer index` again, nothing new", again, size_bytes),
            ("orienteer, texts in memory to text index", ours, ours.result),
            ("FTS5, texts in memory to its table", fts5, fts5.result),
        )
    ]
    head = f"{n_pages:,} can be searched, some of them under two names.\n\n"
    return head + table(["", "CPU s", "pages per CPU-s", "MiB", "peak MiB"], rows)


def ours_timed(folder: Path, n_queries: int) -> Callable[[], Any]:
    from orienteer.search.search_index import SearchIndex

    asked, index = everyday_queries(folder, n_queries), SearchIndex.open(folder)
    index.search("warm up")
    return lambda: {kind: _times(queries, index.search) for kind, queries in asked.items()}


def fts5_timed(folder: Path, n_queries: int) -> Callable[[], Any]:
    asked, answer = everyday_queries(folder, n_queries), fts5_answers(folder)
    return lambda: {kind: _times(queries, answer) for kind, queries in asked.items()}


def _times(queries: list[str], answer: Callable[[str], object]) -> list[float]:
    """CPU time of each query, in milliseconds."""
    times = []
    for words in queries:
        began = time.thread_time()
        answer(words)
        times.append(1000 * (time.thread_time() - began))
    return times


def _times_table(folder: Path, n_queries: int) -> str:
    ours, fts5 = (measured(timed, folder, n_queries, rounds=1).result for timed in (ours_timed, fts5_timed))
    for times in (ours, fts5):
        times["all"] = [spent for some in times.values() for spent in some]
    rows = []
    for kind in ours:
        figures = [figure for times in (ours, fts5) for figure in np.percentile(times[kind], (50, 95)).tolist()]
        rows.append([kind, f"{len(ours[kind]):,}", *(f"{figure:.2f}" for figure in figures)])
    return table(["", "queries", "CPU ms p50", "p95", "FTS5 p50", "p95"], rows)


# -- known items ------------------------------------------------------------------------------------------------


def _known_items(place: Path) -> str:
    folder = place / "schools"
    search_web.crawl_site(search_web.DATA / SCHOOLS, SCHOOLS_SEED, folder)
    whole_indexing(folder)()
    asked = {kind: QueryMaker(folder, held_out=True).queries(kind) for kind in KINDS}
    leave_out(folder, asked["a link"])
    fts5_from_texts(folder)()
    orders: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
        ("FTS5", fts5_answering, ()),
        ("text", ours_answering, ("text", None)),
        ("blend, as it comes", ours_answering, ("blend", None)),
        *((f"local rank, weight {weight}", ours_answering, ("local", weight)) for weight in WEIGHTS),
    ]
    rows = []
    for name, contender, arguments in orders:
        found = measured(contender, folder, asked, *arguments, rounds=1).result
        rows.append([name, *(f"{figure:.3f}" for kind in KINDS for figure in found[kind])])
    n_pages = sum(1 for _ in texts_of(folder))
    counts = ", ".join(f"{len(asked[kind]):,} by {kind}" for kind in KINDS)
    headings = ["", *(heading for kind in KINDS for heading in (f"{kind}: success@1", "MRR"))]
    return f"Known items among {n_pages:,} pages: {counts}.\n\n" + table(headings, rows)


def ours_answering(
    folder: Path, asked: dict[str, list[Query]], rank: str, weight: float | None
) -> Callable[[], dict[str, Answered]]:
    from orienteer.search.search_index import SearchIndex

    index = SearchIndex.open(folder)

    def answer(words: str) -> list[str]:
        return [hit.url for hit in index.search(words, rank=rank, weight=weight).hits]

    return lambda: {kind: answered(queries, answer) for kind, queries in asked.items()}


def fts5_answering(folder: Path, asked: dict[str, list[Query]]) -> Callable[[], dict[str, Answered]]:
    answer = fts5_answers(folder)
    return lambda: {kind: answered(queries, answer) for kind, queries in asked.items()}


def fts5_answers(folder: Path) -> Callable[[str], list[str]]:
    """What FTS5 finds; it knows phrases in quotes, and `site:` is a condition on the host."""
    database = sqlite3.connect(folder / "fts5.db")
    sql = (
        "SELECT url, snippet(page, 4, '<mark>', '</mark>', '…', 40) FROM page WHERE page MATCH ? AND host LIKE ? "
        "ORDER BY bm25(page, 0, 0, 5.0, 1.0, 0.7) LIMIT 10"
    )

    def answer(typed: str) -> list[str]:
        words, _, host = typed.partition(" site:")
        match = words if words.startswith('"') else " ".join(f'"{word}"' for word in re.findall(r"\w+", words))
        return [url for url, _ in database.execute(sql, (match, host or "%"))]

    return answer


def answered(asked: list[Query], answer: Callable[[str], list[str]]) -> Answered:
    places = [next((k for k, url in enumerate(answer(query.words), 1) if url in query.urls), 0) for query in asked]
    reciprocals = [1 / place if place else 0.0 for place in places]
    return Answered(float(np.mean([place == 1 for place in places])), float(np.mean(reciprocals)))


# -- orders -----------------------------------------------------------------------------------------------------


def _orders(place: Path) -> str:
    from orienteer.search.search_index import SearchIndex

    folder = place / "python"
    n_nearby = search_web.crawl_with_neighborhood(folder)
    whole_indexing(folder)()
    text = ""
    with SearchIndex.open(folder) as index:
        for words in EXAMPLES:
            columns = [index.search(words, rank=order, n=5).hits for order in ("text", "local", "global")]
            rows = [
                [f"{n}", *(_short(hit.title) for hit in row)] for n, row in enumerate(zip(*columns, strict=False), 1)
            ]
            text += f"\n`{words}` on docs.python.org ({index.n_pages:,} pages, {n_nearby:,} of the neighborhood):\n\n"
            text += table(["", "by words", "seen from inside", "seen from outside"], rows)
    return text


def _short(title: str) -> str:
    return title.partition(" — Python")[0].replace("|", "\\|")[:60]
