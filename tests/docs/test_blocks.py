"""Every block of code in the documents runs, and prints the output below it."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from orienteer.exports.export import export
from tests.docs.blocks import Document, document, missing_line
from tests.docs.example_site import ExampleSite
from tests.docs.page_runner import PageRunner
from tests.docs.small_town import small_town
from tests.fake_web.server import FakeWeb
from tests.ready_process import ready
from tests.tables import over_rows

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [path.relative_to(ROOT).as_posix() for path in PAGES if "reference" not in path.relative_to(ROOT).parts]
DOCUMENTS = {name: document(ROOT / name) for name in NAMES}
KINDS = ("sh", "python", "toml", "text", "", "{toctree}", "{include}")  # the last two are Sphinx's
MAY_STAND_STILL = 14  # blocks that are not run, in all documents together


class Shop(NamedTuple):
    """What all pages share: the commands, and a crawl of example.org that can be searched."""

    tools: Path
    example: Path
    address: str  # where example.org is served


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    folder = tmp_path_factory.mktemp("shop")
    tools = folder / "bin"
    tools.mkdir()
    with FakeWeb(ExampleSite(small_town())) as web:
        (tools / "orienteer").write_text(ready().client(web.address))
        (tools / "orienteer").chmod(0o755)
        with PageRunner(folder, tools) as runner:
            runner._run_shell("orienteer crawl http://example.org --until 0.95 --index -q -o example")
        yield Shop(tools, folder / "example", web.address)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_blocks_of_a_document_run(name: str, shop: Shop, tmp_path: Path) -> None:
    page = DOCUMENTS[name]
    with PageRunner(tmp_path, shop.tools) as runner:
        for given in page.given:
            give(given, runner, shop)
        for block in page.blocks:
            if block.why_not_run is None and (block.kind in ("sh", "python") or block.file):
                runner.run(block)


def give(what: str, runner: PageRunner, shop: Shop) -> None:
    """What a page takes for granted."""
    if what == "clone":
        return runner.give_clone()
    if what == "pip":
        return runner.give_pip()
    if what == "proxy":
        return runner.give_proxy(shop.address)
    makers = {"example": give_example, "collections": give_collections, "courses": give_courses, "lists": give_lists}
    return makers[what](runner.folder, shop)


def give_example(folder: Path, shop: Shop) -> None:
    """A crawl of example.org that can be searched."""
    shutil.copytree(shop.example, folder / "example")


def give_collections(folder: Path, shop: Shop) -> None:
    """What others have crawled."""
    export(shop.example, "wacz", folder / "collection.wacz")
    export(shop.example, "warc", folder / "more.warc.gz", hosts="example.org")


def give_courses(folder: Path, shop: Shop) -> None:
    """A topic with examples, and another crawl."""
    for kind, words in (("good", "course lecture exam"), ("bad", "harbour boat tide")):
        for k in range(6):
            site = folder / kind / f"site{k}.example"
            site.mkdir(parents=True)
            (site / "page.html").write_text(f"<title>{words} {k}</title><p>{words} and number {k}")
    (folder / "courses.toml").write_text('[topic]\nkind = "linear"\npositive = ["good/"]\nnegative = ["bad/"]\n')
    shutil.copytree(shop.example, folder / "other-crawl")


def give_lists(folder: Path, shop: Shop) -> None:
    """Small files that readers have of their own."""
    (folder / "links.csv.gz").write_bytes(gzip.compress(b"0,1\n1,2\n2,0\n"))
    (folder / "topic.txt").write_text("".join(f"{page} 1\n" for page in range(10, 30)))
    (folder / "spam.txt").write_text("http://example.org/opening-hours\n")


@over_rows("name", DOCUMENTS)
def test_the_blocks_are_of_a_kind_that_is_run(name: str) -> None:
    for block in DOCUMENTS[name].blocks:
        known = block.kind.split(" ")[0] in KINDS or block.file is not None
        assert known, f"{name}, line {block.line}: a block of the kind {block.kind!r}"
        assert block.kind != "toml" or block.file, f"{name}, line {block.line}: which file is that?"
        assert block.kind != "text" or block.file or block.why_not_run, f"{name}, line {block.line}: what prints that?"


def test_hardly_any_block_is_not_run() -> None:
    still = [block for page in DOCUMENTS.values() for block in page.blocks if block.why_not_run]
    assert len(still) <= MAY_STAND_STILL


def test_blocks_are_found_with_what_is_said_of_them(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(
        "<!-- given: example -->\n\n# A\n\n```sh\nls\n```\n\nIt prints:\n\n```text\na … c\n```\n\n"
        "<!-- file: b.toml -->\n```toml\nb = 1\n```\n\n<!-- not run: it would cost money -->\n```sh\npay\n```\n"
    )
    page: Document = document(path)
    assert page.given == ["example"]
    assert [(block.kind, block.file, block.why_not_run) for block in page.blocks] == [
        ("sh", None, None), ("toml", "b.toml", None), ("sh", None, "it would cost money"),
    ]  # fmt: skip
    assert page.blocks[0].expected == ["a … c"]
    assert missing_line(["a … c"], "x\na  b c\ny") is None
    assert missing_line(["y", "x"], "x\ny\n") == "x"
    assert missing_line(["12 pages, 1.5 s"], "1,300 pages, 2 s", any_numbers=True) is None
    assert missing_line(["12 pages, 1.5 s"], "1,300 pages, 2 s") is not None
    assert missing_line(["12 pages"], "no pages", any_numbers=True) is not None
