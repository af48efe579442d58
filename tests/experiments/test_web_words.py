from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pytest

from experiments.web_words import archived_pages, words_of
from orienteer.extract.tokens import link_tokens, page_tokens
from orienteer.files.compressed import byte_writer
from orienteer.graph.link_graph import LinkGraph

URLS = ["http://a.example/index.html", "http://a.example/two.html", "http://b.example/gone.html"]
PAGES = {
    "a.example/index.html": "<p>Welcome <a href='two.html'>second page</a> <a href='//b.example/gone.html'>lost</a>",
    "a.example/two.html": "<p>Words of two <a href='/'>back home</a>",
}


def tar_archive(home: Path) -> Path:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, html in PAGES.items():
            member = tarfile.TarInfo(name)
            member.size = len(html)
            tar.addfile(member, io.BytesIO(html.encode()))
    return written(home / "pages.tar.zst", packed.getvalue())


def lines_archive(home: Path) -> Path:
    lines = [json.dumps({"url": f"http://{name}", "html": html}) + "\n" for name, html in PAGES.items()]
    return written(home / "pages.jsonl.zst", "".join(lines).encode())


def written(path: Path, content: bytes) -> Path:
    with byte_writer(path, path.name) as out:
        out.write(content)
    return path


@pytest.mark.parametrize("made", [tar_archive, lines_archive])
def test_words_of_pages_and_links(tmp_path: Path, made) -> None:  # type: ignore[no-untyped-def]
    archive = made(tmp_path)
    assert {name: html.decode() for name, html in archived_pages(archive)} == PAGES
    graph = LinkGraph.from_links(3, [0, 0, 1], [1, 2, 0], urls=URLS)
    found = words_of(graph, archive)
    assert np.diff(found.offsets).tolist() == [len(page_tokens("Welcome second page lost")), 5, 0]
    said = {(0, 1): "second page", (0, 2): "lost", (1, 0): "back home"}
    for k, ((_, target), text) in enumerate(said.items()):
        words = found.link_words[found.link_offsets[k] : found.link_offsets[k + 1]]
        assert words.tolist() == link_tokens(text, URLS[target]).tolist()
