"""The documents name things that exist."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.cli.test_help import COMMANDS, GROUPS
from tests.tables import over_rows

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    *("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"),
    *sorted(
        path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md") if "reference" not in path.parts
    ),
]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@over_rows("name", DOCUMENTS)
def test_paths_named_in_the_documents_exist(name: str) -> None:
    text = FENCED.sub("", (ROOT / name).read_text())
    linked = re.findall(r"\]\(([^)#:]+)\)", text)
    quoted = re.findall(r"`((?:src|tests|benchmarks|docs|\.ci)/[\w./-]*|[\w]+\.(?:md|toml))`", text)
    for path in linked + quoted:
        if (ROOT / name).parent.joinpath(path).resolve().is_relative_to(ROOT / "docs" / "reference"):
            continue  # written when the site is built; test_site follows the links there
        assert (ROOT / path).exists() or ((ROOT / name).parent / path).exists(), f"{name} names {path}"


@over_rows("name", DOCUMENTS)
def test_make_targets_named_in_the_documents_exist(name: str) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for target in re.findall(r"`?make ([a-z-]+)`", (ROOT / name).read_text()):
        assert target in targets


def commands_in_documents() -> list[str]:
    found = set()
    for name in DOCUMENTS:
        for line in (ROOT / name).read_text().splitlines():
            for command in re.findall(r"(?:^|`)\s*(?:\.venv/bin/)?(orienteer(?: [a-z]+)+)", line):
                found.add(command)
    return sorted(found)


def test_commands_named_in_the_documents_exist() -> None:
    commands = commands_in_documents()
    assert len(commands) >= 20
    for command in commands:
        words = command.split()[1:]
        assert words[:2] in COMMANDS or (words[:1] in COMMANDS and words[:1] not in GROUPS), command


def options_by_command() -> dict[str, set[str]]:
    import typer.main

    from orienteer.cli import main

    found: dict[str, set[str]] = {}
    waiting = [("orienteer", typer.main.get_command(main.command_line()))]
    while waiting:
        path, command = waiting.pop()
        found[path] = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
        waiting += [(f"{path} {name}", child) for name, child in getattr(command, "commands", {}).items()]
    return found


def test_options_named_with_a_command_are_options_of_that_command() -> None:
    options = options_by_command()
    n_named = 0
    for name in DOCUMENTS:
        text = re.sub(r"\\\n\s*", " ", (ROOT / name).read_text())
        for command, rest in re.findall(r"(orienteer (?:graph |topic )?[a-z-]+)([^`|\n]*)", text):
            for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", rest):
                if command in options and option != "--help":
                    assert option in options[command], f"{name}: {command} has no {option}"
                    n_named += 1
    assert n_named >= 100


def test_no_document_or_source_names_this_machine() -> None:
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    home = str(ROOT.parent)
    if home in ("/", "/tmp"):
        pytest.skip("the path of the checkout is too short to be recognized")
    for file in files:
        assert f"{home}/" not in (ROOT / file).read_text(errors="replace"), file
