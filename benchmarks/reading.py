"""Main text: how much of it is found, how much of the rest comes along, and what it costs.

Pages: WCXB, of the real web of 2025, each with its true main text. Words are compared, repeated ones as often as both
have them; the mean is over pages. "inside" is the share of snippets that belong to the page's main text, or to its
boilerplate, that are inside the text that was found. The weights that ours ships were learned on these pages; what
counts is *cross-validated*: the main text of each page was found by weights that have seen no page of its host.

Boilerplate is learned from other pages of the host: pages of documentation and of an encyclopedia, up to 20 a host,
where each generator marks its main text (`reading_truth`). No weights have seen them; but how much repetition counts
was chosen on the pages of documentation, among some fifteen settings, and rules of the truth were corrected on the way
(the title of an article belongs to it). So those figures are not of held-out pages.
"""

from __future__ import annotations

import io
import re
import tarfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.measure import NotInstalledError, machine, measured, table
from benchmarks.reading_truth import main_and_rest
from benchmarks.sizes import DATA, sized
from experiments.main_text_pages import KnownPage, known_pages, sample_of
from experiments.main_text_weights import cross_validated, f1, judged, outer_fold
from orienteer.extract.boilerplate import HostBoilerplate
from orienteer.extract.main_text import as_bytes, main_text, with_headings, with_wholes, without_repeats
from orienteer.extract.page import extract_page
from orienteer.files.compressed import zstd

PAGES = DATA / "wcxb-dev.jsonl.zst"
SITES = {"documentation": "dev-docs-web.tar.zst", "encyclopedia": "schools-wikipedia-articles.tar.zst"}
PAGES_PER_HOST = sized(20, 4)
LEAST_PAGES = sized(10, 2)

_WORD = re.compile(r"\w+")
_PEERS = ("trafilatura", "resiliparse", "turbohtml")


def _over_pages(extract: Callable[[KnownPage], str]) -> Callable[[], list[str]]:
    pages = list(known_pages(PAGES))
    extract(pages[0])  # compiles what is to be compiled
    return lambda: [extract(page) for page in pages]


def whole_text() -> Callable[[], list[str]]:
    return _over_pages(lambda page: extract_page(page.html, page.url, "utf-8").text)


def shipped() -> Callable[[], list[str]]:
    return _over_pages(lambda page: extract_page(page.html, page.url, "utf-8", with_scores=True).main_text)


def trafilatura() -> Callable[[], list[str]]:
    from trafilatura import extract

    return _over_pages(lambda page: extract(page.html.decode()) or "")


def resiliparse() -> Callable[[], list[str]]:
    from resiliparse.extract.html2text import extract_plain_text

    return _over_pages(lambda page: extract_plain_text(page.html.decode(), main_content=True))


def turbohtml() -> Callable[[], list[str]]:
    import turbohtml

    return _over_pages(lambda page: turbohtml.parse(page.html.decode()).main_text())


CONTENDERS: list[tuple[str, Callable[..., Any]]] = [
    ("orienteer, all text", whole_text),
    ("orienteer, main text, as shipped", shipped),
    ("trafilatura", trafilatura),
    ("resiliparse", resiliparse),
    ("turbohtml", turbohtml),
]


def by_others() -> list[str]:
    """The main text of each page, by weights that have seen none of its host."""
    pages = list(known_pages(PAGES))
    samples = [sample_of(page) for page in pages]
    known = [sample for sample in samples if sample is not None]
    judges = cross_validated(known)
    texts = []
    for page, sample in zip(pages, samples, strict=True):
        if sample is None:
            texts.append(extract_page(page.html, page.url).text)
            continue
        scores = without_repeats(judged(judges[outer_fold(sample)], sample), sample.repeats)
        scores, places = with_headings(scores, sample.levels), sample.context.places
        groups = places.groups(sample.context.chars)
        scores = as_bytes(with_wholes(scores, sample.n_words, groups), sample.n_words)
        texts.append(main_text("\n".join(sample.texts), scores, places.numbered_groups(groups)))
    return texts


def snippets_inside(texts: list[str], snippets: list[list[str]]) -> float:
    inside = []
    for text, expected in zip(texts, snippets, strict=True):
        words = f" {_normalized(text)} "
        inside += [f" {_normalized(snippet)} " in words for snippet in expected if _normalized(snippet)]
    return float(np.mean(inside))


def _normalized(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))


def run() -> str:
    if not PAGES.is_file():
        return f"The real pages are not here ({PAGES.name}); nothing was measured.\n"
    pages = list(known_pages(PAGES))
    cells = []
    found = {"orienteer, main text, cross-validated": (by_others(), "")}
    for name, prepare in CONTENDERS:
        try:
            result = measured(prepare, rounds=1 if prepare is trafilatura else 3)
        except NotInstalledError:
            cells.append([name, "not installed"])
            continue
        found[name] = (result.result, f"{1e3 * result.cpu_s / len(pages):.1f}")
    by_type = []
    types = sorted({page.type for page in pages})
    for name, (texts, ms) in found.items():
        figures = np.array([f1(text, page.main) for text, page in zip(texts, pages, strict=True)])
        belonging = snippets_inside(texts, [page.belonging for page in pages])
        boilerplate = snippets_inside(texts, [page.boilerplate for page in pages])
        cells.append([name, *(f"{figure:.3f}" for figure in figures.mean(axis=0))])
        cells[-1] += [f"{100 * belonging:.1f} %", f"{100 * boilerplate:.1f} %", ms]
        of_type = [figures[[page.type == one for page in pages], 2].mean() for one in types]
        by_type.append([name, *(f"{figure:.3f}" for figure in of_type)])
    head = ["", "precision", "recall", "F1", "main text inside", "boilerplate inside", "CPU ms per page"]
    packages = ["turbohtml", *(name for name in ("trafilatura", "resiliparse") if name in found)]
    return (
        f"{len(pages)} pages. {machine('numpy', *packages)}\n\n{table(head, cells)}\nF1 by type of page:\n\n"
        f"{table(['', *types], by_type)}\n{boilerplate_table()}"
    )


# Boilerplate


def pages_of_sites(name: str, most: int = PAGES_PER_HOST) -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """The pages of hosts that have enough of them, `most` of each at most."""
    with tarfile.open(fileobj=io.BytesIO(zstd.decompress((DATA / name).read_bytes()))) as files:
        by_host = defaultdict(list)
        for file in files:
            if file.isfile() and file.name.endswith((".html", ".htm")):
                by_host[file.name.split("/")[0]].append(file)
        for host, members in sorted(by_host.items()):
            if len(members) >= LEAST_PAGES:
                some = members[:: max(len(members) // most, 1)][:most]
                yield host, [(file.name, files.extractfile(file).read()) for file in some]  # type: ignore[union-attr]


def host_figures(host: str, pages: list[tuple[str, bytes]]) -> dict[str, list[tuple[float, float, float]]]:
    """Of each page: how much of the main text is inside, how much of the rest, how much of what is found is the rest.

    By the model alone, and with boilerplate learned.
    """
    known, boilerplate = [], HostBoilerplate()
    for name, html in pages:
        truth = main_and_rest(html)
        page = extract_page(html, f"http://{name}", with_scores=True)
        lines = page.text.split("\n")
        boilerplate.learn(host, lines)
        if truth is not None and len(truth[0].split()) >= 20:
            known.append((lines, page, truth))
    figures: dict[str, list[tuple[float, float, float]]] = {"by itself": [], "boilerplate learned": []}
    for lines, page, (main, whole) in known:
        alone, scores, groups = HostBoilerplate(), page.line_scores, page.line_groups
        masks = (each.main_lines(host, lines, scores, groups) for each in (alone, boilerplate))
        for name, mask in zip(figures, masks, strict=True):
            extracted = "\n".join(line for line, is_main in zip(lines, mask, strict=True) if is_main)
            figures[name].append(_figures(extracted, main, whole))
    return figures


def _figures(extracted: str, main: str, whole: str) -> tuple[float, float, float]:
    from collections import Counter

    found, expected, everything = (Counter(_WORD.findall(text.lower())) for text in (extracted, main, whole))
    n_right = (found & expected).total()
    n_rest = max(everything.total() - expected.total(), 0)
    n_wrong = found.total() - n_right
    return n_right / expected.total(), min(n_wrong / n_rest, 1.0) if n_rest else 0.0, n_wrong / max(found.total(), 1)


def boilerplate_table() -> str:
    rows = []
    n_pages = n_hosts = 0
    for site, archive in SITES.items():
        total = defaultdict(list)
        for host, pages in pages_of_sites(archive):
            for name, figures in host_figures(host, pages).items():
                total[name] += figures
            n_pages, n_hosts = n_pages + len(pages), n_hosts + 1
        for name, figures in total.items():
            rows.append([f"{site}, {name}", *(f"{100 * figure:.1f} %" for figure in np.mean(figures, axis=0))])
    head = ["", "of the main text, inside", "of the rest, inside", "of what is inside, the rest"]
    return f"Boilerplate learned from {n_pages:,} pages of {n_hosts} hosts, in words:\n\n{table(head, rows)}"
