"""The plug-ins of another package take part in every command."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import orienteer as ori
from orienteer.store.database import DatabaseView
from tests.conftest import random_web
from tests.exports.crawls import plain_crawl
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.plugins.commands import contract_tests, orienteer
from tests.ready_process import TEST_TIMEOUT_S
from tests.topics.small_topics import topic_file

pytestmark = pytest.mark.slow

NAMES = ("last-found", "first-pages", "last-pages", "long-text", "url-list", "adjacency")  # those with a contract
PACKAGE = "orienteer-example"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph, a crawl and a topic."""
    folder = tmp_path_factory.mktemp("world")
    random_web(np.random.default_rng(3), 60, with_hosts=True).save(folder / "web.npz")
    plain_crawl(folder / "crawl")
    topic_file(folder, 'kind = "long-text"', "words = 4", 'positive = ["long"]', 'negative = ["short"]')
    for name, text in (("long", "one two three four five"), ("short", "one")):
        (folder / name).mkdir()
        for k in range(3):
            (folder / name / f"{k}.html").write_text(f"<p>{text}")
    return folder


def test_they_are_listed_with_their_package(example: dict[str, str], folder: Path) -> None:
    found = json.loads(orienteer(example, "plugins", "--json", folder=folder).stdout)
    assert found["problems"] == []
    assert {(one["kind"], one["name"]) for one in found["plugins"]} == {
        ("policy", "last-found"), ("seed method", "first-pages"), ("seed method", "last-pages"),
        ("kind of topic", "long-text"), ("export format", "url-list"), ("graph format", "adjacency"),
        ("fetcher", "dictionary"), ("page hook", "shout"),
    }  # fmt: skip
    assert {(one["package"], one["version"]) for one in found["plugins"]} == {(PACKAGE, "0.3.0")}
    assert "The pages with the lowest ids." in {one["about"] for one in found["plugins"]}
    done = orienteer(example, "plugins", "--all", folder=folder)
    assert done.stderr == ""
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["policy", "last-found", PACKAGE, "0.3.0"] in [row[:4] for row in rows]
    assert ["policy", "certified", "orienteer"] in [row[:3] for row in rows]
    assert ["fetcher", "libcurl", "orienteer"] in [row[:3] for row in rows]


@pytest.mark.parametrize(
    ("command", "names"),
    [
        (["crawl"], ["last-found", "first-pages", "last-pages", "dictionary", "shout"]),
        (["simulate"], ["last-found", "adjacency"]),
        (["compare"], ["last-found"]),
        (["replay"], ["last-found"]),
        (["seeds"], ["first-pages", "last-pages"]),
        (["export"], ["url-list"]),
        (["import"], ["shout"]),
        (["graph", "info"], ["adjacency"]),
        (["graph", "convert"], ["adjacency"]),
    ],
)
def test_help_names_them(example: dict[str, str], folder: Path, command: list[str], names: list[str]) -> None:
    all_options = "--help-all" if command == ["crawl"] else "--help"
    said = orienteer(example, *command, all_options, folder=folder).stdout
    assert [name for name in names if name not in said] == []


def test_the_policy_crawls(example: dict[str, str], folder: Path) -> None:
    pages = {f"http://a.test/{k}": f"<a href=/{2 * k}><a href=/{2 * k + 1}>" for k in range(1, 8)}
    with FakeWeb(MadeSite(pages)) as web:
        command = ["crawl", "http://a.test/1", "-o", "live", "--policy", "last-found", "--budget", "3", "--json"]
        command += ["--connect-to", web.address, "--delay", "0", "--connections", "1", "--ignore-robots"]
        orienteer(example, *command, folder=folder)
    with DatabaseView(folder / "live" / "crawl.db") as database:
        assert database.urls.of_all([row.id for row in database.pages.fetched()]) == [
            f"http://a.test/{k}" for k in (1, 3, 7)
        ]


def test_the_policy_is_simulated_and_compared(example: dict[str, str], folder: Path) -> None:
    simulated = orienteer(
        example, "simulate", "web.npz", "--policy", "last-found:bias=-2", "--order-out", "order.txt", folder=folder
    )
    assert "last-found:bias=-2" in simulated.stdout
    assert len((folder / "order.txt").read_text().split()) > 10
    compared = orienteer(example, "compare", "web.npz", "--levels", "0.5", "--json", folder=folder)
    assert {"last-found", "certified"} <= {one["policy"] for one in json.loads(compared.stdout)["policies"]}


def test_the_seed_method_chooses(example: dict[str, str], folder: Path) -> None:
    orienteer(example, "seeds", "web.npz", "-k", "3", "--method", "last-pages", "--output", "seeds.txt", folder=folder)
    assert (folder / "seeds.txt").read_text().split() == ["59", "58", "57"]


def test_the_topic_scores_pages(example: dict[str, str], folder: Path) -> None:
    done = orienteer(example, "topic", "test", "topic.toml", "--json", folder=folder)
    assert json.loads(done.stdout)["f1"] == 1.0


def test_the_export_is_written(example: dict[str, str], folder: Path) -> None:
    orienteer(example, "export", "crawl", "--format", "url-list", "-o", "crawl.urls", folder=folder)
    assert (folder / "crawl.urls").read_text().split() == [f"http://a.org/{k}" for k in range(12)]
    done = orienteer(example, "export", "crawl", "--format", "url-lists", folder=folder, code=2)
    assert "no export format named 'url-lists'; did you mean 'url-list'?" in done.stderr


def test_the_graph_format_is_written_and_read(example: dict[str, str], folder: Path) -> None:
    orienteer(example, "graph", "convert", "web.npz", "web.adj", folder=folder)
    assert len(json.loads((folder / "web.adj").read_text())["links"]) == 60
    outputs = [
        orienteer(example, "graph", "info", *what, "--json", folder=folder).stdout
        for what in (["web.adj"], ["web.adj", "--format", "adjacency"])
    ]
    assert outputs[0] == outputs[1]
    assert json.loads(outputs[0])["n_links"] == ori.LinkGraph.load(folder / "web.npz").n_links
    (folder / "web.xyz").touch()
    done = orienteer(example, "graph", "info", "web.xyz", folder=folder, code=2)
    assert ".adj" in done.stderr


def test_the_fetcher_is_used_by_a_crawl(example: dict[str, str], folder: Path) -> None:
    html = [["Content-Type", "text/html"]]
    pages = {
        "http://a.example/": [200, html, "<title>Home</title><a href=/b>b</a><a href=/c>c</a>"],
        "http://a.example/b": [200, html, "The end."],
    }
    (folder / "pages.json").write_text(json.dumps(pages))
    command = ["crawl", "http://a.example/", "-o", "asked", "--fetcher", "dictionary:pages=pages.json", "--json"]
    report = json.loads(orienteer(example, *command, folder=folder).stdout)
    assert report["figures"]["outcomes"] == {"ok": 2, "http 404": 1}
    done = orienteer(example, *command[:3], "other", "--fetcher", "dictionary:pages=none.json", folder=folder, code=2)
    assert done.stderr == "orienteer: fetcher dictionary: pages is 'none.json'; there is no such file\n"
    assert not (folder / "other").exists()


def test_the_page_hook_is_run_by_its_name(example: dict[str, str], folder: Path) -> None:
    (folder / "page.json").write_text(json.dumps({"http://a.example/": [200, [], "<title>Ahoy there</title>"]}))
    command = [
        "crawl",
        "http://a.example/",
        "-o",
        "hooked",
        "--fetcher",
        "dictionary:pages=page.json",
        "--hook",
        "shout",
    ]
    report = json.loads(orienteer(example, *command, "--json", folder=folder).stdout)
    assert report["hook_failures"] == {}
    orienteer(example, "export", "hooked", "--format", "jsonl", folder=folder)
    (page,) = map(json.loads, (folder / "hooked.jsonl").read_text().splitlines())
    assert (page["fields"], page["tags"]) == ({"shouted": "AHOY THERE"}, ["loud"])


def test_the_fetcher_passes_the_contract_of_fetchers(example: dict[str, str]) -> None:
    said = contract_tests(example, "tests/plugins/fetcher_contract.py")
    assert re.search(r"^1\d passed", said, re.MULTILINE), said


NEED_NONE = [
    ["--help"],
    ["simulate", "web.npz", "--policy", "breadth-first", "--budget", "5"],
    ["seeds", "web.npz", "-k", "2"],
    ["export", "crawl", "--format", "sitemap", "-o", "sitemap.xml", "--force"],
]
ONE_BY_ONE = """
import contextlib, json, sys
from orienteer.cli.main import run
for arguments in json.loads(sys.argv.pop()):
    sys.argv[1:] = arguments
    with contextlib.suppress(SystemExit):
        run()
    imported = [name for name in sys.modules if name.startswith("orienteer_example")]
    print("imported:", *imported, file=sys.stderr)
"""


def test_commands_that_do_not_need_plugins_import_none(example: dict[str, str], folder: Path) -> None:
    """A process that has imported nothing runs one command after the other."""
    command = [sys.executable, "-c", ONE_BY_ONE, json.dumps(NEED_NONE)]
    done = subprocess.run(command, cwd=folder, env=example, capture_output=True, text=True, timeout=TEST_TIMEOUT_S)
    assert done.stderr == "imported:\n" * len(NEED_NONE)
    assert (folder / "sitemap.xml").exists()


@pytest.mark.parametrize("command", ["export", "seeds"])
def test_the_help_says_where_to_look(example: dict[str, str], folder: Path, command: str) -> None:
    done = orienteer(example, command, "--help", folder=folder)
    assert "orienteer plugins" in " ".join(done.stdout.replace("│", " ").split())


def test_they_keep_the_promises_of_their_kinds(example: dict[str, str], tmp_path: Path) -> None:
    """The contract tests of this checkout, over the names of the plug-ins."""
    report = tmp_path / "report.xml"
    modules = ["tests/contracts", "tests/exports/test_every_format.py", "tests/graph/formats/test_registry.py"]
    contract_tests(example, "-p", "no:randomly", *modules, "-k", " or ".join(NAMES), f"--junitxml={report}")
    for name in NAMES:
        assert report.read_text().count(f"[{name}") >= 4, f"the contract tests do not know {name}"
