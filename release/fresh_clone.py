"""Run the tests on fresh clones: `python -m release.fresh_clone`

A run clones the last commit into a new private folder with a home of its own, so there is no bytecode, no cache and no
compiled kernel, and calls `make test` there, in a random order whose seed is printed. The runs differ in their Python,
in their user (root also runs some as an ordinary user), and in whether ../shared is there; each pair of such values
occurs in some run, and there are at least three runs. A run takes several minutes longer than `make test`, because it
installs and compiles everything.

A table at the end says how each run ended; the output of each is in build/fresh-clone. Exit code 1: a run failed.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

from release.check import ROOT, interpreters

LOGS = ROOT / "build" / "fresh-clone"
SHARED = ROOT.parent / "shared"
UNPRIVILEGED_USER = 65_534  # the user id of `nobody` on Linux
_MIN_RUNS = 3
_PASSED_ON = ("PATH", "LANG", "TERM", "http_proxy", "https_proxy", "no_proxy")
_CLOSING = re.compile(r"^=+ (.*\b(?:passed|failed|error)\b.*?) =+$|^(\d+ (?:passed|failed).* in .*)$", re.MULTILINE)


class Run(NamedTuple):
    python: str
    as_root: bool
    with_shared: bool

    def __str__(self) -> str:
        user = "root" if self.as_root else "ordinary user"
        return f"{self.python}, {user}, {'with' if self.with_shared else 'without'} shared data"


def planned(every: list[Run]) -> list[Run]:
    """Choose few of these runs, the most different ones first, such that each pair of values occurs."""
    missing = {pair for run in every for pair in _pairs(run)}
    runs: list[Run] = []
    while missing or len(runs) < min(_MIN_RUNS, len(every)):
        best = max((run for run in every if run not in runs), key=lambda run: len(_pairs(run) & missing))
        runs.append(best)
        missing -= _pairs(best)
    return runs


def _pairs(run: Run) -> set[tuple[tuple[int, object], ...]]:
    return set(combinations(enumerate(run), 2))


def possible(python: str | None = None) -> list[Run]:
    """Return all runs that this machine and this user allow, those of ordinary users first; with this `python` only."""
    pythons = list(dict(sorted(interpreters())).values()) if python is None else [python]
    is_root = os.geteuid() == 0
    runs = [
        Run(python, as_root, with_shared)
        for as_root, python, with_shared in product((False, is_root), pythons, (SHARED.is_dir(), False))
        if as_root or not is_root or _is_public(Path(python))
    ]
    return list(dict.fromkeys(runs))


def _is_public(python: Path) -> bool:
    return all(folder.stat().st_mode & 0o001 for folder in python.resolve().parents)


def carry_out(run: Run, seed: int, log: Path, tests: list[str]) -> int:
    """Run `make test` in a new clone, with its output in the log; return the exit code."""
    user = UNPRIVILEGED_USER if os.geteuid() == 0 and not run.as_root else None
    with tempfile.TemporaryDirectory(prefix="orienteer-fresh-", ignore_cleanup_errors=True) as scratch:
        home, clone = Path(scratch) / "home", Path(scratch) / "work" / "clone"
        temporary = home / "tmp"
        for folder in (clone.parent, temporary):
            folder.mkdir(parents=True)
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, clone], check=True)
        if run.with_shared:
            (clone.parent / "shared").symlink_to(SHARED)
        if user is not None:
            for path in (Path(scratch), *Path(scratch).rglob("*")):
                os.chown(path, user, user, follow_symlinks=False)
        environment = {name: value for name, value in os.environ.items() if name in _PASSED_ON or name[:4] == "PIP_"}
        environment |= {"HOME": str(home), "TMPDIR": str(temporary)}
        options = shlex.join(["-rs", f"--randomly-seed={seed}", *tests])
        with log.open("w") as output:
            return subprocess.run(
                ["make", "test", f"PYTHON={run.python}", f"PYTEST={options}"],
                cwd=clone, env=environment, user=user, group=user, extra_groups=None if user is None else [],
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            ).returncode  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m release.fresh_clone", description="Test fresh clones.")
    parser.add_argument("--runs", type=int, help="the most runs to carry out (default: all)", metavar="N")
    parser.add_argument("--python", help="run the tests with this interpreter only")
    parser.add_argument("tests", nargs="*", help="files or folders of tests (default: all)", metavar="TESTS")
    options = parser.parse_args()
    runs = planned(possible(options.python))[: options.runs]
    if not runs:
        parser.error("nothing to run: no Python was found, or --runs is 0")
    LOGS.mkdir(parents=True, exist_ok=True)
    lines, code = [], 0
    for number, run in enumerate(runs, start=1):
        seed, log, started = random.randrange(1 << 31), LOGS / f"run-{number}.log", time.monotonic()
        print(f"{number} of {len(runs)}: {run}, seed {seed}", flush=True)
        ended = carry_out(run, seed, log, options.tests)
        said = _CLOSING.findall(log.read_text(errors="replace"))
        closing = "".join(said[-1]) if said else "no test was run"
        lines.append(f"{'ok    ' if ended == 0 else 'FAILED'}  {run}, seed {seed}: {closing}")
        print(f"  {closing} ({time.monotonic() - started:.0f} s in all)", flush=True)
        code = code or int(ended != 0)
    print("\n".join(["", *lines]))
    return code


if __name__ == "__main__":
    sys.exit(main())
