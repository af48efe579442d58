"""A user who may write only to the current folder: no cache, no home, a read-only installation."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import orienteer as ori
from orienteer.graph.synthetic import synthetic_web
from tests.cli.live_process import without_preparing
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite

pytestmark = pytest.mark.slow

UNPRIVILEGED_UID = 65534
SEED = "http://a.test/"
PAGES = {SEED: "".join(f"<a href=/{k}>{k}</a>" for k in range(8)) + "a page about trees"}
PAGES |= {f"http://a.test/{k}": f"<title>{k}</title><a href=/{(5 * k) % 8}>x</a> about trees" for k in range(8)}
NOTICE = "orienteer: warning: no cache folder can be written, so every run compiles again (see NUMBA_CACHE_DIR)\n"


def printed(stderr: str) -> str:
    """Remove progress lines, which are printed if a step takes long."""
    return "".join(line for line in stderr.splitlines(keepends=True) if not re.fullmatch(r"[\w ]+: \d+ %\n", line))


# May read everything, since the interpreter may be in a home folder, but write only as the user nobody.
_UNPRIVILEGED = ["setpriv", f"--reuid={UNPRIVILEGED_UID}", f"--regid={UNPRIVILEGED_UID}", "--clear-groups"]
_UNPRIVILEGED += ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]


class Visitor:
    """Runs commands as the user `nobody`, in a separate folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "tmp").mkdir()
        for place in (folder, folder / "tmp"):
            os.chown(place, UNPRIVILEGED_UID, UNPRIVILEGED_UID)
        source = Path(ori.__file__).parents[1]
        self._environment = {"HOME": "/nonexistent", "PATH": os.environ["PATH"], "PYTHONPATH": str(source)}
        self._environment |= {"PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(folder / "tmp")}

    def started(self, *words: object) -> subprocess.Popen[str]:
        command = [*_UNPRIVILEGED, sys.executable, "-P", "-m", "orienteer", *map(str, words)]
        return subprocess.Popen(
            command, cwd=self.folder, env=self._environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def run(self, *words: object) -> tuple[str, str]:
        """Return its stdout and stderr."""
        process = self.started(*words)
        stdout, stderr = process.communicate(timeout=200)
        assert process.returncode == 0, stderr
        assert list((self.folder / "tmp").iterdir()) == [], "nothing is left behind"
        return stdout, without_preparing(stderr)


@pytest.fixture(scope="module")
def visitor(tmp_path_factory: pytest.TempPathFactory) -> Visitor:
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("setpriv needs root")
    folder = tmp_path_factory.mktemp("visited")
    if subprocess.run([*_UNPRIVILEGED, "true"], capture_output=True).returncode != 0:
        pytest.skip("setpriv cannot grant dac_read_search here")
    return Visitor(folder)


@pytest.fixture(scope="module")
def crawled(visitor: Visitor) -> tuple[str, str]:
    with FakeWeb(MadeSite(PAGES)) as web:
        return visitor.run("crawl", SEED, "-o", "c", "--connect-to", web.address, "--delay", "0")


def test_a_crawl_ends_well_and_says_why_it_takes_longer(crawled: tuple[str, str]) -> None:
    stdout, stderr = crawled
    assert "9 fetched" in stdout
    assert printed(stderr) == NOTICE


@pytest.mark.usefixtures("crawled")
def test_it_is_indexed_searched_and_shown(visitor: Visitor) -> None:
    assert visitor.run("index", "c")[1] == "", "nothing was compiled, so nothing is said"
    assert "9 pages found" in visitor.run("search", "c", "trees")[0]
    assert "9 pages" in visitor.run("status", "c")[0]
    assert visitor.run("--version")[0].startswith("orienteer ")


@pytest.mark.usefixtures("crawled")
def test_it_is_served(visitor: Visitor) -> None:
    process = visitor.started("serve", "c", "--port", "0")
    try:
        assert process.stdout is not None
        assert "http://127.0.0.1:" in process.stdout.readline()
    finally:
        process.terminate()
        process.communicate()


def test_what_a_graph_needs_is_compiled_in_a_folder_that_is_gone_afterwards(visitor: Visitor) -> None:
    """A command that always compiles, with the fewest kernels."""
    synthetic_web(50).save(visitor.folder / "g.npz")
    stdout, stderr = visitor.run("graph", "info", "g.npz", "--json")
    assert '"n_pages": 50' in stdout
    assert printed(stderr) == NOTICE
