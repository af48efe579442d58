from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from orienteer.errors import GraphFileError, InputError
from orienteer.graph.formats.url_lines import read_urls, refuse_stale_sidecar, sidecar_name, sidecar_of, write_urls
from orienteer.graph.url_table import UrlTable

MANY = [f"http://{k % 977}.example/{'x' * (k % 40)}{k}" for k in range(200_000)]


@pytest.mark.parametrize("name", ["web.urls.txt", "web.urls.txt.gz"])
@pytest.mark.parametrize(
    "urls",
    [
        [],
        [""],
        ["", ""],
        ["http://a/"],
        ["http://a/", "", "http://ü/日本"],
        ["\ufeffhttp://starts-with-a-byte-order-mark/", "\ufeff"],
        ["", "\ufeff"],
        ["\x0bnot\x0ca\x85line\u2028break"],
        [b"\xff\xfe not UTF-8", b"\x00"],
        MANY,
    ],
    ids=lambda urls: f"{len(urls)}-{str(urls[:1])[:20]!a}",
)
def test_urls_read_back_are_the_urls_written(tmp_path: Path, name: str, urls: list[str | bytes]) -> None:
    table = UrlTable.of(urls)
    write_urls(table, tmp_path / name)
    again = read_urls(tmp_path / name)
    assert again == table
    assert again.offsets.dtype == np.int64
    assert again.data.dtype == np.uint8
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        (b"a\nb\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\n\r\n\nb\r", ["a", "", "", "b"]),
        (b"\r\r\n", ["\r"]),
        (b"\xef\xbb\xbfa\nb\n", ["a", "b"]),
        (b"\xef\xbb\xbf", [""]),
        (b"\n", [""]),
        (b"", []),
    ],
)
def test_any_line_end_will_do(tmp_path: Path, text: bytes, urls: list[str]) -> None:
    (tmp_path / "web.urls.txt").write_bytes(text)
    assert list(read_urls(tmp_path / "web.urls.txt")) == urls


def test_urls_read_can_be_found(tmp_path: Path) -> None:
    write_urls(UrlTable.of(MANY), tmp_path / "web.urls.txt.gz")
    table = read_urls(tmp_path / "web.urls.txt.gz")
    assert table.find(MANY[123_456]) == 123_456
    assert table.find("http://nowhere/") is None


@pytest.mark.parametrize("url", ["http://a/\nb", "http://a/\r", "\n"])
def test_a_url_with_a_line_break_is_refused_and_nothing_is_written(tmp_path: Path, url: str) -> None:
    with pytest.raises(InputError, match="URL of page 1 has a line break"):
        write_urls(UrlTable.of(["http://a/", url, "http://b/"]), tmp_path / "web.urls.txt.gz")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.99])
def test_a_truncated_file_of_urls_is_named(tmp_path: Path, keep: float) -> None:
    whole = gzip.compress("\n".join(MANY[:5000]).encode())
    (tmp_path / "web.urls.txt.gz").write_bytes(whole[: int(len(whole) * keep)])
    with pytest.raises(GraphFileError, match=r"^web\.urls\.txt\.gz: the compressed file is (truncated|corrupt)"):
        read_urls(tmp_path / "web.urls.txt.gz")


def test_a_file_of_urls_that_is_not_compressed_as_it_says_is_named(tmp_path: Path) -> None:
    (tmp_path / "web.urls.txt.gz").write_text("http://a/\n")
    with pytest.raises(GraphFileError, match=r"^web\.urls\.txt\.gz: the compressed file is corrupt"):
        read_urls(tmp_path / "web.urls.txt.gz")


@pytest.mark.parametrize(
    "graph", ["web.npz", "web.txt", "web.csv.gz", "web.tsv.zst", "WEB.NPZ", "web.1.npz", "web.bin", "web.gz"]
)
def test_the_sidecar_has_the_name_of_its_graph(tmp_path: Path, graph: str) -> None:
    expected = {"WEB.NPZ": "WEB", "web.1.npz": "web.1", "web.bin": "web.bin", "web.gz": "web.gz"}.get(graph, "web")
    path = tmp_path / graph
    assert sidecar_of(path) is None
    refuse_stale_sidecar(path)
    (tmp_path / f"{expected}.urls.txt").touch()
    assert sidecar_of(path) == tmp_path / f"{expected}.urls.txt"
    sidecar_name(path).touch()
    assert sidecar_of(path) == sidecar_name(path) == tmp_path / f"{expected}.urls.txt.gz"
    with pytest.raises(InputError, match=r"would be read with those in .*\.urls\.txt\.gz; move that away"):
        refuse_stale_sidecar(path)
