"""The BV reader against bits written out by hand, files of WebGraph itself, and an encoder of our own."""

from __future__ import annotations

import gc
import random
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from orienteer.errors import GraphFileError, OrienteerError
from orienteer.graph.formats import bv, bv_codes
from orienteer.graph.link_graph import LinkGraph
from tests.graph.formats.bv_encoder import (
    DEFAULT_CODES,
    Row,
    Settings,
    graph_bits,
    number_bits,
    packed,
    properties_text,
    write_graph,
)

CODES = ["UNARY", "GAMMA", "DELTA", "ZETA", "ZETA1", "ZETA2", "ZETA7", "PI1", "PI2", "PI4", "GOLOMB", "NIBBLE"]
N_TRIALS = 300


def web_of(rows: list[Row]) -> LinkGraph:
    links = [(page, target) for page, row in enumerate(rows) for target in row]
    return LinkGraph.from_links(len(rows), [s for s, _ in links], [t for _, t in links])


def random_rows(rng: np.random.Generator, n_pages: int) -> list[Row]:
    """Rows as in a web: empty, copied in part from a page before, with runs, near and far links, self-links."""
    rows: list[Row] = []
    for page in range(n_pages):
        links = set(rng.integers(0, n_pages, rng.integers(0, 4)).tolist())
        if rows and rng.random() < 0.6:
            links.update(t for t in rows[-rng.integers(1, min(page, 8) + 1)] if rng.random() < 0.8)
        if rng.random() < 0.5:
            first = int(rng.integers(0, n_pages))
            links.update(range(first, min(n_pages, first + int(rng.integers(1, 9)))))
        if rng.random() < 0.3:
            links.add(page)
        rows.append(sorted(links) if rng.random() < 0.8 else [])
    return rows


def written_bits(folder: Path, bits: str, n_pages: int, n_links: int, settings: Settings) -> Path:
    (folder / "web.graph").write_bytes(packed(bits))
    (folder / "web.properties").write_text(properties_text(n_pages, n_links, settings))
    return folder / "web.graph"


def read_back(folder: Path, rows: list[Row], settings: Settings) -> LinkGraph:
    write_graph(folder / "web", rows, settings)
    return LinkGraph.load(folder / "web.graph")


# ---- files that we did not encode


def test_bits_written_out_by_hand_are_read(tmp_path: Path) -> None:
    bits = [
        # Page 0 links to 1 and 2.
        "011",  # outdegree 2, gamma
        "1",  # reference 0, unary
        "1",  # 0 intervals, gamma
        "1011",  # first residual 0 + 1, so 2 in zeta 3
        "100",  # second residual 1 + 1 + 0
        # Page 1 links to 0, 1 (itself) and 2.
        "00100",  # outdegree 3
        "01",  # reference 1: page 0
        "1",  # 0 blocks: all of its links
        "1",  # 0 intervals
        "1010",  # first residual 1 - 1, so 1 in zeta 3
        # Page 2 has no links.
        "1",
        # Page 3 links to 0, 1 and 2.
        "00100",  # outdegree 3
        "1",  # reference 0
        "010",  # 1 interval
        "00110",  # that starts at 3 - 3, so 5 in gamma
        "1",  # of length 3 + 0
        # Page 4 links to 1.
        "010",  # outdegree 1
        "0001",  # reference 3: page 1
        "00100",  # 3 blocks
        "1",  # of which 0 links are copied,
        "1",  # 1 + 0 left out,
        "1",  # and 1 + 0 copied; then 1 is left out
    ]
    path = written_bits(tmp_path, "".join(bits), 5, 9, Settings(min_interval=3))
    assert LinkGraph.load(path) == web_of([[1, 2], [0, 2], [], [0, 1, 2], [1]])


JAVA_ROWS = [
    [1, 2, 3, 4, 5, 9],
    [0, 1, 2, 3, 4, 5, 11],
    [],
    [2, 3, 4, 6, 7, 8, 10],
    [2, 3, 4, 6, 7, 8, 10],
    [],
    [1, 6],
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    [3],
    [3, 8, 9, 10, 11],
    [0, 11],
    [0, 5, 11],
]


@pytest.mark.parametrize(
    ("content", "properties"),
    [
        (
            "3d34a622935588ea4a92843bd168d03492d119a57aa2323a40",
            "windowsize=7\nminintervallength=4\nzetak=3\ncompressionflags=\n",
        ),
        (
            "7d3654414885920b5c78816b8ce12d0e1498cb9524b958d31636",
            "windowsize=3\nminintervallength=3\ncompressionflags=OUTDEGREES_DELTA | BLOCKS_DELTA | RESIDUALS_NIBBLE"
            " | REFERENCES_GAMMA | BLOCK_COUNT_UNARY\n",
        ),
        (
            "3d320108a4503c45a541c426f130da1c2d6232526f030c44c7",
            "windowsize=2\nminintervallength=2\ncompressionflags=RESIDUALS_GOLOMB | REFERENCES_DELTA"
            " | BLOCK_COUNT_DELTA | OFFSETS_DELTA\n",
        ),
        (
            "3faa408d552a2356ac2115ab5b491af5555549a3389a992364264a80",
            "windowsize=0\nminintervallength=0\nzetak=2\ncompressionflags=\n",
        ),
    ],
)
def test_files_of_the_java_version_are_read(tmp_path: Path, content: str, properties: str) -> None:
    """Made with the it.unimi.dsi.webgraph.BVGraph that swh-graph 2.2.0 contains."""
    head = "#BVGraph properties\ngraphclass=it.unimi.dsi.webgraph.BVGraph\nversion=0\nnodes=12\narcs=52\n"
    (tmp_path / "web.graph").write_bytes(bytes.fromhex(content))
    (tmp_path / "web.properties").write_text(head + properties)
    assert LinkGraph.load(tmp_path / "web.graph") == web_of(JAVA_ROWS)


# ---- codes


@pytest.mark.parametrize("little", [False, True])
@pytest.mark.parametrize("code", CODES)
def test_every_code_gives_back_its_numbers_and_where_they_end(tmp_path: Path, code: str, little: bool) -> None:
    numbers = [*range(70), 1000, *(2**i + d for i in range(7, 34) for d in (-2, -1, 0))]
    if code in ("UNARY", "GOLOMB"):
        numbers = [n for n in numbers if n < 2**12]
    words = [number_bits(code, n, 5, little) for n in numbers]
    (tmp_path / "bits").write_bytes(packed("".join(words), little))
    bits = bv_codes.load_bits(tmp_path / "bits", little)
    stream, named = bv_codes.stream_of(bits), bv_codes.code_named(code, 5)
    position = 0
    for number, word in zip(numbers, words, strict=True):
        for read in (bv_codes.read_number, bv_codes.read_any_number):
            assert read(stream, named, position) == (number, position + len(word))
        position += len(word)


@pytest.mark.parametrize("code", CODES)
def test_a_number_that_is_cut_off_or_does_not_end_is_an_error(tmp_path: Path, code: str) -> None:
    named = bv_codes.code_named(code, 5)
    for content in (packed(number_bits(code, 300, 5))[:-1], b"", bytes(8), bytes(16), bytes(100)):
        (tmp_path / "bits").write_bytes(content)
        bits = bv_codes.load_bits(tmp_path / "bits", False)
        number, _ = bv_codes.read_number(bv_codes.stream_of(bits), named, 0)
        assert number in (bv_codes.ENDED, bv_codes.TOO_LARGE)


def test_a_file_longer_than_a_block_is_loaded_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = random_rows(np.random.default_rng(5), 200)
    monkeypatch.setattr(bv_codes, "_BLOCK_BYTES", 64)
    assert read_back(tmp_path, rows, Settings()) == web_of(rows)


# ---- there and back


@pytest.mark.parametrize("min_interval", [0, 2, 4])
@pytest.mark.parametrize("window", [0, 1, 7])
@pytest.mark.parametrize("endianness", [None, "little"])
def test_random_webs_round_trip(tmp_path: Path, window: int, min_interval: int, endianness: str | None) -> None:
    rng = np.random.default_rng([window, min_interval])
    for n_pages in (1, 2, 40, 300):
        rows = random_rows(rng, n_pages)
        settings = Settings(window, min_interval, endianness=endianness)
        assert read_back(tmp_path, rows, settings) == web_of(rows)


@pytest.mark.parametrize("endianness", [None, "little"])
@pytest.mark.parametrize("part", DEFAULT_CODES)
def test_every_part_may_be_in_every_code(tmp_path: Path, part: str, endianness: str | None) -> None:
    rows = random_rows(np.random.default_rng(9), 60)
    for code in CODES:
        codes = {"BLOCK_COUNT": "GAMMA"} | {part: code}
        settings = Settings(min_interval=2, zetak=4, codes=codes, endianness=endianness)
        assert read_back(tmp_path, rows, settings) == web_of(rows), code


def test_all_fields_may_have_other_codes_at_once(tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    for _ in range(40):
        rows = random_rows(rng, 50)
        codes = dict(zip(DEFAULT_CODES, rng.choice(CODES, len(DEFAULT_CODES)).tolist(), strict=True))
        settings = Settings(int(rng.integers(0, 9)), int(rng.integers(0, 6)), int(rng.integers(1, 9)), codes)
        assert read_back(tmp_path, rows, settings) == web_of(rows)


@pytest.mark.parametrize("endianness", ["big", "little"])
def test_the_rust_version_counts_blocks_in_the_code_of_their_lengths(tmp_path: Path, endianness: str) -> None:
    rows = random_rows(np.random.default_rng(13), 60)
    said = Settings(codes={"BLOCKS": "DELTA"}, endianness=endianness)
    written = Settings(codes={"BLOCKS": "DELTA", "BLOCK_COUNT": "DELTA"}, endianness=endianness)
    write_graph(tmp_path / "web", rows, written)
    (tmp_path / "web.properties").write_text(properties_text(60, sum(map(len, rows)), said))
    assert LinkGraph.load(tmp_path / "web.graph") == web_of(rows)


@pytest.mark.parametrize("rows", [[], [[]], [[0]], [[], [], []], [[], [0], [1], []], [[0, 1], [0, 1], [0, 1, 2]]])
def test_small_webs_round_trip(tmp_path: Path, rows: list[Row]) -> None:
    assert read_back(tmp_path, rows, Settings()) == web_of(rows)


def test_long_rows_round_trip(tmp_path: Path) -> None:
    evens, odds = list(range(0, 9000, 2)), list(range(1, 9000, 2))
    rows: list[Row] = [evens, odds, sorted({*evens, 1, 3, 8999}), list(range(9000)), evens[::2], *[[]] * 8995]
    for settings in (Settings(), Settings(window=0), Settings(min_interval=0)):
        assert read_back(tmp_path, rows, settings) == web_of(rows)


def test_pages_may_be_far_apart(tmp_path: Path) -> None:
    n_pages = 3_000_000
    head = graph_bits([[n_pages - 1]], Settings())
    tail = "010" + "1" + "1" + number_bits("ZETA", 2 * (n_pages - 1) - 1)
    path = written_bits(tmp_path, head + "1" * (n_pages - 2) + tail, n_pages, 2, Settings())
    web = LinkGraph.load(path)
    assert web.n_pages == n_pages
    assert web.targets.tolist() == [n_pages - 1, 0]
    assert web.sources().tolist() == [0, n_pages - 1]


@pytest.mark.parametrize("chunk_pages", [1, 3, 64])
def test_chunks_do_not_change_the_graph_and_report_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk_pages: int
) -> None:
    rows = random_rows(np.random.default_rng(17), 100)
    write_graph(tmp_path / "web", rows, Settings())
    monkeypatch.setattr(bv, "_CHUNK_PAGES", chunk_pages)
    reports: list[tuple[str, int, int]] = []
    web = LinkGraph.load(tmp_path / "web.graph", progress=lambda *report: reports.append(report))
    assert web == web_of(rows)
    assert reports == [("decoding links", done, 100) for done in [*range(0, 100, chunk_pages), 100]]


def test_a_big_graph_is_decoded_into_a_file_that_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = random_rows(np.random.default_rng(19), 100)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(bv, "_IN_MEMORY_BYTES", 0)
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    web = read_back(tmp_path, rows, Settings())
    assert web == web_of(rows)
    assert isinstance(web.targets, np.memmap)
    assert len(list(scratch.iterdir())) == 1
    del web
    gc.collect()
    assert list(scratch.iterdir()) == []


def test_a_graph_too_big_for_the_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bv, "_IN_MEMORY_BYTES", 0)
    monkeypatch.setattr(bv.shutil, "disk_usage", lambda folder: SimpleNamespace(free=100))
    with pytest.raises(GraphFileError, match=r"52 links need 208 bytes in .*; 100 free"):
        read_back(tmp_path, JAVA_ROWS, Settings())


@pytest.mark.parametrize("name", ["web.graph", "web.properties", "web"])
def test_a_graph_is_loaded_by_its_name_or_that_of_either_file(tmp_path: Path, name: str) -> None:
    write_graph(tmp_path / "web", JAVA_ROWS, Settings())
    assert LinkGraph.load(tmp_path / name) == web_of(JAVA_ROWS)


def test_a_name_may_have_dots(tmp_path: Path) -> None:
    write_graph(tmp_path / "web.2004", JAVA_ROWS, Settings())
    assert LinkGraph.load(tmp_path / "web.2004.graph") == web_of(JAVA_ROWS)
    assert LinkGraph.load(tmp_path / "web.2004", "bv") == web_of(JAVA_ROWS)


def test_properties_may_be_left_out_or_written_in_other_ways(tmp_path: Path) -> None:
    write_graph(tmp_path / "web", JAVA_ROWS, Settings())
    (tmp_path / "web.properties").write_text("! comment\r\n\r\n nodes : 12\r\narcs\t52\r\ncompressionflags\r\n")
    assert LinkGraph.load(tmp_path / "web") == web_of(JAVA_ROWS)


# ---- what is wrong with a file


def error_of(path: Path) -> str:
    with pytest.raises(GraphFileError) as caught:
        LinkGraph.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nodes=", "nodes is ''; it must be a whole number from 0 to 4,294,967,294"),
        ("nodes=twelve", "nodes is 'twelve'; it must be a whole number from 0 to 4,294,967,294"),
        ("nodes=-12", "nodes is '-12'; it must be a whole number from 0 to 4,294,967,294"),
        ("nodes=4294967295", "nodes is '4294967295'; it must be a whole number from 0 to 4,294,967,294"),
        ("nodes=4294967294", "the bit stream has 248 bits, too few for 4,294,967,294 pages"),
        ("arcs=many", "arcs is 'many'; it must be a whole number from 0 to 144"),
        ("arcs=-1", "arcs is '-1'; it must be a whole number from 0 to 144"),
        ("arcs=145", "arcs is '145'; it must be a whole number from 0 to 144"),
        ("arcs=" + "9" * 5000, f"arcs is '{'9' * 40}'; it must be a whole number from 0 to 144"),
        ("arcs=53", "52 links found, but the properties declare 53"),
        (
            "arcs=51",
            "the bit stream holds more links than the 51 that the properties declare (page 11)",
        ),
        ("windowsize=-1", "windowsize is '-1'; it must be a whole number from 0 to 2,147,483,647"),
        ("minintervallength=x", "minintervallength is 'x'; it must be a whole number from 0 to 2,147,483,647"),
        ("zetak=0", "zetak is '0'; it must be a whole number from 1 to 2,147,483,647"),
        ("version=2", "the properties are of format version 2; versions 0 and 1 are known"),
        ("version=new", "version is 'new'; it must be a whole number from 0 to 2,147,483,647"),
        ("endianness=middle", "endianness is 'middle'; it must be big or little"),
        (
            "graphclass=it.unimi.dsi.webgraph.EFGraph",
            "the properties are those of it.unimi.dsi.webgraph.EFGraph, not of a BVGraph",
        ),
        ("compressionflags=RESIDUALS_HUFFMAN", "the compression flag 'RESIDUALS_HUFFMAN' is unknown"),
        ("compressionflags=RESIDUALS_PI", "the compression flag 'RESIDUALS_PI' is unknown"),
        ("compressionflags=RESIDUALS_GAMMA2", "the compression flag 'RESIDUALS_GAMMA2' is unknown"),
        ("compressionflags=LABELS_GAMMA", "the compression flag 'LABELS_GAMMA' is unknown"),
        ("compressionflags=OUTDEGREES_DELTA | ZETA", "the compression flag 'ZETA' is unknown"),
    ],
)
def test_wrong_properties_are_named(tmp_path: Path, line: str, message: str) -> None:
    write_graph(tmp_path / "web", JAVA_ROWS, Settings())
    with (tmp_path / "web.properties").open("a") as file:
        file.write(line + "\n")
    assert error_of(tmp_path / "web.graph") == message


@pytest.mark.parametrize("name", ["nodes", "arcs"])
def test_missing_counts_are_named(tmp_path: Path, name: str) -> None:
    write_graph(tmp_path / "web", JAVA_ROWS, Settings())
    text = (tmp_path / "web.properties").read_text()
    (tmp_path / "web.properties").write_text(text.replace(f"{name}=", f"no{name}="))
    assert error_of(tmp_path / "web.graph") == f"the properties have no number of {name}"


@pytest.mark.parametrize("name", ["web.graph", "web.properties"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    write_graph(tmp_path / "web", JAVA_ROWS, Settings())
    (tmp_path / name).unlink()
    for given in ("web.graph", "web.properties"):
        assert error_of(tmp_path / given) == f"there is no {name}; a BV graph is NAME.graph and NAME.properties"


LINK_TO_1 = "010" + "1" + "1" + "1011"  # page 0: outdegree 1, no reference, no interval, residual 0 + 1


@pytest.mark.parametrize(
    ("bits", "n_links", "message"),
    [
        ("1" + "1" + "010" + "1" + "1", 1, "the bit stream ends in the links of page 2"),
        ("0" * 64 + "1" + "0" * 64, 9, "the bit stream is corrupt: an impossible number in the links of page 0"),
        (
            "010" + "01",
            1,
            "the bit stream is corrupt: page 0 copies links of a page that it cannot refer to",
        ),
        (
            "1" * 2 + "010" + "00000001",
            1,
            "the bit stream is corrupt: page 2 copies links of a page that it cannot refer to",
        ),
        (
            LINK_TO_1 + "010" + "01" + "010" + "00110",
            2,
            "the bit stream is corrupt: page 1 copies more links than there are to copy",
        ),
        (
            "011" + "1" + "1" + "1011" + "100" + "010" + "01" + "1",
            3,
            "the bit stream is corrupt: page 1 has more links than it can have",
        ),
        ("00110", 9, "the bit stream is corrupt: page 0 has more links than it can have"),
        (
            "010" + "1" + "010" + "1" + "1" + "11111",
            1,
            "the bit stream is corrupt: page 0 has more links than it can have",
        ),
        ("010" + "1" + "1" + "1010", 1, "the bit stream is corrupt: page 0 links outside the graph"),
        ("010" + "1" + "1" + "1111", 1, "the bit stream is corrupt: page 0 links outside the graph"),
        ("00100" + "1" + "010" + "011" + "010", 3, "the bit stream is corrupt: page 0 links outside the graph"),
        ("011", 1, "the bit stream holds more links than the 1 that the properties declare (page 0)"),
        (
            "010" + "1" + "1" + "1101" + "011" + "01" + "1" + "1" + "1011" + "1",
            3,
            "the graph is corrupt: a page's links are not strictly increasing (page 1)",
        ),
    ],
)
def test_faults_of_a_bit_stream_are_reported(tmp_path: Path, bits: str, n_links: int, message: str) -> None:
    path = written_bits(tmp_path, bits, 3, n_links, Settings(min_interval=2))
    assert error_of(path) == message


SETTINGS = [
    Settings(),
    Settings(min_interval=2, codes={"REFERENCES": "GAMMA", "RESIDUALS": "DELTA"}, endianness="little"),
    Settings(window=2, codes={"RESIDUALS": "GOLOMB", "INTERVALS": "NIBBLE", "BLOCKS": "PI2"}),
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_file_cut_off_anywhere_is_an_error(tmp_path: Path, settings: Settings) -> None:
    write_graph(tmp_path / "web", JAVA_ROWS, settings)
    content = (tmp_path / "web.graph").read_bytes()
    for size in range(len(content)):
        (tmp_path / "web.graph").write_bytes(content[:size])
        error_of(tmp_path / "web.graph")


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_corrupt_file_gives_a_graph_or_an_error_and_nothing_else(
    tmp_path: Path, settings: Settings, fresh_rng: random.Random
) -> None:
    rng = np.random.default_rng(fresh_rng.getrandbits(64))
    rows = random_rows(rng, 80)
    write_graph(tmp_path / "web", rows, settings)
    content = np.frombuffer((tmp_path / "web.graph").read_bytes(), np.uint8)
    n_graphs = 0
    for trial in range(N_TRIALS):
        bits = np.unpackbits(content)
        bits[rng.integers(0, len(bits), 1 + trial % 4)] ^= 1
        (tmp_path / "web.graph").write_bytes(np.packbits(bits).tobytes())
        try:
            web = LinkGraph.load(tmp_path / "web.graph")
        except OrienteerError as error:
            assert "\n" not in str(error)
        else:
            n_graphs += 1
            assert web.n_pages == 80
            assert web.n_links <= sum(map(len, rows))
    assert 0 < n_graphs < N_TRIALS


def test_noise_gives_an_error(tmp_path: Path) -> None:
    rng = np.random.default_rng(29)
    for _ in range(300):
        settings = Settings(int(rng.integers(0, 9)), int(rng.integers(0, 6)), int(rng.integers(1, 9)))
        (tmp_path / "web.properties").write_text(properties_text(50, 700, settings))
        (tmp_path / "web.graph").write_bytes(rng.bytes(200))
        error_of(tmp_path / "web.graph")
