"""Four single-page applications, shown from memory: React Router, Vue Router, Svelte and Lit."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import pytest

from orienteer.browser.job import RenderJob, Supplied, Wanted
from orienteer.files.compressed import zstd
from tests.browser.rendering import AGENT, HTML, opened_renderer, shown, supplied

_ARCHIVE = Path(__file__).parents[3] / "shared" / "data" / "spas.tar.zst"
_NAMES = ("react", "vue", "svelte", "lit")
_SHOWN = (0, 1, 12)  # 0: the first page, which links to all
_ITEMS = [{"id": i, "name": f"Thing {i}", "text": f"The words of number {i} are here"} for i in range(1, 13)]


def applications() -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(zstd.decompress(_ARCHIVE.read_bytes()))) as files:
        found = {member.name.removeprefix("./"): files.extractfile(member) for member in files if member.isfile()}
        return {name: file.read() for name, file in found.items() if file is not None and "dist/" in name}


@pytest.mark.skipif(not _ARCHIVE.exists(), reason="the applications are not here: ../shared/data/spas.tar.zst")
def test_links_and_texts_of_four_applications() -> None:
    files = applications()
    folder = next(iter(files)).partition("dist/")[0] + "dist/"

    def answer(wanted: Wanted) -> Supplied:
        name, _, path = wanted.url.removeprefix("https://").partition(".test/")
        if path == "api/items.json":
            return supplied(wanted, json.dumps(_ITEMS), "application/json")
        file = files.get(f"{folder}{name}/{path}")
        return supplied(wanted, file or b"", "text/javascript", 200 if file else 404)

    places = [(name, item) for name in _NAMES for item in _SHOWN]
    urls = [f"https://{name}.test/" + (f"item/{item}" if item else "") for name, item in places]
    jobs = [
        RenderJob(i, url, 200, HTML, files[f"{folder}{places[i][0]}/index.html"], AGENT, cpu_s=120.0, wall_s=600.0)
        for i, url in enumerate(urls)
    ]
    with opened_renderer(tabs=2) as renderer:
        found = shown(renderer, jobs, answer)
    for i, url in enumerate(urls):
        rendered, item = found[i], places[i][1]
        assert rendered.trouble == "", url
        if item == 0:
            assert {f"{url}item/{k}" for k in range(1, 13)} <= set(rendered.links), url
        else:
            assert f"The words of number {item} are here".encode() in rendered.dom, url
