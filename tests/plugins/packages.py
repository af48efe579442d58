"""Packages with plug-ins, installed into a folder of their own that PYTHONPATH then names.

    python -m tests.plugins.packages PACKAGE INTO

A build backend such as hatchling would have to be downloaded, so the wheel is made here: an archive of the package and
of what pyproject.toml says. pip installs it as it does any other, without a network.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def install(package: Path, into: Path) -> None:
    """Install the package in a folder, in addition to its content."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile"]
        command += ["--disable-pip-version-check", "--root-user-action=ignore", "--target", str(into)]
        subprocess.run([*command, str(wheel(package, Path(folder)))], check=True, timeout=600)


def has_pip() -> bool:
    return find_spec("pip") is not None


def environment(*folders: Path) -> dict[str, str]:
    """The environment of a process that finds what is installed in these folders, and this checkout."""
    return {**os.environ, "PYTHONPATH": python_path(*folders, ROOT / "src"), "COLUMNS": "160"}


def python_path(*folders: Path) -> str:
    """Where Python looks for packages: in these folders, and then where this process does."""
    return os.pathsep.join(filter(None, [*map(str, folders), os.environ.get("PYTHONPATH", "")]))


def wheel(package: Path, into: Path) -> Path:
    """The package as a wheel, in a folder."""
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    distribution = f"{project['name'].replace('-', '_')}-{project['version']}"
    files = {path.relative_to(package).as_posix(): path.read_bytes() for path in package.glob("*/*.py")}
    info = f"{distribution}.dist-info"
    groups = project.get("entry-points", {}).items()
    points = "".join(f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in table.items()) for group, table in groups)
    about = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    kind = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    for name, text in (("METADATA", about), ("WHEEL", kind), ("entry_points.txt", points)):
        files[f"{info}/{name}"] = text.encode()
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"]).encode()
    path = into / f"{distribution}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


if __name__ == "__main__":
    install(Path(sys.argv[1]), Path(sys.argv[2]))
