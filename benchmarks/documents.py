"""Documents: Debian's PDF manuals read, crawled and searched; bombs and damaged files.

The manuals are those of some Debian packages, downloaded by `apt-get` into a temporary folder. They are read by the
limited process, as a crawl does it; CPU time and memory are those of that process. Then a fake web serves them, they
are crawled and indexed, and sentences of them are looked for: lines of 8 to 25 words, drawn at random, that occur on
only one page of all manuals. A sentence is found when its document is the first result; the page is right when the
result names the page of the sentence.

Bombs are documents made to take memory and time, damaged files are the manuals and small documents of other formats
with flipped bits, cuts, and pieces missing, doubled or overwritten. *In part* means that links count as unknown.
"""

from __future__ import annotations

import gzip
import os
import random
import resource
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from benchmarks.debian_docs import downloaded
from benchmarks.measure import machine, measured, table
from benchmarks.sizes import IS_TINY, sized
from orienteer.extract.documents.document import Document, UnreadableDocumentError
from orienteer.extract.documents.limited import LimitedReader
from orienteer.live.session import live_crawl
from orienteer.search.indexing import update_index
from orienteer.search.search_index import SearchIndex
from tests.documents.bombs import WHOLE, bombs, damaged
from tests.documents.makers import PDF
from tests.fake_web.page_site import PageSite
from tests.fake_web.process import FakeWebProcess

PACKAGES = (
    "bash-doc", "debian-policy", "debmake-doc", "developers-reference", "fig2dev", "graphviz-doc", "maint-guide",
    "valgrind",
)  # fmt: skip
N_SENTENCES = sized(200, 5)
N_DAMAGED = sized(500, 5)
RNG = 21
_HOST = "http://manuals.test/"
_MIB = 1 << 20


class Spent(NamedTuple):
    """What reading a document took, and what came of it; `peak_bytes` is of the process so far, or of any that died."""

    document: Document | None
    why: str
    cpu_s: float
    wall_s: float
    peak_bytes: int
    died: bool


class Meter:
    """Reads documents, and looks at the process that does it."""

    def __init__(self) -> None:
        self._reader = LimitedReader()

    def read(self, content: bytes, media_type: str) -> Spent:
        n_started, began, before = self._reader.supervisor.n_started, time.perf_counter(), self._all_cpu_s()
        pid = self._pid()
        document, why = None, ""
        try:
            document = self._reader.read(content, media_type)
        except UnreadableDocumentError as error:
            why = str(error)
        wall_s, cpu_s = time.perf_counter() - began, self._all_cpu_s() - before
        died = self._pid() is None or (pid is not None and self._reader.supervisor.n_started > n_started)
        ended_peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 if died else 0
        return Spent(document, why, cpu_s, wall_s, max(ended_peak, self._peak_bytes()), died)

    def close(self) -> None:
        self._reader.close()

    def _pid(self) -> int | None:
        return next(iter(self._reader.supervisor.pids), None)

    def _all_cpu_s(self) -> float:
        """Of the process there is, and of those that have ended."""
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        pid, living = self._pid(), 0
        if pid is not None:
            living = sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
        return ended.ru_utime + ended.ru_stime + living / os.sysconf("SC_CLK_TCK")

    def _peak_bytes(self) -> int:
        pid = self._pid()
        if pid is None:
            return 0
        status = Path(f"/proc/{pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def run() -> str:
    with tempfile.TemporaryDirectory(prefix="orienteer-documents-") as place:
        manuals = Path(place) / "web" / "manuals.test"
        collect(manuals, Path(place) / "packages")
        texts, reading = _read_manuals(manuals)
        bombed, damage = measured(_bombs, rounds=1).result, measured(_damaged, manuals, rounds=1).result
        texts = [reading, _searched(Path(place), manuals, texts), bombed, damage]
    return f"{machine('pypdfium2')}\n\n" + "\n".join(texts)


def collect(manuals: Path, scratch: Path) -> None:
    """The PDFs of the packages, under their own names."""
    manuals.mkdir(parents=True)
    if IS_TINY:
        (manuals / "tiny.pdf").write_bytes(WHOLE[PDF]())
        return
    scratch.mkdir()
    for package in PACKAGES:
        downloaded(package, scratch)
    for file in sorted(scratch.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", file, scratch / file.stem], check=True)
        for found in sorted((scratch / file.stem).rglob("*.pdf*")):
            if found.is_file() and not found.is_symlink() and found.name.endswith((".pdf", ".pdf.gz")):
                content = found.read_bytes()
                is_packed = found.suffix == ".gz"
                (manuals / found.name.removesuffix(".gz")).write_bytes(
                    gzip.decompress(content) if is_packed else content
                )
    shutil.rmtree(scratch)


def _read_manuals(manuals: Path) -> tuple[dict[str, str], str]:
    meter = Meter()
    texts: dict[str, str] = {}
    n_bytes = n_links = n_in_part = 0
    cpu_s, longest_s, peak = 0.0, 0.0, 0
    for file in sorted(manuals.glob("*.pdf")):
        content = file.read_bytes()
        spent = meter.read(content, PDF)
        cpu_s, longest_s, peak = cpu_s + spent.cpu_s, max(longest_s, spent.cpu_s), max(peak, spent.peak_bytes)
        n_bytes += len(content)
        if spent.document is not None:
            texts[file.name] = spent.document.text
            n_links += len(spent.document.references)
            n_in_part += bool(spent.document.missing)
    meter.close()
    n_pages = sum(text.count("\f") for text in texts.values()) or 1
    headings = ["", "PDFs", "read", "in part", "pages", "MB", "links", "CPU s", "CPU ms a page", "pages per CPU-s",
                "longest, CPU s", "peak MiB"]  # fmt: skip
    row = [
        "manuals", f"{len(list(manuals.glob('*.pdf')))}", f"{len(texts)}", f"{n_in_part}", f"{n_pages:,}",
        f"{n_bytes / 1e6:.0f}", f"{n_links:,}", f"{cpu_s:.1f}", f"{1000 * cpu_s / n_pages:.2f}",
        f"{n_pages / max(cpu_s, 0.01):,.0f}", f"{longest_s:.1f}", f"{peak / _MIB:.0f}",
    ]  # fmt: skip
    return texts, table(headings, [row])


def _searched(place: Path, manuals: Path, texts: dict[str, str]) -> str:
    links = "".join(f"<p><a href={name}>{name}</a>" for name in sorted(texts))
    (manuals / "index.html").write_text(f"<title>Manuals</title>{links}")
    folder = place / "crawl"
    with FakeWebProcess(PageSite, manuals.parent) as web:
        tables = {
            "crawl": {"robots": False}, "politeness": {"delay_s": 0.0, "connections": 8},
            "fetch": {"connect_to": web.address, "timeout_s": 300.0},
        }  # fmt: skip
        live_crawl(_HOST, folder, settings=tables)
    update_index(folder)
    n_first = n_ten = n_right_page = 0
    wanted = list(_sentences(texts))
    with SearchIndex.open(folder) as index:
        for name, page, sentence in wanted:
            hits = index.search(sentence, rank="text").hits
            there = [hit for hit in hits if hit.url == _HOST + name]
            n_ten += bool(there)
            n_first += bool(hits) and hits[0].url == _HOST + name
            n_right_page += bool(there) and there[0].page_number == page
    headings = ["", "sentences", "success@1", "success@10", "page right"]
    row = ["found", f"{len(wanted)}", *(f"{n / max(len(wanted), 1):.3f}" for n in (n_first, n_ten, n_right_page))]
    return table(headings, [row])


def _sentences(texts: dict[str, str]) -> Iterator[tuple[str, int, str]]:
    """Document, page and words of lines that occur only once, however they are set."""
    lines = [
        (name, number, _words(line))
        for name, text in texts.items()
        for number, page in enumerate(text.split("\f"))
        for line in page.split("\n")
        if 8 <= len(line.split()) <= 25 and line.isascii() and sum(map(str.isalpha, line)) > 0.7 * len(line)
    ]
    random.Random(RNG).shuffle(lines)
    everything = "|".join(map(_words, texts.values()))
    unique = (line for line in lines if everything.count(f" {line[2]} ") == 1)
    yield from islice(unique, N_SENTENCES)


def _words(text: str) -> str:
    return " ".join("".join(letter if letter.isalnum() else " " for letter in text).split())


def _bombs() -> Callable[[], str]:
    return _bombs_table


def _damaged(manuals: Path) -> Callable[[], str]:
    return partial(_damage_table, manuals)


def _bombs_table() -> str:
    meter, rows = Meter(), []
    for name, media_type, content in islice(bombs(), sized(None, 1)):
        spent = meter.read(content, media_type)
        rows.append([
            name, f"{len(content) / 1000:,.0f}", _outcome(spent), f"{spent.cpu_s:.1f}",
            f"{spent.peak_bytes / _MIB:.0f}", spent.why,
        ])  # fmt: skip
    meter.close()
    return table(["bomb", "kB", "is", "CPU s", "peak MiB until then", "why"], rows)


def _outcome(spent: Spent) -> str:
    if spent.document is None:
        return "unreadable"
    return "read in part" if spent.document.missing else "read"


def _damage_table(manuals: Path) -> str:
    rng, meter = random.Random(RNG), Meter()
    small = [file.read_bytes() for file in sorted(manuals.glob("*.pdf")) if file.stat().st_size < _MIB // 2]
    others = [(media_type, made()) for media_type, made in WHOLE.items()]
    outcomes: dict[str, Counter[str]] = {"PDF": Counter(), "other": Counter()}
    longest: dict[str, float] = dict.fromkeys(outcomes, 0.0)
    peak: dict[str, int] = dict.fromkeys(outcomes, 0)
    for number in range(N_DAMAGED):
        kind = "other" if number % 5 == 4 else "PDF"
        media_type, whole = rng.choice(others) if kind == "other" else (PDF, rng.choice(small))
        spent = meter.read(damaged(whole, rng), media_type)
        outcomes[kind][_outcome(spent)] += 1
        outcomes[kind]["died"] += spent.died and number > 0
        longest[kind] = max(longest[kind], spent.cpu_s)
        peak[kind] = max(peak[kind], spent.peak_bytes)
    meter.close()
    rows = [
        [
            f"damaged {kind}", f"{sum(n for name, n in tally.items() if name != 'died')}", f"{tally['read']}",
            f"{tally['read in part']}", f"{tally['unreadable']}", f"{tally['died']}", f"{longest[kind]:.1f}",
            f"{peak[kind] / _MIB:.0f}",
        ]
        for kind, tally in outcomes.items()
    ]  # fmt: skip
    headings = ["", "files", "read", "in part", "unreadable", "process died", "longest, CPU s", "peak MiB"]
    return table(headings, rows) + "\nNo file cost more than its own line, and the next one was read."
