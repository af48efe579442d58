"""Environments in which packages with plug-ins are installed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.plugins.packages import HERE, environment, has_pip, install


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with one plug-in of each kind."""
    if not has_pip():
        pytest.skip("there is no pip here to install a package with")
    folder = tmp_path_factory.mktemp("example")
    install(HERE / "example_package", folder)
    return folder


@pytest.fixture(scope="session")
def example(installed: Path) -> dict[str, str]:
    """One plug-in of each kind."""
    return environment(installed)


@pytest.fixture(scope="session")
def faulty(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The same, and a package with everything that can be wrong with plug-ins."""
    folder = tmp_path_factory.mktemp("faulty")
    shutil.copytree(installed, folder, dirs_exist_ok=True)
    install(HERE / "faulty_package", folder)
    return environment(folder)
