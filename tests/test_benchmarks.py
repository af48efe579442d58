"""Every benchmark starts, and comes to its end: with tiny sizes, on generated data (`python -m benchmarks --tiny`)."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from benchmarks.__main__ import QUICK, RESULTS, SLOW
from tests.ready_process import ROOT, TEST_TIMEOUT_S, ReadyPopen

pytestmark = [pytest.mark.slow]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The temporary folder of all of them: they share generated webs."""
    return tmp_path_factory.mktemp("benchmarks")


@pytest.mark.parametrize("name", [*QUICK, *SLOW])
def test_a_benchmark_works(name: str, scratch: Path) -> None:
    before = RESULTS.read_bytes()
    command = [sys.executable, "-m", "tests.forking", "benchmarks", "--tiny", name]
    # Ray's sockets need a short path.
    environment = os.environ | {"TMPDIR": str(scratch), "RAY_TMPDIR": tempfile.gettempdir()}
    with ReadyPopen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        output, _ = process.communicate(timeout=TEST_TIMEOUT_S)
    said = output.decode() if isinstance(output, bytes) else output
    if "needs what is not here" in said:
        pytest.skip(said.splitlines()[-1])
    assert process.returncode == 0, said
    assert RESULTS.read_bytes() == before
