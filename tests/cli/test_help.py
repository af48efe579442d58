from __future__ import annotations

import subprocess
import sys

from tests.cli.run import orienteer
from tests.tables import over_rows

COMMANDS = [
    [],
    ["demo"],
    ["crawl"],
    ["refresh"],
    ["schedule"],
    ["import"],
    ["status"],
    ["changes"],
    ["stop"],
    ["jobs"],
    ["upload"],
    ["explain"],
    ["replay"],
    ["verify"],
    ["certificate"],
    ["report"],
    ["repair"],
    ["seeds"],
    ["estimate"],
    ["survey"],
    ["index"],
    ["search"],
    ["serve"],
    ["mcp"],
    ["export"],
    ["simulate"],
    ["compare"],
    ["compare-seeds"],
    ["plugins"],
    ["graph"],
    ["graph", "info"],
    ["graph", "convert"],
    ["graph", "generate"],
    ["graph", "survey"],
    ["graph", "estimate"],
    ["topic"],
    ["topic", "train"],
    ["topic", "train-policy"],
    ["topic", "test"],
    ["topic", "compare"],
]
GROUPS = (["graph"], ["topic"])


@over_rows("command", COMMANDS, ids=" ".join)
def test_every_command_has_help_and_leaf_commands_an_example(command: list[str]) -> None:
    done = orienteer(*command, "--help")
    assert "Usage:" in done.stdout
    if command and command not in GROUPS:
        assert f"Example: orienteer {' '.join(command)}" in done.stdout
    assert "<bool>" not in done.stdout


def test_help_imports_nothing_heavy() -> None:
    """Help must be fast: no NumPy, no Numba, nothing compiled."""
    script = (
        "import sys; sys.argv = ['orienteer', '--help']\n"
        "from orienteer.cli.main import run\n"
        "try: run()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'numba', 'scipy', 'pyarrow', 'networkx', 'turbohtml', 'matplotlib', 'sklearn', 'tantivy'}\n"
        "heavy = (heavy | {'fastapi', 'uvicorn', 'jinja2'}) & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_version_is_the_package_version() -> None:
    from importlib.metadata import version

    done = subprocess.run([sys.executable, "-m", "orienteer", "--version"], capture_output=True, text=True)
    assert done.stdout.strip() == f"orienteer {version('orienteer')}"
