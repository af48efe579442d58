"""The one command of the how-to finds a policy that breaks its promise, wherever it breaks it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.how_to_policy import clone, law_command, policy_file

pytestmark = pytest.mark.long

BROKEN = {
    "bad from the beginning": (
        "self._n_links: Counter[int] = Counter()",
        "self._n_links: Counter[int] = Counter()\n        self._key = lambda page: page",
    ),
    "bad later": (
        "distance = self._distance.get(page, FAR) + 1",
        "distance = self._distance.get(page, FAR) + 1\n        self._key = lambda page: page",
    ),
    "kept in the class": ("self._n_links: Counter[int] = Counter()", "NearAndLinked._n_links = Counter()"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_the_command_finds_a_policy_that_breaks_its_promise(how: str, tmp_path: Path) -> None:
    before, after = BROKEN[how]
    code = policy_file()[1]
    assert code.count(before) == 1
    source = clone(tmp_path, code.replace(before, after))
    environment = {
        **os.environ,
        "PYTHONPATH": f"{source}:{tmp_path}",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTEST_ADDOPTS": "-x --tb=line",
    }
    done = subprocess.run(
        ["bash", "-c", law_command()], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed" in done.stdout, done.stdout
    if how != "kept in the class":
        assert "near-and-linked: _key is a function; a policy's state must be" in done.stdout, done.stdout
