"""Fifty threads search during a crawl and updates of its index, and no search fails."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orienteer.errors import CrawlFolderError
from orienteer.search.indexing import update_index
from orienteer.search.search_index import SearchIndex
from orienteer.store.folder_view import FolderView
from orienteer.store.lock import FolderLock
from orienteer.store.page_texts import index_folder
from tests.cli.live_process import wait_until
from tests.fake_web.process import FakeWebProcess
from tests.fake_web.site import MadeSite
from tests.faults.crawl_process import CrawlCommand
from tests.search.small_webs import HandmadeCrawl, page

pytestmark = pytest.mark.slow

N_PEOPLE = 50
N_PAGES = 60
BIRDS = ("heron", "kingfisher", "bittern", "wagtail")
QUERIES = (*BIRDS, "a bird", '"a bird by the river"', "bird -heron", "site:birds.test wagtail", "herron", "number7")


def birds() -> dict[str, str]:
    """Return pages about birds, each with links to two others."""
    pages = {}
    for k in range(N_PAGES):
        links = "".join(f'<a href="/{target}">{BIRDS[target % 4]}</a>' for target in (2 * k + 1, 2 * k + 2))
        text = f"A bird by the river, the {BIRDS[k % 4]}. " * (k % 9 + 1)
        pages[f"http://birds.test/{k or ''}"] = f"<title>Number{k} {BIRDS[k % 4]}</title><p>{text}{links}"
    return pages


class People:
    """Threads that search repeatedly, in all orders."""

    def __init__(self, index: SearchIndex) -> None:
        self._index = index
        self._is_over = threading.Event()
        self.failures: list[BaseException] = []
        self.n_searches = 0

    @contextmanager
    def searching(self) -> Iterator[None]:
        threads = [threading.Thread(target=self._search, args=(number,)) for number in range(N_PEOPLE)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            for thread in threads:
                thread.join()

    def _search(self, number: int) -> None:
        rng = random.Random(number)
        try:
            while not self._is_over.wait(0.3):
                results = self._index.search(rng.choice(QUERIES), rank=rng.choice(("text", "local", "blend")))
                assert [hit.position for hit in results.hits] == list(range(1, len(results.hits) + 1))
                assert len(results.hits) <= results.total
                self.n_searches += 1
        except BaseException as failure:
            self.failures.append(failure)


def test_fifty_people_search_while_a_crawl_goes_on(tmp_path: Path) -> None:
    folder, politeness = tmp_path / "crawl", {"delay_s": 0.02, "connections": 1}
    with FakeWebProcess(MadeSite, birds()) as web:
        command = CrawlCommand(web.address, ["http://birds.test/"], folder, politeness=politeness)
        with command.started() as crawl:
            while not _n_done(folder) and crawl.poll() is None:
                time.sleep(0.05)
            update_index(folder)
            with SearchIndex.open(folder) as index:
                n_seen = [index.n_pages]
                people = People(index)
                with people.searching():
                    while crawl.poll() is None:
                        wait_until(lambda: crawl.poll() is not None or _n_done(folder) >= n_seen[-1] + 10)
                        update_index(folder, max_deleted_share=0)  # always rewrites the text index
                        assert index.reload()
                        n_seen.append(index.n_pages)
                    code, _ = crawl.ended()
                    update_index(folder)
                    assert index.reload()
                    wait_until(lambda: people.n_searches > N_PEOPLE or people.failures)
                assert people.failures == []
                assert code == 0
                assert n_seen == sorted(n_seen)
                assert n_seen[0] < index.n_pages == N_PAGES
                assert index.is_current()
                assert index.search("bird").total == N_PAGES


def _n_done(folder: Path) -> int:
    try:
        with FolderView.open(folder) as crawl:
            return crawl.database.history.next_position()
    except CrawlFolderError:  # it is not there yet
        return 0


@pytest.fixture
def crawl(tmp_path: Path) -> HandmadeCrawl:
    crawl = HandmadeCrawl(tmp_path / "crawl")
    crawl.add({f"http://a.org/{k}": page(f"Tree {k}", "An apple tree.") for k in range(5)})
    update_index(crawl.path)
    return crawl


def test_a_half_written_index_is_not_loaded(crawl: HandmadeCrawl) -> None:
    with SearchIndex.open(crawl.path) as index:
        lock = FolderLock(index_folder(crawl.path))
        try:
            (index_folder(crawl.path) / "meta.json").unlink()
            assert not index.reload()
        finally:
            lock.release()
        assert index.search("apple").total == 5, "the old view is still usable"
        with pytest.raises(CrawlFolderError):
            index.reload()


def test_a_rebuilt_index_is_reloaded(crawl: HandmadeCrawl) -> None:
    with SearchIndex.open(crawl.path) as index:
        crawl.add({"http://a.org/new": page("Pear", "A pear tree.")})
        update_index(crawl.path, rebuild=True)
        assert len(index.search("apple").hits) == 5
        assert index.reload()
        assert [hit.title for hit in index.search("pear").hits] == ["Pear"]
