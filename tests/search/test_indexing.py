"""The index follows the crawl: added, changed, removed, redirected and duplicate pages; kills at any moment."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orienteer.errors import OrienteerError
from orienteer.search.indexing import update_index
from orienteer.search.search_index import SearchIndex, search
from orienteer.store.folder import CrawlFolder
from orienteer.store.lock import FolderLock
from tests.ready_process import ReadyPopen
from tests.search.small_webs import HandmadeCrawl, page

TOPICS = ("apple", "banana", "cherry", "damson", "elder")


def many(n: int, version: str = "") -> dict[str, str]:
    """Return pages about fruit, each with its own number, a topic, and shared words."""
    return {
        f"http://h{k % 3}.org/{k}": page(
            f"Number{k} {TOPICS[k % 5]}", f"{version} fruit {'tree ' * (k % 7)} word{k % 11}"
        )
        for k in range(n)
    }


def links(urls: list[str]) -> dict[str, dict[str, str]]:
    return {
        url: {urls[(k * 7 + j) % len(urls)]: f"see {TOPICS[j]} {k % 4}" for j in (1, 2)} for k, url in enumerate(urls)
    }


@pytest.fixture
def crawl(tmp_path: Path) -> HandmadeCrawl:
    return HandmadeCrawl(tmp_path / "crawl")


QUERIES = ("apple", "fruit", "tree fruit", "number3", "see apple", '"fruit tree"', "site:h1.org", "changed", "-tree")


def answers(folder: Path) -> dict[str, Any]:
    """Return the results of all queries, with their order and scores."""
    with SearchIndex.open(folder) as index:
        return {
            f"{words}, {rank}": [
                (hit.url, hit.title, hit.snippet, round(hit.text_score, 4), round(hit.local_rank, 9), hit.n_duplicates)
                for hit in index.search(words, rank=rank, n=100).hits
            ]
            for words in QUERIES
            for rank in ("text", "local", "blend")
        }


def rebuilt(folder: Path) -> dict[str, Any]:
    update_index(folder, rebuild=True)
    return answers(folder)


def test_only_what_changed_is_read_again(crawl: HandmadeCrawl) -> None:
    pages = many(30)
    crawl.add(pages, links(list(pages)))
    first = update_index(crawl.path)
    assert (first.n_pages, first.n_read, first.n_added) == (30, 30, 30)
    again = update_index(crawl.path)
    assert (again.n_pages, again.n_read, again.n_added, again.n_replaced, again.n_removed) == (30, 0, 0, 0, 0)
    crawl.add({"http://h1.org/4": page("Other", "changed")}, links(list(pages)))
    one = update_index(crawl.path, max_deleted_share=1)
    assert (one.n_read, one.n_replaced) == (1, 1)
    crawl.remove("http://h1.org/4")
    gone = update_index(crawl.path, max_deleted_share=1)
    assert gone.n_removed == 1
    assert not search(crawl.path, "changed").hits


def test_an_updated_index_equals_a_rebuilt_one(crawl: HandmadeCrawl) -> None:
    """Pages are added, changed and removed in several steps; replaced pages do not count in word frequencies."""
    pages = many(40)
    urls = list(pages)
    for start in (0, 10, 25):
        some = {url: pages[url] for url in urls[start : start + 15]}
        crawl.add(some, links(urls))
        update_index(crawl.path, max_deleted_share=0)
    assert answers(crawl.path) == rebuilt(crawl.path)
    crawl.add({url: html for url, html in many(40, "changed").items() if url.endswith("5")})
    crawl.remove(urls[3])
    update_index(crawl.path, max_deleted_share=0)
    assert answers(crawl.path) == rebuilt(crawl.path)


def test_replaced_pages_count_in_frequencies_until_the_index_is_rewritten(crawl: HandmadeCrawl) -> None:
    pages = many(40)
    crawl.add(pages)
    update_index(crawl.path)
    crawl.add({url: html for url, html in many(40, "changed").items() if url.endswith("5")})
    update_index(crawl.path, max_deleted_share=1)
    grown, fresh = answers(crawl.path), rebuilt(crawl.path)
    assert {key: {hit[0] for hit in hits} for key, hits in grown.items()} == {
        key: {hit[0] for hit in hits} for key, hits in fresh.items()
    }
    for key, hits in grown.items():
        scores = {hit[0]: hit[3] for hit in fresh[key]}
        assert [hit[3] for hit in hits] == pytest.approx([scores[hit[0]] for hit in hits], rel=0.5)


def test_noindex_pages_are_excluded_but_their_links_count(crawl: HandmadeCrawl) -> None:
    crawl.add(
        {"http://a.org/": page("Secret", "fruit")}, {"http://a.org/": {"http://a.org/b": "a fine pear"}}, noindex=True
    )
    crawl.add({"http://a.org/b": page("B", "nothing")})
    crawl.redirect("http://a.org/old", "http://a.org/b")
    assert update_index(crawl.path).n_pages == 1
    assert not search(crawl.path, "fruit").hits
    assert [hit.url for hit in search(crawl.path, "pear").hits] == ["http://a.org/b"]  # by the text of the link


def test_links_to_a_redirect_are_links_to_the_page(crawl: HandmadeCrawl) -> None:
    crawl.add({"http://a.org/": page("A", "x")}, {"http://a.org/": {"http://a.org/old": "famous words"}})
    crawl.add({"http://a.org/new": page("New", "y")})
    crawl.redirect("http://a.org/old", "http://a.org/new")
    update_index(crawl.path)
    hits = search(crawl.path, "famous", rank="text").hits
    assert hits[0].url == "http://a.org/new"
    assert hits[0].local_rank > 0


def test_duplicates_are_listed_once(crawl: HandmadeCrawl) -> None:
    crawl.add({"http://a.org/1": page("One", "same words here")})
    crawl.add({"http://a.org/2": page("One", "same words here")}, duplicate_of="http://a.org/1")
    crawl.add({"http://a.org/3": page("One", "same words, here")}, near_duplicate_of="http://a.org/2")
    crawl.add({"http://a.org/4": page("Four", "other words")})
    update_index(crawl.path)
    results = search(crawl.path, "words")
    assert results.total == 4
    assert [(hit.title, hit.n_duplicates) for hit in results.hits] in (
        [("One", 2), ("Four", 0)],
        [("Four", 0), ("One", 2)],
    )


def test_off_topic_pages_can_be_excluded(crawl: HandmadeCrawl) -> None:
    crawl.add({"http://a.org/1": page("On", "fruit")}, relevance=0.9)
    crawl.add({"http://a.org/2": page("Off", "fruit")}, relevance=0.1)
    with pytest.raises(OrienteerError, match="with a topic"):
        update_index(crawl.path, on_topic=True)
    (crawl.path / "topic.toml").write_text('[topic]\nkind = "keywords"\nwords = ["fruit"]\nthreshold = 0.5\n')
    assert update_index(crawl.path, on_topic=True).n_pages == 1
    (hit,) = search(crawl.path, "fruit").hits
    assert (hit.title, hit.relevance) == ("On", 0.9)
    assert update_index(crawl.path).n_pages == 2


def test_global_ranks(crawl: HandmadeCrawl) -> None:
    crawl.add({f"http://a.org/{k}": page(f"Page {k}", "fruit") for k in range(3)})
    update_index(crawl.path)
    with pytest.raises(OrienteerError, match="orienteer estimate"):
        search(crawl.path, "fruit", rank="global")
    with CrawlFolder.open(crawl.path) as folder:
        folder.write_ranks({"pages": np.array([0, 2]), "global": np.array([0.1, 0.9]), "local": np.array([0.5, 0.5])})
    report = update_index(crawl.path)
    assert (report.n_read, report.has_global_rank) == (0, True)
    hits = search(crawl.path, "fruit", rank="global", weight=1).hits
    assert [(hit.title, hit.global_rank) for hit in hits] == [("Page 2", 0.9), ("Page 0", 0.1), ("Page 1", 0.0)]
    assert [hit.positions["global"] for hit in hits] == [1, 2, 3]
    (crawl.path / "ranks.npz").write_bytes(b"no archive")
    with pytest.raises(OrienteerError, match=r"ranks.npz.*damaged"):
        update_index(crawl.path)


def test_a_page_that_cannot_be_unpacked_is_found_by_its_url(crawl: HandmadeCrawl) -> None:
    crawl.add({"http://a.org/melon": "not gzip"}, content_type="application/zip")
    update_index(crawl.path)
    assert [hit.title for hit in search(crawl.path, "melon").hits] == [""]


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A crawl with an index, to be copied, and the results of all queries."""
    crawl = HandmadeCrawl(tmp_path_factory.mktemp("indexed") / "crawl")
    crawl.add(many(20))
    update_index(crawl.path)
    return crawl.path, answers(crawl.path)


@pytest.mark.parametrize("name", ["meta.json", "pages.db", "columns.npz", "*.idx", "*.term", "*.fast", "*.pos"])
@pytest.mark.parametrize("damage", ["cut", "garbage"])
def test_a_damaged_index_is_an_error_of_one_line_and_can_be_rebuilt(
    indexed: tuple[Path, dict[str, Any]], tmp_path: Path, name: str, damage: str
) -> None:
    folder = shutil.copytree(indexed[0], tmp_path / "crawl")
    for path in (folder / "index").glob(name):
        size = path.stat().st_size
        path.write_bytes(path.read_bytes()[: size // 3] if damage == "cut" else os.urandom(size))
    try:
        answers(folder)
    except OrienteerError as error:
        assert "\n" not in str(error)
        assert "--rebuild" in str(error)
    assert rebuilt(folder) == indexed[1]


def test_without_an_index(crawl: HandmadeCrawl, tmp_path: Path) -> None:
    with pytest.raises(OrienteerError, match=r"no search index yet; make it with `orienteer index .*crawl`"):
        SearchIndex.open(crawl.path)
    with pytest.raises(OrienteerError, match="no such crawl folder"):
        SearchIndex.open(tmp_path / "nowhere")
    assert update_index(crawl.path).n_pages == 0
    assert search(crawl.path, "anything").total == 0


def test_an_index_is_locked_while_it_is_written(crawl: HandmadeCrawl) -> None:
    update_index(crawl.path)
    lock = FolderLock(crawl.path / "index")
    try:
        with pytest.raises(OrienteerError, match="in use by process"):
            update_index(crawl.path)
    finally:
        lock.release()


def test_is_current_until_the_crawl_continues(crawl: HandmadeCrawl) -> None:
    crawl.add(many(3))
    update_index(crawl.path)
    with SearchIndex.open(crawl.path) as index:
        assert index.is_current()
        crawl.add({"http://h9.org/": page("New", "fruit")})
        assert not index.is_current()
        update_index(crawl.path)
        assert index.search("new").total == 0
        index.reload()
        assert index.is_current()
        assert index.search("new").total == 1


def test_indexing_continues_after_a_kill_at_any_moment(crawl: HandmadeCrawl) -> None:
    """Indexing is killed with SIGKILL several times, each time after more work; then it runs to the end."""
    pages = many(150)
    crawl.add(pages, links(list(pages)))
    n_killed = 0
    for most_s in np.linspace(0.0, 0.3, 5).tolist():
        command = [sys.executable, "-m", "orienteer", "index", crawl.path]
        with ReadyPopen(command, stdout=subprocess.DEVNULL) as process:
            while process.poll() is None and process.worked_s() <= most_s:
                time.sleep(0.005)
            process.kill()
        n_killed += process.returncode == -signal.SIGKILL
    assert n_killed
    report = update_index(crawl.path, max_deleted_share=0)
    assert report.n_pages == 150
    grown = answers(crawl.path)
    assert grown == rebuilt(crawl.path)
