"""The cache of compiled kernels: when they are compiled again, and that no damage and no full disk ends anything."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from orienteer.kernel_cache import _VERSIONS
from tests.disk_limits import small_disk_at

pytestmark = pytest.mark.slow

PARTS = """
from orienteer.kernel import inlined
STEP = 1
@inlined
def stepped(x):
    return x + STEP
"""
WHOLE = """
from typing import NamedTuple
from orienteer.kernel import kernel
from constants import FACTOR
from parts import stepped
class Pair(NamedTuple):
    first: int
    second: int
@kernel
def whole(pair):
    return FACTOR * stepped(pair.first) + 100 * pair.second
"""
SCRIPT = """
import sys
from whole import Pair, whole
from orienteer.kernel_folder import folder
print(whole(Pair(first=1, second=3)), sum(whole.compiled.stats.cache_hits.values()), folder())
"""

# It has Numba ready, which takes longer than to compile, but no kernel; and forks for each line, which names a folder,
# files for the two streams, an environment and a script.
FORKING = """
import gc, json, os, sys
from collections import namedtuple
import numba
import orienteer.kernel_cache
numba.njit(lambda pair: 2 * pair.a + pair.b)(namedtuple("Pair", "a b")(1, 2))
gc.freeze()
for line in sys.stdin:
    folder, streams, environment, script = json.loads(line)
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        sys.path.insert(0, folder)
        os.environ.clear()
        os.environ.update(environment)
        for number, path in enumerate(streams, 1):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        exec(script, {"__name__": "__main__"})
        sys.exit()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def forking() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-B", "-c", FORKING]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(600) == 0


class Project:
    """A kernel of three modules, and what comes of it in a new process."""

    def __init__(self, folder: Path, forking: subprocess.Popen[str]) -> None:
        self.folder = folder
        self._forking = forking
        self.environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), "HOME": "/nonexistent"}
        self.environment.pop("XDG_CACHE_HOME", None)
        self.write("constants", "FACTOR = 10")
        self.write("parts", PARTS)
        self.write("whole", WHOLE)

    def write(self, module: str, text: str) -> None:
        (self.folder / f"{module}.py").write_text(text)

    def run(self) -> tuple[int, bool]:
        """The result, and whether the kernel was in the cache."""
        self.stdout, self.stderr = self.run_script(SCRIPT)
        result, n_hits, folder = self.stdout.split()
        self.used = Path(folder)
        return int(result), n_hits != "0"

    def run_script(self, script: str) -> tuple[str, str]:
        """What it writes to its two streams, with exit code 0."""
        streams = [self.folder / "stdout", self.folder / "stderr"]
        assert self._forking.stdin is not None
        assert self._forking.stdout is not None
        order = [str(self.folder), [str(path) for path in streams], self.environment, script]
        self._forking.stdin.write(json.dumps(order) + "\n")
        self._forking.stdin.flush()
        code = self._forking.stdout.readline()
        stdout, stderr = (path.read_text() for path in streams)
        assert code == "0\n", stderr
        return stdout, stderr

    def files(self) -> list[Path]:
        return sorted(path for path in (self.folder / "cache").rglob("*") if path.is_file())


@pytest.fixture
def project(tmp_path: Path, forking: subprocess.Popen[str]) -> Project:
    return Project(tmp_path, forking)


def test_a_kernel_is_compiled_once_and_again_after_a_change(project: Project) -> None:
    assert project.run() == (320, False)
    assert project.run() == (320, True)
    project.write("parts", PARTS.replace("STEP = 1", "STEP = 2"))  # a constant of a function it calls
    assert project.run() == (330, False)
    project.write("constants", "FACTOR = 20")  # a constant, from a module without kernels
    assert project.run() == (360, False)
    project.write("parts", PARTS.replace("x + STEP", "x - STEP"))  # the function itself
    assert project.run() == (300, False)
    project.write("whole", WHOLE.replace("    first: int\n    second: int", "    second: int\n    first: int"))
    assert project.run() == (300, False)
    assert project.run() == (300, True)


def test_several_versions_are_cached_and_the_oldest_are_removed(project: Project) -> None:
    assert project.run() == (320, False)
    project.write("constants", "FACTOR = 20")
    assert project.run() == (340, False)
    project.write("constants", "FACTOR = 10")
    assert project.run() == (320, True)
    for factor in range(30, 30 + _VERSIONS):
        project.write("constants", f"FACTOR = {factor}")
        assert project.run() == (300 + 2 * factor, False)
        assert len(project.files()) <= 2 * _VERSIONS
    assert project.run()[1]
    project.write("constants", "FACTOR = 20")
    assert project.run() == (340, False)


def test_damaged_files_are_compiled_again(project: Project) -> None:
    project.run()
    for spoil in (lambda content: b"", lambda content: content[:-9], _garbled):
        for path in project.files():
            content = path.read_bytes()
            path.write_bytes(spoil(content))
            assert project.run() == (320, False), path.name
            assert project.run() == (320, True), path.name
    assert project.stderr == ""


def _garbled(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes(byte ^ 0xFF for byte in content[middle : middle + 8]) + content[middle + 8 :]


def test_the_folder_is_this_users_alone(project: Project) -> None:
    (project.folder / "cache").mkdir(mode=0o777)
    (project.folder / "cache").chmod(0o777)
    project.run()
    assert project.used == project.folder / "cache" / "orienteer"
    assert stat.S_IMODE(project.used.stat().st_mode) == 0o700


@pytest.mark.parametrize("kind", ["writable for others", "a link", "another's", "a file"])
def test_a_folder_in_which_others_may_write_is_not_used(kind: str, project: Project) -> None:
    """Its files would be run as code."""
    project.run()
    place = project.used
    if kind == "writable for others":
        place.chmod(0o777)
    elif kind == "another's":
        if os.geteuid() != 0:
            pytest.skip("only root can give a folder to another user")
        os.chown(place, 65534, 65534)
    else:
        place.rename(place.with_name("target"))
        place.symlink_to("target") if kind == "a link" else place.write_text("")
    assert project.run() == (320, False)
    assert project.used.name.startswith("orienteer-kernels-"), "a temporary one is"
    assert not project.used.exists(), "and is gone"
    assert project.stderr.count("no cache folder can be written") == 1


def test_a_full_disk_ends_nothing(project: Project) -> None:
    with small_disk_at(project.folder / "cache", "8k"):  # less than a compiled kernel has
        assert project.run() == (320, False)
        assert project.run() == (320, False)
        assert project.stderr.count("compiled code cannot be cached: No space left on device") == 1


def test_without_any_folder_it_is_compiled_all_the_same(project: Project) -> None:
    script = f"import tempfile; tempfile.tempdir = '/nonexistent'\n{SCRIPT}"
    project.environment["NUMBA_CACHE_DIR"] = "/dev/null"
    stdout, stderr = project.run_script(script)
    assert stdout.split() == ["320", "0", "None"], stderr
    assert stderr.count("UserWarning") == 1
