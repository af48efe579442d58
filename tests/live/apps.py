"""Sites that scripts make, on a fake web: four applications of real frameworks, and small ones made by hand."""

from __future__ import annotations

import io
import json
import tarfile
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from backports import zstd

from orienteer.browser.finding import find_browser
from orienteer.errors import InputError
from orienteer.fake_web.answers import NOT_FOUND, Answer
from orienteer.fake_web.site import RequestHeaders, Site, SiteWithRobots

APPLICATIONS = Path(__file__).parents[3] / "shared/data/spas.tar.zst"
FRAMEWORKS = ("react", "vue", "svelte", "lit")
N_ITEMS = 12
WORDS = ("anchor", "basket", "candle", "dagger", "easel", "falcon", "goblet", "hammer", "inkwell", "jacket", "kettle",
         "lantern")  # fmt: skip
ITEMS = [
    {"id": k, "name": f"{word} number {k}", "text": f"The {word} stands in the old hall of the harbour, on shelf {k}."}
    for k, word in enumerate(WORDS, 1)
]


def needs_browser() -> None:
    """Skip a test where pages cannot be shown."""
    try:
        find_browser()
    except InputError as error:
        pytest.skip(str(error))


@cache
def applications() -> dict[str, bytes]:
    """The files of the applications, by their path."""
    if not APPLICATIONS.exists():
        pytest.skip(f"the applications are not here: {APPLICATIONS.name}")
    with tarfile.open(fileobj=io.BytesIO(zstd.decompress(APPLICATIONS.read_bytes()))) as archive:
        return {
            member.name.removeprefix("./"): file.read()
            for member in archive
            if member.isfile() and (file := archive.extractfile(member)) is not None
        }


class CountingSite(SiteWithRobots):
    """Knows what it was asked for."""

    def __init__(self, robots: dict[str, str | bytes] | None = None) -> None:
        super().__init__(robots)
        self.asked: Counter[str] = Counter()

    def answer(self, host: str, target: str, headers: RequestHeaders) -> Answer:
        self.asked[f"http://{host}{target}"] += 1
        return super().answer(host, target, headers)


class Applications(CountingSite):
    """The applications at react.test, vue.test and so on: 13 pages each."""

    def page_answer(self, host: str, target: str, headers: RequestHeaders) -> Answer:
        files, name = applications(), host.removesuffix(".test")
        if target == "/app.js":
            return Answer(files[f"dist/{name}/app.js"], content_type="text/javascript")
        if target == "/api/items.json":
            return Answer(json.dumps(ITEMS), content_type="application/json")
        is_page = target == "/" or target.startswith("/item/")
        return Answer(files[f"dist/{name}/index.html"]) if is_page else NOT_FOUND


class SmallSite(CountingSite):
    """Pages and scripts by their targets, on any host."""

    def __init__(self, files: dict[str, str], robots: dict[str, str | bytes] | None = None) -> None:
        super().__init__(robots)
        self.files = files

    def page_answer(self, host: str, target: str, headers: RequestHeaders) -> Answer:
        text = self.files.get(target)
        if text is None:
            return NOT_FOUND
        kind = {"js": "text/javascript", "json": "application/json"}.get(target.rpartition(".")[2], "text/html")
        return Answer(text, content_type=kind)


def application(script: str, body: str = "<div id=root></div>") -> str:
    """A page that is made by this script."""
    return f"<!doctype html><title>App</title>{body}<script>{script}{'//' + 'x' * 10_000}</script>"


__all__ = ["Applications", "Site", "SmallSite", "application", "needs_browser"]
