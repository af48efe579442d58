"""`orienteer import` as a real process: what it says, and what it refuses in one line."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import pytest

from tests.cli.run import orienteer, orienteer_each, refused
from tests.faults.test_full_disk import COME_AGAIN, FULL, small_disk
from tests.imports.made_collections import record, response, wat, write, write_wacz
from tests.ready_process import TEST_TIMEOUT_S, ReadyPopen

__all__ = ["small_disk"]  # a fixture

A = "http://a.test"
PAGES = [response(f"{A}/", "<title>Home</title><a href=/1><a href=/2><a href=/3>")] + [
    response(f"{A}/{k}", f"<title>Page {k}</title>word{k} <a href=/>home</a>") for k in (1, 2)
]


def leftovers(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.name.startswith(".")}


def test_import_then_index_then_search(tmp_path: Path) -> None:
    write(tmp_path / "x.warc.gz", PAGES)
    folder = tmp_path / "crawl"
    printed = orienteer("import", tmp_path / "x.warc.gz", "-o", folder).stdout
    assert "3 pages fetched" in printed
    assert "guessed; name them with --seed" in printed
    assert "1 in the frontier" in printed
    assert f"orienteer index {folder}" in printed
    index, search, status, explain, seeds, info = orienteer_each(
        [
            ["index", folder],
            ["search", folder, "word2", "--json"],
            ["status", folder],
            ["explain", folder, f"{A}/3", "--json"],
            ["seeds", folder, "-k", "1", "--json"],
            ["graph", "info", folder, "--json"],
        ]
    )
    assert "3 pages can be searched" in index.stdout
    assert [hit["url"] for hit in json.loads(search.stdout)["hits"]] == [f"{A}/2"]
    assert "it was imported" in status.stdout
    assert json.loads(explain.stdout)["state"] == "known"
    assert json.loads(seeds.stdout)["seeds"][0]["url"] == f"{A}/"
    assert json.loads(info.stdout)["n_pages"] == 4


def test_the_report_for_machines(tmp_path: Path) -> None:
    write(tmp_path / "x.warc.gz", [*PAGES, response("http://b.test/", "x")])
    done = orienteer("import", tmp_path / "x.warc.gz", "-o", tmp_path / "c", "--seed", f"{A}/", "--json")
    facts = json.loads(done.stdout)
    assert (facts["made"], facts["n_fetched"], facts["n_outside"], facts["seeds"]) == ("crawl", 3, 1, [f"{A}/"])
    assert facts["certificate"]["lower"] > 0
    assert facts["folder"] == str(tmp_path / "c")


def test_a_wat_file_says_that_there_are_no_texts(tmp_path: Path) -> None:
    write(tmp_path / "x.wat.gz", [wat(f"{A}/", ["/1"]), wat(f"{A}/1", [])])
    printed = orienteer("import", tmp_path / "x.wat.gz", "-o", tmp_path / "c").stdout
    assert "these pages cannot be searched" in " ".join(printed.split())


def test_a_graph_and_a_list(tmp_path: Path) -> None:
    (tmp_path / "links.csv").write_text("0,1\n1,2\n2,0\n")
    (tmp_path / "urls.txt").write_text(f"{A}/1\n{A}/2\n")
    graph, urls, info = orienteer_each(
        [
            ["import", tmp_path / "links.csv", "-o", tmp_path / "graph"],
            ["import", tmp_path / "urls.txt", "-o", tmp_path / "crawl"],
            ["graph", "info", tmp_path / "graph", "--json"],
        ]
    )
    assert "a graph of 3 pages, 3 links" in graph.stdout
    assert "Fetch them with: orienteer crawl" in urls.stdout
    assert json.loads(info.stdout)["n_pages"] == 3


def test_damage_is_reported(tmp_path: Path) -> None:
    packed = [gzip.compress(one) for one in PAGES]
    (tmp_path / "x.warc.gz").write_bytes(b"".join(packed)[:-20])
    printed = " ".join(orienteer("import", tmp_path / "x.warc.gz", "-o", tmp_path / "c").stdout.split())
    assert "1 place could not be read, the first" in printed
    assert "after 2 records; the rest was imported" in printed


def bombs(folder: Path) -> dict[str, list[object]]:
    """What is refused, and the words of it."""
    laughs = '<!DOCTYPE g [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]><graphml>&b;</graphml>'
    (folder / "bomb.graphml").write_text(laughs)
    (folder / "empty.warc").write_bytes(b"")
    (folder / "rubbish.warc").write_bytes(b"<html>" * 100)
    (folder / "cut.warc.gz").write_bytes(gzip.compress(PAGES[0])[:50])
    write(folder / "requests.warc", [record("request", f"{A}/", b"GET / HTTP/1.1\r\n\r\n")])
    write(folder / "image.warc", [response(f"{A}/1.gif", b"GIF", "Content-Type: image/gif")])
    write(folder / "good.warc", PAGES)
    (folder / "x.warc.wet.gz").write_bytes(b"")
    write(folder / "broken.wat", [record("metadata", f"{A}/", b"{")])
    write_wacz(folder / "bomb.wacz", {"archive/x.warc": bytes(10_000_000)}, stored=False)
    write_wacz(folder / "outside.wacz", {"../archive/x.warc": PAGES[0], "archive/../x.warc": PAGES[0]})
    (folder / "cut.wacz").write_bytes(write_wacz(folder / "y.wacz", {"archive/x.warc": PAGES[0]}).read_bytes()[:-30])
    (folder / "folder").mkdir()
    (folder / "odd.bin").write_bytes(b"x")
    (folder / "empty.xml").write_text("<urlset></urlset>")
    return {
        "document type and entity declarations are refused": ["bomb.graphml"],
        "no WARC records in it": ["empty.warc"],
        "rubbish.warc: no WARC records": ["rubbish.warc"],
        "cut.warc.gz: no WARC records": ["cut.warc.gz"],
        "1 record in it, but no response": ["requests.warc"],
        "1 responses in it, but no page": ["image.warc"],
        "a WET file holds texts without links": ["x.warc.wet.gz"],
        "1 record had broken JSON": ["broken.wat"],
        "a zip bomb": ["bomb.wacz"],
        "so this is no WACZ": ["outside.wacz"],
        "not a zip, or a damaged one": ["cut.wacz"],
        "no WARC, WACZ or WAT files in it": ["folder"],
        "unknown kind of source": ["odd.bin"],
        "no URLs in it": ["empty.xml"],
        "none.warc: no such file or folder": ["none.warc"],
        "no kind of source named 'warc'": ["good.warc", "--from", "warc"],
        "the seed http://b.test/ is not in the collection; name a page that is, such as": [
            "good.warc", "--seed", "http://b.test/",
        ],
        "no choice for --scope named 'hosts'; did you mean 'host'?": ["good.warc", "--scope", "hosts"],
        "a graph must be imported alone": ["bomb.graphml", "good.warc"],
        "seeds, scope, settings and hooks are for crawls": ["bomb.graphml", "--scope", "web"],
        "none.toml: No such file or directory": ["good.warc", "--settings", "none.toml"],
    }  # fmt: skip


def test_bad_input_is_one_line_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cases = bombs(tmp_path)
    commands = [["import", *arguments, "-o", "made"] for arguments in cases.values()]
    for printed, done in zip(cases, orienteer_each(commands), strict=True):
        assert done.returncode == 2, (printed, done)
        assert done.stdout == ""
        assert done.stderr.startswith("orienteer: ")
        assert done.stderr.count("\n") == 1, done.stderr
        assert printed in done.stderr
    assert not (tmp_path / "made").exists()
    assert leftovers(tmp_path) == set()


def test_a_full_disk_loses_nothing(small_disk: Path, tmp_path: Path) -> None:
    noise = [response(f"{A}/{k}", os.urandom(60_000).hex()) for k in range(20)]
    write(tmp_path / "x.warc", [*PAGES, *noise])
    printed = refused("import", tmp_path / "x.warc", "-o", small_disk / "crawl")
    assert printed.startswith(FULL)
    assert printed.endswith(COME_AGAIN)
    assert list(small_disk.iterdir()) == []  # and there is room again


def test_a_folder_in_which_nothing_may_be_made(tmp_path: Path) -> None:
    write(tmp_path / "x.warc", PAGES)
    (tmp_path / "file").write_text("x")
    assert "file" in refused("import", tmp_path / "x.warc", "-o", tmp_path / "file" / "crawl")


def feed(fifo: Path) -> None:
    """Endless records, for as long as they are read."""
    with contextlib.suppress(BrokenPipeError), fifo.open("wb") as out:
        for k in itertools.count():
            out.write(response(f"{A}/{k}", "x" * 20_000))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_import_that_is_stopped_leaves_no_crawl_and_can_be_made_again(number: int, tmp_path: Path) -> None:
    fifo = tmp_path / "endless.warc"
    os.mkfifo(fifo)
    feeder = threading.Thread(target=feed, args=[fifo])
    feeder.start()
    command = [sys.executable, "-m", "orienteer", "import", str(fifo), "-o", str(tmp_path / "crawl")]
    with ReadyPopen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not leftovers(tmp_path):
            time.sleep(0.01)
        process.send_signal(number)
        _, stderr = process.communicate(timeout=TEST_TIMEOUT_S)
    os.close(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK))  # the feeder may wait for a reader that never came
    feeder.join()
    assert not (tmp_path / "crawl").exists()
    if number != signal.SIGKILL:
        assert (process.returncode, stderr) == (128 + number, "orienteer: interrupted\n")
        assert leftovers(tmp_path) == set()
    fifo.unlink()
    write(fifo, PAGES)
    orienteer("import", fifo, "-o", tmp_path / "crawl")
    assert leftovers(tmp_path) == set()


def test_a_wacz_that_lies_about_its_members_is_read_as_far_as_it_is_true(tmp_path: Path) -> None:
    path = write_wacz(tmp_path / "x.wacz", {"archive/x.warc": b"".join(PAGES)}, stored=False)
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as zipped:
        size = zipped.getinfo("archive/x.warc").compress_size
    content[60 + size // 2] ^= 255
    path.write_bytes(content)
    done = orienteer_each([["import", path, "-o", tmp_path / "c", "--json"]])[0]
    assert done.returncode in (0, 2)
    assert done.stderr.count("\n") == (done.returncode == 2)
