"""`python -m benchmarks.main_text_uses`: is main text better than all text for topics and for near duplicates?

Topics: the mean precision (over the pages on topic, each at its own relevance) of a topic that was trained on other
pages; of universities on other universities. Subjects of the encyclopedia are those of `experiments/topic_tasks`, each
among all articles.

Near duplicates, on pages of documentation, up to 60 a host. "wrongly near": pairs of pages of a host of which the true
main texts (`reading_truth`) are no near duplicates, but what was compared is. "nowhere near": those of them whose true
main texts are not even half the same. "missed": pairs with true main texts that are near duplicates, but what was
compared is not. "in other boilerplate": of pages whose main text was put into a page of another host, how many are near
duplicates of the page that it came from. Main text is that of the page by itself, since near duplicates are detected
during the crawl, before it is known what repeats.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from benchmarks.measure import machine, table
from benchmarks.reading import SITES, pages_of_sites
from benchmarks.reading_truth import main_and_rest, with_main_of
from benchmarks.sizes import DATA, sized
from experiments.real_data import SCHOOLS
from experiments.topic_tasks import ARCHIVES, SUBJECTS
from experiments.web_words import archived_pages
from orienteer.extract.near_duplicates import NEAR, signature, similarity
from orienteer.extract.page import extract_page
from orienteer.files.compressed import byte_blocks
from orienteer.graph.link_graph import LinkGraph
from orienteer.topics import make_topic
from orienteer.topics.cross_validation import cross_validated
from orienteer.topics.topic import PageContent

PAGES_PER_HOST = sized(60, 5)
N_ARTICLES = sized(1_500, 20)
N_MOVED = sized(200, 5)
TOPICS = ("bayes", "linear")
CLASSES = ("course", "faculty", "student")


class Both(NamedTuple):
    """A page as a topic sees it: with all of its text, and with its main text."""

    whole: PageContent
    main: PageContent


def both_of(url: str, html: bytes) -> Both:
    page = extract_page(html, url, with_scores=True)
    content = PageContent.of(url, page)
    return Both(content, content._replace(text=page.main_text))


def run() -> str:
    missing = [name for name in (*SITES.values(), "webkb-dev.jsonl.zst") if not (DATA / name).is_file()]
    if missing:
        return f"The real pages are not here ({missing[0]}); nothing was measured.\n"
    return f"{machine('numpy', 'lxml')}\n\n{topics_table()}\n{duplicates_table()}\n{cost()}"


# Topics


def topics_table() -> str:
    rows = [*_rows("universities", universities(), by_site=True), *_rows("encyclopedia", subjects(), by_site=False)]
    return "Topics, mean precision:\n\n" + table(["", "all text", "main text"], rows)


Task = tuple[str, Sequence[Both], Sequence[bool]]


def universities() -> Iterator[Task]:
    rows = [json.loads(line) for line in _lines("webkb-dev.jsonl.zst")]
    pages = [both_of(row["url"], row["html"].encode()) for row in rows]
    for name in CLASSES:
        yield name, pages, [row["cls"] == name for row in rows]


def subjects() -> Iterator[Task]:
    """Some articles of the encyclopedia, and all that are on one of the topics."""
    urls = list(LinkGraph.load(DATA / "graphs" / f"{SCHOOLS}.npz").urls or ())
    members: dict[str, set[int]] = {name: set() for name in SUBJECTS}
    for line in _lines(f"graphs/{SCHOOLS}.topics.tsv.gz"):
        page, subject = line.decode().split("\t")[:2]
        if subject in members:
            members[subject].add(int(page))
    some = np.random.default_rng(20261116).permutation(len(urls))[:N_ARTICLES].tolist()
    chosen = sorted({*some, *(page for pages in members.values() for page in pages)})
    html = dict(archived_pages(DATA / ARCHIVES[SCHOOLS]))
    known = [page for page in chosen if urls[page].partition("://")[2] in html]
    pages = [both_of(urls[page], html[urls[page].partition("://")[2]]) for page in known]
    for name in SUBJECTS:
        yield name.rpartition(".")[2].replace("_", " ").lower(), pages, [page in members[name] for page in known]


def _rows(group: str, tasks: Iterator[Task], by_site: bool) -> list[list[str]]:
    figures: dict[str, list[tuple[float, float]]] = {kind: [] for kind in TOPICS}
    for _, pages, is_on_topic in tasks:
        for kind in TOPICS:
            whole, main = (
                cross_validated(
                    lambda kind=kind: make_topic(kind), [page[which] for page in pages], is_on_topic, by_site=by_site
                ).average_precision()
                for which in (0, 1)
            )  # fmt: skip
            figures[kind].append((whole, main))
    rows = []
    for kind, pairs in figures.items():
        whole, main = np.mean(pairs, axis=0)
        rows.append([f"{kind}, {group} ({len(pairs)} topics)", f"{whole:.3f}", f"{main:.3f}"])
    return rows


def _lines(name: str) -> list[bytes]:
    return b"".join(byte_blocks(DATA / name)).splitlines()


# Near duplicates


class Signed(NamedTuple):
    """The signatures of what a page truly says, of all its text, and of its main text."""

    truth: bytes
    whole: bytes
    main: bytes


def signed(url: str, html: bytes) -> Signed | None:
    """None where one of them is too short to judge."""
    known = main_and_rest(html)
    if known is None:
        return None
    page = extract_page(html, url, with_scores=True)
    signatures = [signature(text) for text in (known[0], page.text, page.main_text)]
    return None if None in signatures else Signed(*signatures)  # type: ignore[arg-type]


def duplicates_table() -> str:
    wrong, nowhere, missed, n_near, n_pairs = np.zeros(2, int), np.zeros(2, int), np.zeros(2, int), 0, 0
    pages_of: dict[str, list[tuple[str, bytes]]] = {}
    for host, pages in pages_of_sites(SITES["documentation"], PAGES_PER_HOST):
        pages_of[host] = pages
        known = [one for name, html in pages if (one := signed(f"http://{name}", html)) is not None]
        for one, other in combinations(known, 2):
            true = similarity(one.truth, other.truth)
            near = np.array([similarity(one[k], other[k]) >= NEAR for k in (1, 2)])
            n_pairs += 1
            if true >= NEAR:
                n_near += 1
                missed += ~near
            else:
                wrong += near
                nowhere += near & (true < 0.5)
    moved = [near_after_moving(*one) for one in moves(pages_of)]
    found = np.mean([one for one in moved if one is not None], axis=0)
    rows = [
        [name, f"{wrong[k]:,}", f"{nowhere[k]:,}", f"{missed[k]:,}", f"{100 * found[k]:.0f} %"]
        for k, name in enumerate(("all text", "main text"))
    ]
    head = ["near duplicates by", "wrongly near", "nowhere near", "missed", "in other boilerplate"]
    about = f"{n_pairs:,} pairs of pages of the same host, of which {n_near:,} are near duplicates"
    return f"{about}; {sum(one is not None for one in moved)} pages in other boilerplate:\n\n{table(head, rows)}"


Move = tuple[str, bytes, str, bytes]


def moves(pages_of: dict[str, list[tuple[str, bytes]]]) -> Iterator[Move]:
    """Pages, and pages of other hosts to put their main texts into."""
    rng = np.random.default_rng(20261117)
    hosts = sorted(pages_of)
    for _ in range(N_MOVED):
        one, other = (hosts[int(k)] for k in rng.choice(len(hosts), 2, replace=False))
        name, html = pages_of[one][int(rng.integers(len(pages_of[one])))]
        other_name, other_html = pages_of[other][int(rng.integers(len(pages_of[other])))]
        yield name, html, other_name, other_html


def near_after_moving(name: str, html: bytes, other_name: str, other_html: bytes) -> list[bool] | None:
    """Whether a page is a near duplicate of itself in the boilerplate of another, by all text and by main text."""
    changed = with_main_of(other_html, html)
    if changed is None:
        return None
    before, after = signed(f"http://{name}", html), signed(f"http://{other_name}", changed)
    if before is None or after is None:
        return None
    return [similarity(before[k], after[k]) >= NEAR for k in (1, 2)]


def cost() -> str:
    """CPU time of reading the same pages without and with main text."""
    pages = [page for _, some in pages_of_sites(SITES["documentation"], 5) for page in some]
    times = []
    for with_scores in (False, True):
        for name, html in pages[:2]:
            extract_page(html, f"http://{name}", with_scores=with_scores)
        began = time.process_time()
        for name, html in pages:
            extract_page(html, f"http://{name}", with_scores=with_scores)
        times.append(1e3 * (time.process_time() - began) / len(pages))
    return f"Reading a page of documentation takes {times[0]:.1f} ms of CPU time, with main text {times[1]:.1f} ms.\n"


if __name__ == "__main__":
    print(run())
