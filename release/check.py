"""Check that this checkout can be released: `make release-check`, or `python -m release.check`.

1. The version and its date are the same wherever they are written.
2. A wheel and an sdist are built, and hold what they should: nothing is missing, nothing is there by accident.
3. The wheel is installed in a new environment, once for each Python that it supports and that is on this machine.
   There, far from the checkout, `orienteer --version` and `orienteer demo` must work.

Everything happens in build/release, which is recreated. Packages come from the index that pip is set up to use; nothing
is published. A table at the end says what was found. Exit code 1: something is wrong.
"""

from __future__ import annotations

import email
import os
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "release"
OLDEST = (3, 11)
# What an environment has before anything is installed in it.
STATIC_FOLDERS = {"pip", "setuptools", "wheel"}
IN_SDIST = ("src/", "docs/", "experiments/")
TOP_LEVEL_FILES = {
    "ARCHITECTURE.md", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md",
    "pyproject.toml",
}  # fmt: skip
BY_THE_BUILD = {"PKG-INFO", ".gitignore"}


class Row(NamedTuple):
    """A row of the final table."""

    what: str
    found: str
    problems: list[str]


# ---- What is written ----


def version_problems(texts: dict[str, str]) -> list[str]:
    """Return the files whose version or date differs from the others; `texts` are files by their paths."""
    found = re.search(r'^__version__ = "(.+)"$', texts["src/orienteer/__init__.py"], re.MULTILINE)
    if found is None:
        return ["src/orienteer/__init__.py has no __version__"]
    version = found[1]
    heading = re.search(r"^## (.+)$", texts["CHANGELOG.md"], re.MULTILINE)
    title = heading[1] if heading else "nothing"
    named = re.fullmatch(rf"{re.escape(version)} \((\d{{4}}-\d\d-\d\d)\)", title)
    problems = [] if named else [f"CHANGELOG.md begins with {title!r}, not with '{version} (YYYY-MM-DD)'"]
    expected = {"version": version} | ({"date-released": named[1]} if named else {})
    for key, value in expected.items():
        cited = re.search(rf"^{key}: (.+)$", texts["CITATION.cff"], re.MULTILINE)
        if cited is None or cited[1] != value:
            problems.append(f"CITATION.cff has the {key} {cited[1] if cited else None}, not {value}")
    return problems


# ---- What was built ----


def wheel_problems(names: set[str], tracked: set[str]) -> list[str]:
    """Return the missing and superfluous files of a wheel, which has the tracked files of src/ and its metadata."""
    expected = {name.removeprefix("src/") for name in tracked if name.startswith("src/")}
    notes = {name for name in names if re.match(r"orienteer-[^/]+\.dist-info/", name)}
    licences = {name.partition("/licenses/")[2] for name in notes} - {""}
    unlicensed = {name for name in tracked if name == "LICENSE" or re.match(r"src/.*/LICENSE$", name)} - licences
    return [
        *(f"not in the wheel: {name}" for name in sorted(expected - names)),
        *(f"should not be in the wheel: {name}" for name in sorted(names - expected - notes)),
        *(f"not among the licences of the wheel: {name}" for name in sorted(unlicensed)),
    ]


def sdist_problems(names: set[str], tracked: set[str]) -> list[str]:
    """Return the same for an sdist, which has all files to build the wheel and to read the documents, and no tests."""
    expected = {name for name in tracked if name.startswith(IN_SDIST) or name in TOP_LEVEL_FILES} | TOP_LEVEL_FILES
    return [
        *(f"not in the sdist: {name}" for name in sorted(expected - names)),
        *(f"should not be in the sdist: {name}" for name in sorted(names - expected - BY_THE_BUILD)),
    ]


def metadata_problems(metadata: Message, version: str) -> list[str]:
    """Return the errors in the metadata that a package index displays."""
    expected = {
        "Name": "orienteer",
        "Version": version,
        "Requires-Python": f">={OLDEST[0]}.{OLDEST[1]}",
        "License-Expression": "Apache-2.0 AND 0BSD",
        "Description-Content-Type": "text/markdown",
    }
    problems = [f"{key} is {metadata[key]}, not {value}" for key, value in expected.items() if metadata[key] != value]
    if not str(metadata.get_payload()).startswith("# Orienteer\n"):
        problems.append("the description is not README.md")
    return problems


def build(tools: Path) -> tuple[Path, Path]:
    """Build the sdist, and the wheel from the sdist, which proves that the sdist is complete."""
    run([tools, "-m", "build", "--outdir", WORK / "dist", ROOT])
    (wheel,), (sdist,) = (WORK / "dist").glob("*.whl"), (WORK / "dist").glob("*.tar.gz")
    return wheel, sdist


def built_rows(wheel: Path, sdist: Path, tools: Path, version: str) -> Iterator[Row]:
    tracked = set(run(["git", "ls-files"], cwd=ROOT).splitlines())
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
        notes = next(name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_string(archive.read(notes).decode("utf-8"))
    yield Row(wheel.name, _size(wheel, names), wheel_problems(names, tracked))
    with tarfile.open(sdist) as archive:
        names = {member.name.partition("/")[2] for member in archive if not member.isdir()}
    yield Row(sdist.name, _size(sdist, names), sdist_problems(names, tracked))
    needed = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
    yield Row("metadata", f"{version}, {len(needed)} requirements", metadata_problems(metadata, version))
    checked = subprocess.run(
        [tools, "-m", "twine", "check", "--strict", wheel, sdist], capture_output=True, text=True, env=_plain_terminal()
    )
    wrong = [line for line in checked.stdout.splitlines() if "PASSED" not in line] if checked.returncode else []
    yield Row("twine check --strict", "README renders", wrong)


def _size(path: Path, names: set[str]) -> str:
    return f"{path.stat().st_size / 1e6:.1f} MB, {len(names):,} files"


# ---- What is installed ----


def pythons() -> dict[tuple[int, int], str]:
    """Return an interpreter for each supported version: the first one found."""
    chosen: dict[tuple[int, int], str] = {}
    for (major, minor, _), path in interpreters():
        chosen.setdefault((major, minor), path)
    return dict(sorted(chosen.items()))


def interpreters() -> Iterator[tuple[tuple[int, int, int], str]]:
    """Yield the supported interpreters on PATH and in pyenv that can create environments, with their versions."""
    places = [Path(place) for place in os.environ["PATH"].split(os.pathsep)]
    named = [path for place in places for path in sorted(place.glob("python3.*"))]
    found = [path for path in named if path.suffix[1:].isdecimal()]  # no python3.11-config
    found += sorted(Path.home().glob(".pyenv/versions/*/bin/python"), reverse=True)
    say = "import sys, ensurepip; print(*sys.version_info[:3], sys.executable)"  # ensurepip creates environments
    for path in found:
        done = subprocess.run([path, "-c", say], capture_output=True, text=True)
        if done.returncode == 0:
            *version, executable = done.stdout.split(maxsplit=3)
            major, minor, micro = map(int, version)
            if (major, minor) >= OLDEST:
                yield (major, minor, micro), executable.strip()


def installed_row(python: str, label: str, wheel: Path, version: str) -> Row:
    """Install the wheel alone and use it, without access to the checkout; return the result."""
    environment = WORK / f"python-{label}"
    tried = f"Python {label}"
    try:
        here = new_environment(python, environment)
        run([here, "-m", "pip", "install", "--quiet", wheel])
        packages, size_mb = installed(here)
        with tempfile.TemporaryDirectory() as folder:
            cpu_s = use(environment, Path(folder), version)
    except subprocess.CalledProcessError as error:
        said = f"{error.stdout}{error.stderr}".strip().splitlines()
        return Row(tried, "failed", [f"{' '.join(map(str, error.cmd))}: {line}" for line in said[-3:] or ["no output"]])
    except WrongOutput as error:
        return Row(tried, "failed", [str(error)])
    finally:
        shutil.rmtree(environment, ignore_errors=True)
    return Row(tried, f"{packages} packages, {size_mb:,.0f} MB without extras; demo: {cpu_s:.0f} s of CPU time", [])


class WrongOutput(Exception):
    """A command succeeded, but its output is wrong."""


def use(environment: Path, folder: Path, version: str) -> float:
    """Run the installed package with an empty home and without our settings; return the CPU seconds of the demo."""
    orienteer = environment / "bin" / "orienteer"
    settings = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8", "COLUMNS": "100"}
    said = run([orienteer, "--version"], cwd=folder, env=settings).strip()
    if said != f"orienteer {version}":
        raise WrongOutput(f"orienteer --version says {said!r}")
    where = "import orienteer; print(orienteer.__file__)"
    home = run([environment / "bin" / "python", "-c", where], cwd=folder, env=settings).strip()
    if not Path(home).is_relative_to(environment):
        raise WrongOutput(f"orienteer was imported from {home}")
    before = _children_cpu_s()
    story = run([orienteer, "demo", "--output", folder / "town"], cwd=folder, env=settings)
    spent = _children_cpu_s() - before
    if "98 %" not in story:
        raise WrongOutput("orienteer demo did not come to 98 %")
    found = run([orienteer, "search", folder / "town", "iron bridge", "-n", "3"], cwd=folder, env=settings)
    if "The iron bridge" not in found:
        raise WrongOutput(f"orienteer search does not find the iron bridge, but: {found}")
    return spent


def installed(python: Path) -> tuple[int, float]:
    """Return the number of installed packages and their size in MB, without those of every environment."""
    site = Path(run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip())
    listed = run([python, "-m", "pip", "list", "--format", "freeze"]).splitlines()
    packages = [line for line in listed if line.partition("==")[0] not in STATIC_FOLDERS]
    files = [
        path for path in site.rglob("*") if path.relative_to(site).parts[0].partition("-")[0] not in STATIC_FOLDERS
    ]
    return len(packages), sum(path.stat().st_size for path in files if path.is_file()) / 1e6


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# ---- What both need ----


def new_environment(python: str, folder: Path) -> Path:
    """Create a virtual environment and return its interpreter."""
    run([python, "-m", "venv", folder])
    return folder / "bin" / "python"


def run(command: list[str | Path], cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    """Run a command and return its output; a CalledProcessError has the output of one that failed."""
    settings = _plain_terminal() if env is None else env
    return subprocess.run(command, cwd=cwd, env=settings, capture_output=True, text=True, check=True).stdout


def _plain_terminal() -> dict[str, str]:
    """Return the user's environment without variables by which a checkout could be imported."""
    return {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")} | {
        "NO_COLOR": "1", "COLUMNS": "200", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }  # fmt: skip


def table(rows: list[Row]) -> str:
    """Return the rows with their verdicts, followed by the problems."""
    what, found = (max(len(row[k]) for row in rows) for k in (0, 1))
    lines = [f"{row.what:{what}}   {row.found:{found}}   {'FAILED' if row.problems else 'ok'}" for row in rows]
    wrong = [f"  {row.what}: {problem}" for row in rows for problem in row.problems]
    end = f"{len(wrong)} problems:" if wrong else "Fit to be released."
    return "\n".join([*lines, "", end, *wrong])


def main() -> int:
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    named = ("src/orienteer/__init__.py", "CHANGELOG.md", "CITATION.cff")
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in named}
    rows = [Row("version and date", ", ".join(named), version_problems(texts))]
    print("building", flush=True)
    tools = new_environment(sys.executable, WORK / "tools")
    run([tools, "-m", "pip", "install", "--quiet", "build", "twine"])
    wheel, sdist = build(tools)
    version = wheel.name.split("-")[1]
    rows += built_rows(wheel, sdist, tools, version)
    found = pythons()
    if not found:
        rows.append(Row("Python", "none", ["no Python that is supported was found, so nothing was installed"]))
    for (major, minor), python in found.items():
        print(f"installing for Python {major}.{minor}", flush=True)
        rows.append(installed_row(python, f"{major}.{minor}", wheel, version))
    print(f"\n{table(rows)}")
    return 1 if any(row.problems for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
