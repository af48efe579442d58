"""The cache of compiled kernels: when they are compiled again, and that no damage and no full disk ends anything."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.small_disk import small_disk_at

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


class Project:
    """A kernel of three modules, and what comes of it in a new process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), "HOME": "/nonexistent"}
        self.environment.pop("XDG_CACHE_HOME", None)
        self.write("constants", "FACTOR = 10")
        self.write("parts", PARTS)
        self.write("whole", WHOLE)

    def write(self, module: str, text: str) -> None:
        (self.folder / f"{module}.py").write_text(text)

    def run(self) -> tuple[int, bool]:
        """The result, and whether the kernel was in the cache."""
        self.done = subprocess.run(
            [sys.executable, "-B", "-c", SCRIPT], cwd=self.folder, env=self.environment, capture_output=True, text=True
        )
        assert self.done.returncode == 0, self.done.stderr
        result, n_hits, folder = self.done.stdout.split()
        self.used = Path(folder)
        return int(result), n_hits != "0"

    def files(self) -> list[Path]:
        return sorted(path for path in (self.folder / "cache").rglob("*") if path.is_file())


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


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
    assert len(project.files()) == 2, "what is out of date does not pile up"


def test_damaged_files_are_compiled_again(project: Project) -> None:
    project.run()
    for spoil in (lambda content: b"", lambda content: content[:-9], _garbled):
        for path in project.files():
            content = path.read_bytes()
            path.write_bytes(spoil(content))
            assert project.run() == (320, False), path.name
            assert project.run() == (320, True), path.name
    assert project.done.stderr == ""


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
    """What stands in it would be run as code."""
    project.run()
    place = project.used
    if kind == "writable for others":
        place.chmod(0o777)
    elif kind == "another's":
        if os.geteuid() != 0:
            pytest.skip("only root can give a folder to another user")
        os.chown(place, 65534, 65534)
    else:
        place.rename(place.with_name("elsewhere"))
        place.symlink_to("elsewhere") if kind == "a link" else place.write_text("")
    assert project.run() == (320, False)
    assert project.used.name.startswith("orienteer-kernels-"), "a temporary one is"
    assert not project.used.exists(), "and is gone"
    assert project.done.stderr.count("no cache folder can be written") == 1


def test_a_full_disk_ends_nothing(project: Project) -> None:
    with small_disk_at(project.folder / "cache", "8k"):  # less than a compiled kernel has
        assert project.run() == (320, False)
        assert project.run() == (320, False)
        assert project.done.stderr.count("what was compiled cannot be kept: No space left on device") == 1


def test_without_any_folder_it_is_compiled_all_the_same(project: Project) -> None:
    script = f"import tempfile; tempfile.tempdir = '/nonexistent'\n{SCRIPT}"
    project.environment["NUMBA_CACHE_DIR"] = "/dev/null"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=project.folder, env=project.environment, capture_output=True, text=True
    )
    assert done.stdout.split() == ["320", "0", "None"], done.stderr
    assert done.stderr.count("UserWarning") == 1
