"""Generated data in the formats of the real data: a few pages and small graphs, written once into the temporary folder.

Pages have what benchmarks look for: a main text that is marked as generators of documentation mark it, code, titles,
headings, classes, and applications that a script makes.
"""

from __future__ import annotations

import io
import json
import random
import tarfile
import tempfile
from pathlib import Path

from orienteer.files.compressed import zstd
from orienteer.graph.synthetic import synthetic_web

_N_PAGES = 6  # of each host
_WORDS = [
    "the",
    "harbour",
    "ferry",
    "leaves",
    "at",
    "nine",
    "and",
    "comes",
    "back",
    "with",
    "salted",
    "fish",
    "for",
    "every",
    "house",
    "on",
    "our",
    "island",
]
_APP = """fetch("/api/items.json").then((response) => response.json()).then((items) => {
  const item = items.find((one) => location.pathname.endsWith("/" + one.id));
  document.getElementById("root").innerHTML = item ? `<p>${item.text}</p>`
    : items.map((one) => `<a href="/item/${one.id}">${one.name}</a>`).join(" ");
});"""


def tiny_data() -> Path:
    """Return the folder, written if it is not there yet."""
    folder = Path(tempfile.gettempdir()) / "orienteer-tiny-data"
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            made = Path(scratch) / "made"
            _write(made)
            try:
                made.rename(folder)
            except OSError:  # another process was quicker
                if not folder.exists():
                    raise
    return folder


def _write(folder: Path) -> None:
    (folder / "graphs").mkdir(parents=True)
    for rng, name in enumerate(("docs-web-dev", "hollins-2004")):
        synthetic_web(200, rng=rng).save(folder / "graphs" / f"{name}.npz")
    docs = {
        f"{host}/{name}": page for host in ("docs.python.org/3", "a.test", "b.test") for name, page in tiny_site(host)
    }
    schools = {f"schools-wikipedia.org/wp/u/{name}": page for name, page in tiny_site("schools", "United_Kingdom.htm")}
    _archive(folder / "dev-docs-web.tar.zst", docs)
    _archive(folder / "schools-wikipedia-articles.tar.zst", schools)
    apps = {"index.html": "<div id=root></div><script src=/app.js></script>", "app.js": _APP}
    names = ("react", "vue", "svelte", "lit")
    _archive(folder / "spas.tar.zst", {f"dist/{app}/{name}": text for app in names for name, text in apps.items()})
    _lines(folder / "webkb-dev.jsonl.zst", [_university_page(number) for number in range(12)])
    _lines(folder / "wcxb-dev.jsonl.zst", [_judged_page(number) for number in range(6)])


def tiny_site(host: str, home: str = "index.html") -> list[tuple[str, str]]:
    """Return the names and the pages of a host, linked with each other."""
    names = [home, *(f"page-{number}.html" for number in range(1, _N_PAGES))]
    links = "".join(f"<a href={name}>page {number}</a> " for number, name in enumerate(names))
    return [(name, _page(f"{host} {number}", links, _text(f"{host} {number}"))) for number, name in enumerate(names)]


def _page(title: str, links: str, paragraphs: list[str]) -> str:
    text = "".join(f"<h2>Part {number}</h2><p>{paragraph}</p>" for number, paragraph in enumerate(paragraphs))
    return (
        f"<!doctype html><title>All about {title}</title><div class=nav>{links}</div>"
        f"<div role=main><h1>{title}</h1>{text}<pre>def f():\n    return 1</pre></div><p>A footer of all pages."
    )


def _text(seed: str) -> list[str]:
    rng = random.Random(seed)
    sentences = (" ".join(rng.choices(_WORDS, k=12)).capitalize() + ", mañana." for _ in range(24))
    return [" ".join(next(sentences) for _ in range(8)) for _ in range(3)]


def _university_page(number: int) -> dict[str, str]:
    kind = ("course", "faculty", "student")[number % 3]
    url = f"http://www.cs{number % 4}.edu/{kind}/{number}/"
    words = {"course": "homework lecture syllabus exam", "faculty": "professor research", "student": "my home"}[kind]
    html = _page(f"{kind} {number}", "<a href=/>home</a>", [words, *_text(url)])
    return {"url": url, "cls": kind, "univ": f"cs{number % 4}", "headers": "", "html": html}


def _judged_page(number: int) -> dict[str, object]:
    paragraphs = _text(str(number))
    return {
        "id": str(number),
        "url": f"http://host{number}.test/",
        "type": ("article", "forum")[number % 2],
        "title": f"Page {number}",
        "main": "\n".join(paragraphs),
        "with": [paragraphs[0][:60]],
        "without": ["A footer of all pages"],
        "html": _page(f"page {number}", "<a href=/>home</a>", paragraphs),
    }


def _archive(path: Path, files: dict[str, str]) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))
    path.write_bytes(zstd.compress(packed.getvalue()))


def _lines(path: Path, rows: list[dict[str, str]] | list[dict[str, object]]) -> None:
    path.write_bytes(zstd.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
