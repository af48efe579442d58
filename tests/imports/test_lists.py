"""Sitemaps, lists of URLs and Scrapy's job folders become crawls without fetched pages."""

from __future__ import annotations

import gzip
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import orienteer as ori
from orienteer.imports.sources import SourceKind, pending_requests, read_url_list, sources_of
from orienteer.live.session import live_crawl
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.live.live_crawls import StoredCrawl

GOLDEN = Path(__file__).parents[1] / "golden" / "jobdirs"
A = "http://a.test"
SITEMAP = f"<urlset><url><loc>{A}/1</loc></url><url><loc>{A}/2</loc></url><url><loc>/relative</loc></url></urlset>"


def test_a_sitemap_becomes_a_crawl(tmp_path: Path) -> None:
    (tmp_path / "sitemap.xml").write_text(SITEMAP)
    report = ori.import_crawl(tmp_path / "sitemap.xml", tmp_path / "crawl")
    assert (report.seeds, report.n_fetched, report.n_listed, report.n_frontier) == ((f"{A}/",), 0, 2, 3)
    places = {f"{A}/": "home", f"{A}/1": "<a href=/3>", f"{A}/2": "two", f"{A}/3": "three"}
    with FakeWeb(MadeSite(places)) as web:
        settings: dict[str, dict[str, Any]] = {
            "crawl": {"robots": False},
            "politeness": {"delay_s": 0.0},
            "fetch": {"connect_to": web.address},
        }
        live_crawl(f"{A}/", tmp_path / "crawl", settings=settings)
    assert StoredCrawl(tmp_path / "crawl").fetched_urls() == set(places)


def test_lists_of_all_kinds(tmp_path: Path) -> None:
    def read(name: str, content: bytes) -> list[str]:
        (tmp_path / name).write_bytes(content)
        return read_url_list(tmp_path / name).urls

    two = [f"{A}/1", f"{A}/2"]
    assert read("a.xml", SITEMAP.encode()) == two
    assert read("a.xml.gz", gzip.compress(SITEMAP.encode())) == two
    assert read("a.txt", f"\ufeff{A}/1\r\n\r\n# no\n{A}/2#x\n{A}/1\nnonsense\n".encode()) == two
    assert read("b.txt", f"{A}/2".encode()) == [f"{A}/2"]
    assert read("c.xml", f"<feed><link href='{A}/1'/></feed>".encode()) == [f"{A}/1"]
    (tmp_path / "index.xml").write_text(f"<sitemapindex><sitemap><loc>{A}/s.xml</loc></sitemap></sitemapindex>")
    assert read_url_list(tmp_path / "index.xml").sitemaps == [f"{A}/s.xml"]
    for content in (b"", b"nothing", b"<html>", b"<!DOCTYPE x [<!ENTITY a 'b'>]><urlset></urlset>"):
        with pytest.raises(ori.InputError, match="no URLs in it"):
            read("bad.txt", content)


def test_a_sitemap_index_names_missing_sitemaps(tmp_path: Path) -> None:
    (tmp_path / "index.xml").write_text(f"<sitemapindex><sitemap><loc>{A}/s.xml</loc></sitemap></sitemapindex>")
    with pytest.raises(ori.InputError, match=f"names 1 further sitemap, such as {A}/s.xml; save and import them"):
        ori.import_crawl(tmp_path / "index.xml", tmp_path / "crawl")


def test_lists_and_edge_lists_are_distinguished(tmp_path: Path) -> None:
    kinds = {
        f"{A}/1\n{A}/2\n": SourceKind.URLS,
        f"# pages\n{A}/1,2\n": SourceKind.URLS,
        f"{A}/1 {A}/2\n": SourceKind.GRAPH,
        "0 1\n": SourceKind.GRAPH,
        "% x\n0,1\n": SourceKind.GRAPH,
    }
    for text, kind in kinds.items():
        (tmp_path / "x.txt").write_text(text)
        assert sources_of([tmp_path / "x.txt"])[0].kind is kind, text


@pytest.mark.parametrize(("kind", "pages"), [("lifo", [4, 6, 10, 11, 14, 15]), ("fifo", [6, 7, 8, 9, 10, 11])])
def test_the_pending_requests_of_a_real_job(kind: str, pages: list[int]) -> None:
    """Made by Scrapy 2.19, stopped after five pages of a web in which page k links to 2k and 2k + 1."""
    pending = pending_requests(GOLDEN / kind)
    assert sorted(pending.urls) == sorted(f"{A}/{k}" for k in pages)
    assert (pending.n_left_out, pending.n_seen) == (0, 12)


def test_a_job_becomes_a_crawl(tmp_path: Path) -> None:
    report = ori.import_crawl(GOLDEN / "lifo", tmp_path / "crawl", seeds=f"{A}/1")
    assert (report.n_listed, report.n_frontier, report.n_fetched) == (6, 7, 0)
    assert "12 requests were made before" in report.notes[0]


class Evil:
    """An object whose pickle runs code when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Path.touch, (self.path,)


def write_stack(folder: Path, *requests: bytes) -> Path:
    """Write a LIFO queue in the format of queuelib."""
    queue = folder / "requests.queue"
    queue.mkdir(parents=True)
    packed = (request + len(request).to_bytes(4) for request in requests)
    (queue / "0").write_bytes(len(requests).to_bytes(4) + b"".join(packed))
    (folder / "requests.seen").write_text("0123456789abcdef0123456789abcdef01234567\n" * 3)
    return folder


def test_pickles_cannot_run_code(tmp_path: Path) -> None:
    good = {"url": f"{A}/good", "meta": {"depth": 1, "list": [1, 2.5, None, True, (b"x", {"y"})]}}
    request = {"url": f"{A}/evil", "meta": {"x": Evil(tmp_path / "touched")}}
    huge = b"\x80\x04\x8e" + (1 << 60).to_bytes(8, "little") + b"x"  # bytes of an exabyte
    far = b"\x80\x04Nr" + (1 << 31).to_bytes(4, "little") + b"."  # a memo of two thousand million entries
    deep = b"\x80\x04" + b"(" * 100_000 + b"."
    job = write_stack(
        tmp_path / "job",
        pickle.dumps(request, 4),
        huge,
        far,
        deep,
        b"no pickle at all",
        pickle.dumps({"url": 7}),
        pickle.dumps({"url": f"{A}/post", "method": "POST"}),
        pickle.dumps(["http://a.test/"]),
        pickle.dumps(good, 4),
    )
    pending = pending_requests(job)
    assert not (tmp_path / "touched").exists()
    assert (pending.urls, pending.n_left_out, pending.n_seen) == ([f"{A}/good"], 8, 3)


def test_a_truncated_queue_is_read_as_far_as_possible(tmp_path: Path) -> None:
    requests = [pickle.dumps({"url": f"{A}/{k}"}) for k in range(5)]
    job = write_stack(tmp_path / "job", *requests)
    path = job / "requests.queue" / "0"
    path.write_bytes(bytes(4) + path.read_bytes()[4:])  # killed: the number at the beginning was never written
    assert len(pending_requests(job).urls) == 5
    path.write_bytes(path.read_bytes()[:-3])
    assert pending_requests(job).n_left_out == 1
    fifo = shutil.copytree(GOLDEN / "fifo", tmp_path / "fifo")
    chunk = next(fifo.rglob("q00000"))
    chunk.write_bytes(chunk.read_bytes()[:-10])
    pending = pending_requests(fifo)
    assert (len(pending.urls), pending.n_left_out) == (5, 1)
    (chunk.parent / "info.json").unlink()
    assert len(pending_requests(fifo).urls) >= 5
