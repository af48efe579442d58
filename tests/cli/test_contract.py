"""Rules for all commands: one JSON document, exit codes, one line per error, completion."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import orienteer as ori
from orienteer.cli.main import command_line
from orienteer.search.indexing import update_index
from tests.cli.run import orienteer, orienteer_each
from tests.cli.test_help import COMMANDS, GROUPS
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite
from tests.imports.made_collections import response, write
from tests.ready_process import TEST_TIMEOUT_S, ReadyPopen
from tests.tables import over_rows
from tests.topics.small_topics import EXAMPLES, topic_file, write_examples

SRC = Path(ori.__file__).parent
A = "http://a.test"
PAGES = {f"{A}/": "<title>Home</title>words <a href=/1><a href=/2>", f"{A}/1": "<a href=/2>one", f"{A}/2": "two"}
TELLS_A_STORY = ["demo"]  # the only command without a result


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[list[str], Any]]:
    """All commands as they are registered."""
    if hasattr(command, "commands"):
        for name, child in command.commands.items():
            yield from leaves(child, (*path, name))
    else:
        yield list(path), command


REGISTERED = {" ".join(path): command for path, command in leaves(typer.main.get_command(command_line()))}


def options_of(command: Any) -> set[str]:
    return {option for parameter in command.params for option in parameter.opts}


def test_every_command_is_known_to_the_tests_of_the_help() -> None:
    assert set(REGISTERED) == {" ".join(command) for command in COMMANDS if command and command not in GROUPS}


@over_rows("name", sorted(set(REGISTERED) - set(TELLS_A_STORY)))
def test_every_command_speaks_to_machines(name: str) -> None:
    assert "--json" in options_of(REGISTERED[name])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """A web, a crawl of it with an index, a graph, a topic, a trained policy's example."""
    folder = tmp_path_factory.mktemp("contract")
    write(folder / "x.warc", [response(url, html) for url, html in PAGES.items()])
    ori.import_crawl(folder / "x.warc", folder / "crawl")
    update_index(folder / "crawl")
    ori.LinkGraph.from_links(4, [0, 0, 1, 2], [1, 2, 3, 0]).save(folder / "web.npz")
    (folder / "local.txt").write_text("0\n1\n")
    (folder / "crawls").mkdir()
    write_examples(folder)
    topic_file(folder, 'kind = "linear"', *EXAMPLES, name="topic.toml")
    topic_file(folder, 'kind = "keywords"', 'words = ["words"]', "enough = 1", name="words.toml")
    with FakeWeb(MadeSite(PAGES)) as web:
        yield {"folder": folder, "web": web}


Made = Callable[[Path, FakeWeb], list[object]]
RUNS: dict[str, Made] = {
    "crawl": lambda folder, web: [
        f"{A}/", "-o", folder / "new", "--connect-to", web.address, "--delay", "0", "--ignore-robots",
    ],
    "import": lambda folder, web: [folder / "x.warc", "-o", folder / "imported"],
    "refresh": lambda folder, web: ["--library", folder / "crawls", "--due"],
    "schedule": lambda folder, web: ["--library", folder],
    "status": lambda folder, web: [folder / "crawl"],
    "changes": lambda folder, web: [folder / "crawl"],
    "upload": lambda folder, web: [folder / "crawl", "--archive-to", f"file://{folder}/drive"],
    "explain": lambda folder, web: [folder / "crawl", f"{A}/1"],
    "replay": lambda folder, web: [folder / "crawl"],
    "verify": lambda folder, web: [folder / "crawl"],
    "certificate": lambda folder, web: [folder / "crawl"],
    "report": lambda folder, web: [folder / "crawl"],
    "repair": lambda folder, web: [folder / "crawl"],
    "seeds": lambda folder, web: [folder / "crawl", "-k", "1"],
    "estimate": lambda folder, web: [folder / "crawl", "--budget", "0"],
    "survey": lambda folder, web: [folder / "crawl"],
    "index": lambda folder, web: [folder / "crawl"],
    "search": lambda folder, web: [folder / "crawl", "words"],
    "export": lambda folder, web: [folder / "crawl", "--format", "jsonl", "-o", folder / "pages.jsonl"],
    "simulate": lambda folder, web: [folder / "web.npz", "--policy", "certified"],
    "compare": lambda folder, web: [folder / "web.npz"],
    "compare-seeds": lambda folder, web: [folder / "web.npz", "-k", "2", "--hops", "2"],
    "plugins": lambda folder, web: [],
    "jobs": lambda folder, web: ["--library", folder / "crawls"],
    "graph info": lambda folder, web: [folder / "web.npz"],
    "graph convert": lambda folder, web: [folder / "web.npz", folder / "web.csv"],
    "graph generate": lambda folder, web: [folder / "made", "--pages", "100"],
    "graph survey": lambda folder, web: [folder / "web.npz", "--fetched", folder / "local.txt", "--trust", "ids:0"],
    "graph estimate": lambda folder, web: [folder / "web.npz", "--pages", folder / "local.txt"],
    "topic train": lambda folder, web: [folder / "topic.toml"],
    "topic compare": lambda folder, web: [folder / "crawl", "--topic", folder / "words.toml"],
    "topic test": lambda folder, web: [folder / "topic.toml", "--folds", "3"],
    "topic train-policy": lambda folder, web: [
        "apprentice", folder / "crawl", "--topic", folder / "words.toml", "-o", folder / "apprentice.npz",
    ],
}  # fmt: skip


def test_every_command_prints_one_json_document(world: dict[str, Any]) -> None:
    folder, web = world["folder"], world["web"]
    assert set(RUNS) == set(REGISTERED) - {*TELLS_A_STORY, "serve", "mcp", "stop"}  # these have tests of their own
    commands = [[*name.split(), *made(folder, web), "--json"] for name, made in RUNS.items()]
    for command, done in zip(commands, orienteer_each(commands), strict=True):
        assert done.returncode == 0, (command, done)
        assert isinstance(json.loads(done.stdout), dict), command
        assert done.stderr == "", command


def test_serve_says_where_it_is(world: dict[str, Any]) -> None:
    command = [sys.executable, "-m", "orienteer", "serve", str(world["folder"] / "crawl"), "--port", "0", "--json"]
    with ReadyPopen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        text = ""
        while not text.endswith("}\n"):
            text += process.stdout.readline()
        facts = json.loads(text)
        process.terminate()
        process.communicate(timeout=TEST_TIMEOUT_S)
    assert facts["address"] == f"http://127.0.0.1:{facts['port']}/"


# -- exit codes and lines ---------------------------------------------------------------------------------------


def test_bad_usage_of_any_command_is_one_line_and_exit_code_2() -> None:
    commands: list[list[object]] = [[*name.split(), "--no-such-option"] for name in REGISTERED]
    commands += [
        ["nothing"],
        ["graph", "nothing"],
        ["--nothing"],
        ["search"],
        ["import", "x"],
        ["seeds", "x", "-k", "y"],
    ]
    for command, done in zip(commands, orienteer_each(commands), strict=True):
        assert done.returncode == 2, command
        assert done.stdout == ""
        assert done.stderr.startswith("orienteer: ")
        assert done.stderr.count("\n") == 1
        assert re.search(r"\(see orienteer.* --help\)\n", done.stderr)


def test_what_is_not_there_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    more: dict[str, list[object]] = {
        "explain": [f"{A}/"], "search": ["x"], "export": ["--format", "jsonl"], "import": ["-o", tmp_path / "new"],
        "graph convert": [tmp_path / "x.csv"], "graph survey": ["--fetched", "x"], "graph estimate": ["--pages", "x"],
        "topic compare": ["--labels", "x"],
    }  # fmt: skip
    names = set(REGISTERED) - {"demo", "plugins", "graph generate", "topic train-policy"}
    commands = [[*name.split(), nowhere, *more.get(name, [])] for name in sorted(names)]
    for command, done in zip(commands, orienteer_each(commands), strict=True):
        assert done.returncode == 2, (command, done)
        assert done.stdout == ""
        assert done.stderr.startswith("orienteer: ")
        assert done.stderr.count("\n") == 1, done
        assert "nowhere" in done.stderr or str(nowhere)[:40] in done.stderr, "a long value is shortened"
    assert list(tmp_path.iterdir()) == []


def test_a_goal_that_was_not_reached_is_exit_code_3(world: dict[str, Any]) -> None:
    folder = world["folder"]
    commands = [
        ["simulate", folder / "web.npz", "--policy", "breadth-first", "--until", "0.999999", "--budget", "1"],
        ["replay", folder / "crawl", "--until", "0.999", "--budget", "1"],
    ]
    assert [done.returncode for done in orienteer_each(commands)] == [3, 3]


def test_the_exit_codes_are_documented() -> None:
    printed = " ".join(orienteer("--help").stdout.split())
    readme = " ".join((Path(__file__).parents[2] / "README.md").read_text().split())
    for text in (printed, readme):
        assert "0, success; 2, bad usage or bad input" in text
        assert "3, goal not reached; 130, interrupted by Ctrl-C; 143, by SIGTERM" in text


def test_without_a_command_it_prints_the_first_steps() -> None:
    done = orienteer()
    assert len(done.stdout.splitlines()) == 3
    assert all(f"orienteer {command}" in done.stdout for command in ("crawl", "search", "serve", "--help"))


# -- the environment --------------------------------------------------------------------------------------------


def test_no_environment_variable_is_read() -> None:
    for name, command in REGISTERED.items():
        assert all(not parameter.envvar for parameter in command.params), name
    # Exceptions: Numba's folder of compiled kernels, the XDG directories of the user, the credentials of AWS and Ray,
    # variables that a credentials file names, and the environment of child processes.
    passing = {SRC / "kernel_folder.py", SRC / "files" / "plain.py", *(SRC / "processes").glob("*.py")}
    passing |= {SRC / "store" / "object_store.py", *(SRC / "workers").glob("ray_*.py")}
    passing.add(SRC / "credentials" / "credentials_file.py")
    for path in set(SRC.rglob("*.py")) - passing:
        text = path.read_text()
        assert "os.environ" not in text, path
        assert "getenv" not in text, path
        if SRC / "scrapy" not in path.parents:  # which has settings of Scrapy with such names
            assert set(re.findall(r"_?ORIENTEER_[A-Z]+", text)) <= {"_ORIENTEER_COMPLETE"}, path


def completed(*words: str) -> list[str]:
    """Return the completions for a command line of these words."""
    environment = {**os.environ, "_ORIENTEER_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(("orienteer", *words))}
    environment["COMP_CWORD"] = str(len(words))
    command = [sys.executable, "-m", "orienteer"]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=TEST_TIMEOUT_S
    ).stdout.split()


def test_commands_and_options_are_completed() -> None:
    assert completed("imp") == ["import"]
    assert completed("graph", "") == ["info", "convert", "generate", "survey", "estimate"]
    assert completed("crawl", "--pol") == ["--policy"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_each_shell(shell: str, tmp_path: Path) -> None:
    environment = {**os.environ, "_ORIENTEER_COMPLETE": f"source_{shell}"}
    done = subprocess.run(
        [sys.executable, "-m", "orienteer"], env=environment, capture_output=True, text=True, timeout=TEST_TIMEOUT_S
    )
    assert f"_ORIENTEER_COMPLETE=complete_{shell}" in done.stdout
    program = shutil.which(shell)
    if program is not None:
        (tmp_path / "script").write_text(done.stdout)
        subprocess.run(
            [program, "-n", str(tmp_path / "script")], check=True, timeout=TEST_TIMEOUT_S
        )  # its syntax is right


def test_a_shell_can_ask_for_its_script() -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash here")
    script = f"{sys.executable} -m orienteer --show-completion; exit $?"
    done = subprocess.run([bash, "-c", script], capture_output=True, text=True, timeout=TEST_TIMEOUT_S)
    assert done.returncode == 0
    assert "complete -o default -F _orienteer_completion orienteer" in done.stdout
