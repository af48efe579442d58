from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import orienteer as ori
from orienteer.errors import GraphFileError
from orienteer.files import compressed
from orienteer.files.compressed import zstd
from orienteer.graph import link_sorter
from orienteer.graph import synthetic as shapes
from orienteer.graph.link_graph import LinkGraph
from tests.conftest import random_web

ENDINGS = [".txt", ".csv", ".tsv", ".txt.gz", ".csv.zst", ".tsv.gz"]


def read_text(tmp_path: Path, text: str | bytes, name: str = "links.txt") -> LinkGraph:
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return LinkGraph.load(tmp_path / name)


def links_of(web: LinkGraph) -> list[tuple[int, int]]:
    return list(zip(web.sources().tolist(), web.targets.tolist(), strict=True))


@pytest.mark.parametrize("ending", ENDINGS)
def test_ids_round_trip(rng: np.random.Generator, tmp_path: Path, ending: str) -> None:
    for web in (random_web(rng, 400), shapes.disconnected(0), shapes.disconnected(7), shapes.cycle(2)):
        web.save(tmp_path / f"web{ending}")
        assert LinkGraph.load(tmp_path / f"web{ending}") == web


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("as_urls", [False, True])
def test_urls_round_trip_in_a_sidecar_or_in_the_list(
    rng: np.random.Generator, tmp_path: Path, ending: str, as_urls: bool
) -> None:
    plain = random_web(rng, 300)
    strange = ["http://a/,b", 'http://a/"quoted"', "", "a title with blanks", "tab\there", '"', "http://ü/"]
    urls = [*strange[: 2 if as_urls else 7], *(f"http://h/{k}" for k in range(300))][:300]
    if as_urls and ending.startswith((".csv", ".tsv")):
        urls[5:7] = ["a title with blanks", "http://ü/"]
    web = LinkGraph(plain.offsets, plain.targets, urls=ori.graph.url_table.UrlTable.of(urls))
    web.save(tmp_path / f"web{ending}", urls=as_urls)
    assert LinkGraph.load(tmp_path / f"web{ending}") == web


def test_separators_comments_headings_blank_lines_and_further_columns(tmp_path: Path) -> None:
    text = "# a comment\n% another\n\nsource,target,weight\n0,1,0.5\n 1\t2\r\n2; 0 ;9\n1   2\n2 2"
    assert links_of(read_text(tmp_path, text)) == [(0, 1), (1, 2), (2, 0)]


def test_urls_are_numbered_in_order_of_appearance(tmp_path: Path) -> None:
    web = read_text(tmp_path, "http://b/ http://a/\nhttp://a/\thttp://c/\n# page: http://lonely/\n")
    assert list(web.urls) == ["http://b/", "http://a/", "http://c/", "http://lonely/"]
    assert links_of(web) == [(0, 1), (1, 2)]


def test_csv_urls_may_be_quoted_and_have_a_heading(tmp_path: Path) -> None:
    text = 'from,to\n"http://a/?x=1,2","http://b/"\nhttp://b/,"say ""hi"""\n'
    web = read_text(tmp_path, text, "links.csv")
    assert list(web.urls) == ["http://a/?x=1,2", "http://b/", 'say "hi"']
    assert links_of(web) == [(0, 1), (1, 2)]


def test_the_first_link_decides_whether_numbers_are_names(tmp_path: Path) -> None:
    web = read_text(tmp_path, "a.example 7\n7 a.example\n")
    assert list(web.urls) == ["a.example", "7"]


def test_a_file_of_many_blocks_and_more_links_than_memory(
    rng: np.random.Generator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compressed, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(link_sorter.LinkSorter.__init__, "__defaults__", (24 * 200,))
    web = random_web(rng, 900)
    for ending in (".txt", ".csv.zst", ".tsv.gz"):
        web.save(tmp_path / f"web{ending}")
        loaded = LinkGraph.load(tmp_path / f"web{ending}")
        assert isinstance(loaded.targets, np.memmap)
        assert loaded == web
    named = LinkGraph.from_links(900, web.sources(), web.targets, urls=[f"http://h/{k}" for k in range(900)])
    named.save(tmp_path / "urls.csv", urls=True)
    assert LinkGraph.load(tmp_path / "urls.csv") == named


def test_several_zstandard_frames_are_one_file(tmp_path: Path) -> None:
    frames = b"".join(zstd.compress(line) for line in (b"0 1\n", b"1 2\n", b"2 0\n"))
    assert read_text(tmp_path, frames, "links.txt.zst").n_links == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 1\n1\n", "line 2: expected two page ids: '1'"),
        ("0 1\n\n# c\n1 x\n", "line 4: expected two page ids: '1 x'"),
        ("0 1\n-1 2\n", "line 2: expected two page ids: '-1 2'"),
        ("0 1\n1.5 2\n", "line 2: expected two page ids"),
        ("5\n", "line 1: expected two page ids"),
        ("0 99999999999\n", "line 1: a page id does not fit in 32 bits"),
        ("0 4294967295\n", "does not fit in 32 bits"),
        ("0 3999999999\n", "number pages densely"),
        ("# pages: 2\n0 5\n", "page 5 is not in the graph"),
        ("http://a/ http://b/\nhttp://c/\n", "line 2: expected two URLs: 'http://c/'"),
        ("http://a/\n", "line 1: expected two URLs"),
        ('http://a/ "http://b/\n', "line 1: expected two URLs"),
        (b"\x00\xff\x00\x00\x01\x02\n" * 9, "line 1: expected two URLs"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(GraphFileError, match=message) as caught:
        read_text(tmp_path, text)
    assert "\n" not in str(caught.value)
    assert "links.txt" in str(caught.value)


def test_an_empty_file_is_an_empty_graph(tmp_path: Path) -> None:
    assert read_text(tmp_path, "").n_pages == 0
    assert read_text(tmp_path, "# nothing here\n").n_pages == 0
    assert read_text(tmp_path, "source,target\n", "links.csv").n_pages == 0


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_truncated_or_corrupt_compressed_file_is_one_clear_line(tmp_path: Path, ending: str) -> None:
    text = b"".join(b"%d %d\n" % (k, k * k % 1000) for k in range(1000))
    whole = gzip.compress(text) if ending == ".gz" else zstd.compress(text)
    for length in range(1, len(whole), 97):
        with pytest.raises(GraphFileError, match="truncated|corrupt"):
            read_text(tmp_path, whole[:length], f"links.txt{ending}")
    corrupt = whole[:50] + bytes(b ^ 0xFF for b in whole[50:60]) + whole[60:]
    with pytest.raises(GraphFileError, match="truncated|corrupt|line"):
        read_text(tmp_path, corrupt, f"links.txt{ending}")
    with pytest.raises(GraphFileError, match="corrupt"):
        read_text(tmp_path, b"0 1\n", f"links.txt{ending}")


def test_urls_with_line_breaks_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(GraphFileError, match="line break"):
        LinkGraph.from_links(1, [], [], urls=["a\nb"]).save(tmp_path / "web.txt")
    with pytest.raises(GraphFileError, match="no URLs"):
        shapes.cycle(3).save(tmp_path / "web.txt", urls=True)
    assert list(tmp_path.iterdir()) == []


def test_a_compression_bomb_is_read_in_bounded_blocks(tmp_path: Path) -> None:
    for name, bomb in (("b.zst", zstd.compress(bytes(1 << 28))), ("b.gz", gzip.compress(bytes(1 << 28), 1))):
        (tmp_path / name).write_bytes(bomb)
        first = next(compressed.byte_blocks(tmp_path / name))
        assert len(first) <= compressed.BLOCK_BYTES
