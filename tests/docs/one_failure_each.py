"""A pytest plug-in: of what is tested by its name, no more tests run once one of them has failed.

PYTEST_ADDOPTS="-p tests.docs.one_failure_each" ONE_FAILURE_EACH="a b c" python -m pytest
"""

from __future__ import annotations

import os

import pytest

_failed: set[str] = set()


def _names_in(nodeid: str) -> set[str]:
    return {name for name in os.environ["ONE_FAILURE_EACH"].split() if name in nodeid}


def pytest_runtest_setup(item: pytest.Item) -> None:
    if _names_in(item.nodeid) & _failed:
        pytest.skip("it has failed before")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _failed.update(_names_in(report.nodeid))
