"""The one command of the how-to finds policies that break their promise, wherever they break it."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from tests.docs.how_to_policy import NAME, clone, law_command, policy_file
from tests.plugins.packages import python_path
from tests.ready_process import ReadyProcess

pytestmark = pytest.mark.slow

BROKEN = {
    "bad-from-the-beginning": (
        "self._n_links: Counter[int] = Counter()",
        "self._n_links: Counter[int] = Counter()\n        self._key = lambda page: page",
    ),
    "bad-later": (
        "distance = self._distance.get(page, FAR) + 1",
        "distance = self._distance.get(page, FAR) + 1\n        self._key = lambda page: page",
    ),
    "kept-in-the-class": ("self._n_links: Counter[int] = Counter()", "NearAndLinked._n_links = Counter()"),
}
NAMES = [f"{NAME}-{how}" for how in BROKEN]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the command says of a clone with all of them, each up to its first failure."""
    folder = tmp_path_factory.mktemp("broken")
    place, code = policy_file()
    source = clone(folder, code)
    (folder / place).unlink()
    for name, (before, after) in zip(NAMES, BROKEN.values(), strict=True):
        assert code.count(before) == code.count(f'"{NAME}"') == 1
        broken = code.replace(before, after).replace(f'"{NAME}"', f'"{name}"')
        (folder / place).with_name(f"{name.replace('-', '_')}.py").write_text(broken, encoding="utf-8")
    environment = {
        **os.environ,
        "PYTHONPATH": python_path(source, folder),
        "PATH": f"{folder}:{os.environ['PATH']}",
        "PYTEST_ADDOPTS": "--tb=line -rf -p tests.docs.one_failure_each",
        "ONE_FAILURE_EACH": " ".join(NAMES),
        "COLUMNS": "300",
    }
    (folder / "python").write_text(ReadyProcess("tests.docs.clone", environment=environment).python())
    (folder / "python").chmod(0o755)
    done = subprocess.run(
        ["bash", "-c", law_command()], cwd=folder, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_the_command_finds_a_policy_that_breaks_its_promise(name: str, said: str) -> None:
    failures = [line for line in said.splitlines() if line.startswith("FAILED ") and name in line]
    assert len(failures) == 1, said
    if not name.endswith("kept-in-the-class"):
        assert re.search(rf"{name}: _key cannot be saved \(.*lambda.*\); a policy's state must be", said), said
