"""The contract of all formats in the registry."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import orienteer as ori
from orienteer.errors import GraphFileError
from orienteer.graph import synthetic as shapes
from orienteer.graph.formats import all_formats, format_of
from orienteer.graph.link_graph import LinkGraph
from tests.conftest import random_web

FORMATS = all_formats()
WRITABLE = [format for format in FORMATS.values() if format.write]


def path_for(name: str, folder: Path) -> Path:
    return folder / ("web" + (FORMATS[name].suffixes or ("",))[0])


@pytest.mark.parametrize("format", WRITABLE, ids=lambda format: format.name)
def test_every_writable_format_round_trips(format, rng: np.random.Generator, tmp_path: Path) -> None:
    webs = [random_web(rng, n) for n in (1, 2, 50, 400)] + [shapes.disconnected(0), shapes.disconnected(3)]
    for web in webs:
        web.save(path_for(format.name, tmp_path))
        assert LinkGraph.load(path_for(format.name, tmp_path)) == web


@pytest.mark.parametrize("format", WRITABLE, ids=lambda format: format.name)
def test_every_writable_format_keeps_urls(format, tmp_path: Path) -> None:
    urls = ["http://a.example/", "http://a.example/?q=<&>,\"'", "http://ü.example/ö", "http://b.example/"]
    web = LinkGraph.from_links(4, [0, 1, 2], [1, 2, 0], urls=urls)
    web.save(path_for(format.name, tmp_path))
    assert LinkGraph.load(path_for(format.name, tmp_path)) == web


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_reports_a_missing_file(name: str, tmp_path: Path) -> None:
    with pytest.raises(GraphFileError, match="web") as caught:
        LinkGraph.load(path_for(name, tmp_path), name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("folder", "edges")])
@pytest.mark.parametrize("content", [b"", b"\x00" * 300, bytes(range(256)) * 9, b"hello world\n" * 50])
def test_every_format_refuses_other_files(name: str, content: bytes, tmp_path: Path) -> None:
    path = path_for(name, tmp_path)
    for suffix in FORMATS[name].suffixes:
        path.with_suffix(suffix).write_bytes(content)
    with pytest.raises(GraphFileError, match="web") as caught:
        LinkGraph.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("format", WRITABLE, ids=lambda format: format.name)
def test_every_format_needs_its_folder(format, tmp_path: Path) -> None:
    with pytest.raises(GraphFileError, match="does not exist"):
        shapes.cycle(3).save(path_for(format.name, tmp_path / "nowhere"))


def test_the_format_follows_from_the_name(tmp_path: Path) -> None:
    expected = {
        "a.txt": "edges", "a.CSV.gz": "edges", "a.tsv.zst": "edges", "a.npz": "npz", "a.parquet": "parquet",
        "a.graphml": "graphml", "a.graph": "bv", "a.properties": "bv", "a.warc.gz": "warc",
        "a.wacz": "warc", "a": "folder",
    }  # fmt: skip
    for name, format in expected.items():
        assert format_of(tmp_path / name).name == format
    (tmp_path / "a.properties").touch()
    assert format_of(tmp_path / "a").name == "bv"
    with pytest.raises(ori.InputError, match=r"cannot determine the format from the ending '.docx'"):
        format_of(tmp_path / "a.docx")


def test_a_file_without_an_ending_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("127.0.0.1 localhost")
    with pytest.raises(ori.InputError, match="cannot determine the format from a name without an ending"):
        ori.LinkGraph.load(tmp_path / "hosts")


def test_a_wrong_format_name_gets_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(ori.InputError, match="did you mean 'parquet'"):
        shapes.cycle(3).save(tmp_path / "x", "parqet")


@pytest.mark.parametrize("name", ["bv", "warc"])
def test_formats_that_are_only_read_say_so(name: str, tmp_path: Path) -> None:
    with pytest.raises(ori.InputError, match="does not write it"):
        shapes.cycle(3).save(path_for(name, tmp_path))
