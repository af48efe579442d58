"""Environments in which packages with plug-ins are installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugins.packages import HERE, environment, has_pip, install


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One plug-in of each kind."""
    return environment(_installed(tmp_path_factory.mktemp("example"), "example_package"))


@pytest.fixture(scope="session")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The same, and a package with everything that can be wrong with plug-ins."""
    return environment(_installed(tmp_path_factory.mktemp("faulty"), "example_package", "faulty_package"))


def _installed(into: Path, *packages: str) -> Path:
    if not has_pip():
        pytest.skip("there is no pip here to install a package with")
    for package in packages:
        install(HERE / package, into)
    return into
