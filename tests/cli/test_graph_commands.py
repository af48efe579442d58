"""The commands as a person runs them: real processes, real output."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.live_process import wait_until
from tests.cli.run import orienteer, refused
from tests.disk_limits import NO_BYTECODE
from tests.imports.made_collections import response, write
from tests.ready_process import TEST_TIMEOUT_S, ReadyPopen

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("webs") / "web"
    printed = orienteer("graph", "generate", path, "--pages", 2000, "--urls").stdout
    assert "2,000 pages" in printed
    return path


def test_info_prints_the_figures(web: Path) -> None:
    printed = orienteer("graph", "info", web, "--top", 3).stdout
    for expected in ("pages", "2,000", "dangling", "strong components", "links between hosts", "median", "http://h"):
        assert expected in printed


def test_info_as_json_is_the_same_for_machines(web: Path) -> None:
    facts = json.loads(orienteer("graph", "info", web, "--json", "--top", 2).stdout)
    assert facts["n_pages"] == 2000
    assert facts["out_degree"]["max"] >= facts["out_degree"]["median"] > 0
    assert 0 < facts["inter_host_share"] < 0.2
    assert len(facts["top_pages"]) == 2
    assert facts["top_pages"][0]["rank"] >= facts["top_pages"][1]["rank"]


def test_a_damaged_archive_is_a_graph_and_one_line_on_stderr(tmp_path: Path) -> None:
    pages = [response(f"http://a.test/{k}", f"<a href=/{k + 1}>") for k in range(3)]
    archive = write(tmp_path / "x.warc.gz", pages)
    archive.write_bytes(archive.read_bytes()[:-5])
    done = orienteer("graph", "info", archive, "--json")
    assert json.loads(done.stdout)["n_links"] == 2
    printed = "after 2 records the archive is damaged; 1 gap was skipped"
    assert done.stderr == f"orienteer: warning: {archive}: {printed}\n"


@pytest.mark.parametrize("name", ["web.npz", "web.csv.gz", "web.parquet", "web.graphml", "folder"])
def test_convert_there_and_back(web: Path, tmp_path: Path, name: str) -> None:
    orienteer("graph", "convert", web, tmp_path / name)
    orienteer("graph", "convert", tmp_path / name, tmp_path / "back", "--hosts")
    facts = [json.loads(orienteer("graph", "info", path, "--json").stdout) for path in (web, tmp_path / "back")]
    assert facts[0] == facts[1]


def test_convert_to_urls(web: Path, tmp_path: Path) -> None:
    printed = json.loads(orienteer("graph", "convert", web, tmp_path / "links.tsv", "--urls", "--json").stdout)
    assert printed["format"] == "edges"
    assert "http://h0.example/\thttp://" in (tmp_path / "links.tsv").read_text()


def test_the_same_rng_generates_the_same_files(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        orienteer("graph", "generate", tmp_path / name, "-n", 300, "--rng", 2 if name == "c.txt" else 1)
    files = [(tmp_path / name).read_bytes() for name in ("a.txt", "b.txt", "c.txt")]
    assert files[0] == files[1] != files[2]


def bad_inputs(folder: Path) -> dict[str, tuple[list[object], str]]:
    (folder / "empty").mkdir()
    (folder / "broken.npz").write_bytes(b"PK\x03\x04 not really")
    (folder / "broken.csv").write_text("0,1\n1,x\n")
    (folder / "letter.docx").write_text("dear")
    return {
        "missing file": (["graph", "info", folder / "nowhere.npz"], "no such file"),
        "no graph folder": (["graph", "info", folder / "empty"], "not a graph folder"),
        "corrupt archive": (["graph", "info", folder / "broken.npz"], "broken.npz"),
        "broken line": (["graph", "info", folder / "broken.csv"], "line 2: expected two page ids"),
        "unknown ending": (["graph", "info", folder / "letter.docx"], "cannot determine the format"),
        "unknown format": (["graph", "info", folder / "broken.csv", "--format", "edgs"], "did you mean 'edges'"),
        "no such target folder": (["graph", "generate", folder / "no" / "web", "-n", 9], "does not exist"),
        "urls of a graph without": (["graph", "convert", folder / "broken.csv", folder / "x.npz", "--urls"], "--urls"),
        "a share above one": (["graph", "generate", folder / "web", "--dangling", 3], "from 0 to 1"),
    }


def test_bad_input_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    for name, (arguments, message) in bad_inputs(tmp_path).items():
        assert message in refused(*arguments), name


@pytest.mark.parametrize("arguments", [["grph"], ["graph", "info"], ["graph", "generate", "x", "--pages", "many"]])
def test_wrong_usage_is_exit_code_2(arguments: list[str]) -> None:
    assert orienteer(*arguments, code=2).stdout == ""


def test_a_full_disk_leaves_no_half_graph(tmp_path: Path) -> None:
    limited = f"ulimit -f 8; exec {sys.executable} -m orienteer graph generate {tmp_path}/web.txt -n 5000"
    done = subprocess.run(
        ["bash", "-c", limited], env=os.environ | NO_BYTECODE, capture_output=True, text=True, timeout=TEST_TIMEOUT_S
    )
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "File too large" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "orienteer", "graph", "generate", str(tmp_path / "web"), "-n", "10000000"]
    process = ReadyPopen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: process.worked_s() > 0.5)
    process.send_signal(signal.SIGINT)
    _, printed = process.communicate(timeout=TEST_TIMEOUT_S)
    assert process.returncode == 130
    assert printed == "orienteer: interrupted\n"
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_leaves_early_is_no_error(web: Path) -> None:
    pipe = f"{sys.executable} -m orienteer graph info {web} --json --top 2000 | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", pipe], capture_output=True, text=True, timeout=TEST_TIMEOUT_S
    )
    assert done.stderr == ""
    assert done.stdout == "{\n"
