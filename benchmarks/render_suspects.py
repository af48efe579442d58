"""Which real pages `--render auto` would render in a browser, and which need it: the WCXB development pages.

A page needs a browser if less than half of the words of its true main text are in the response. The pages come without
their assets, so they cannot be rendered here: only the choice is counted.
"""

from __future__ import annotations

import json
import re
from collections import Counter

from benchmarks.measure import table
from benchmarks.sizes import DATA
from orienteer.extract.page import extract_page
from orienteer.extract.script_signs import is_sparse
from orienteer.files.compressed import zstd

PAGES = DATA / "wcxb-dev.jsonl.zst"
_WORD = re.compile(r"\w+")
_LEAST = 0.5


def choice_table() -> str:
    if not PAGES.exists():
        return f"The real pages are not here: {PAGES.name}\n"
    found: Counter[tuple[bool, str]] = Counter()
    n_code = 0
    for line in zstd.decompress(PAGES.read_bytes()).splitlines():
        row = json.loads(line)
        if not row["main"]:
            continue
        html = row["html"].encode("utf-8", "replace")
        page = extract_page(html, row["url"] or "http://page.test/", "utf-8")
        needs = _recall(row["main"], f"{page.title} {page.text}") < _LEAST
        n_code += page.has_code
        kind = "suspect" if page.is_suspect else "sample" if page.has_code else "neither"
        if kind == "sample" and is_sparse(page.text, html):
            kind = "sparse"
        found[needs, kind] += 1
    n_needed = sum(n for (needs, _), n in found.items() if needs)
    rows = []
    for label, kinds in (
        ("suspect", {"suspect"}),
        ("suspect, or a sample once one has gained nothing", {"suspect", "sparse"}),
        ("suspect, or a sample before that", {"suspect", "sparse", "sample"}),
    ):
        right = sum(n for (needs, kind), n in found.items() if needs and kind in kinds)
        wrong = sum(n for (needs, kind), n in found.items() if not needs and kind in kinds)
        rows.append([label, f"{right + wrong}", f"{right}", f"{wrong}", f"{n_needed - right}"])
    headings = ["rendered, because", "pages", "that need it", "that do not", "missed"]
    facts = f"{found.total()} pages with a true main text, {n_code} of them with scripts; {n_needed} need a browser\n\n"
    return facts + table(headings, rows)


def _recall(wanted: str, there: str) -> float:
    words, have = (Counter(_WORD.findall(text.lower())) for text in (wanted, there))
    return (words & have).total() / max(1, words.total())


if __name__ == "__main__":
    print(choice_table())
