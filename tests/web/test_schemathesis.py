"""The API as its own OpenAPI describes it: statuses, types and shapes, under requests that schemathesis makes up."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests import external_tools
from tests.cli.test_serve_command import serving

pytestmark = pytest.mark.slow

N_EXAMPLES = settings().max_examples // 6
TEST_TIMEOUT_S = 600
# What OpenAPI cannot say: a value of the right kind may still be unusable (400), name nothing (404), or come at the
# wrong time (409). A value of the wrong kind may be refused for its length, before it is parsed.
CONFIG = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", 400, 404, 409, 503]

[checks.negative_data_rejection]
expected-statuses = [400, 404, 405, 409, 413, 414, 422]
"""
NEVER_ENDS = ("--exclude-path", "/api/crawl/events")
# These start processes: crawls, of whatever a request names.
RESUMES_A_CRAWL = ("--exclude-path", "/api/crawl/resume")
STARTS_A_JOB = ("--exclude-operation-id-regex", "^start_api_api_jobs_post$")


@pytest.fixture(scope="module")
def tool() -> Path:
    folder = external_tools.schemathesis()
    if folder is None:
        pytest.skip("schemathesis cannot be installed here")
    return folder


@pytest.fixture
def crawl(small_crawl: Path, tmp_path: Path) -> Path:
    """A copy that may be changed, in a library of its own."""
    return Path(shutil.copytree(small_crawl, tmp_path / "library" / "harbour"))


def checked_by_all(tool: Path, schema: str, place: Path, *options: str) -> None:
    """Run all checks; what fails is printed, with the seed."""
    config = place / "schemathesis.toml"
    config.write_text(CONFIG)
    seed = random.randrange(2**32)
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", config, "run", schema, "--checks", "all"]
    command += ["--seed", str(seed), "--max-examples", str(N_EXAMPLES), "--no-color", "--generation-database", "none"]
    command += ["--suppress-health-check", "all", *options]
    found = subprocess.run(
        [*map(str, command)],
        cwd=place,
        env=os.environ | {"PYTHONPATH": str(tool), "NO_PROXY": "*"},
        capture_output=True,
        text=True,
        timeout=TEST_TIMEOUT_S,
    )
    lines = "\n".join(line[:300] for line in (found.stdout + found.stderr).splitlines())
    assert found.returncode == 0, f"seed {seed}\n{lines}"


@pytest.fixture
def of_crawl(crawl: Path) -> Iterator[str]:
    with serving(crawl, "--port", 0) as (address, _):
        yield address


def test_the_pages_of_a_crawl(tool: Path, of_crawl: str, tmp_path: Path) -> None:
    checked_by_all(tool, f"{of_crawl.rstrip('/')}/api/openapi.json", tmp_path, *NEVER_ENDS, *RESUMES_A_CRAWL)


def test_a_library(tool: Path, crawl: Path, tmp_path: Path) -> None:
    """The crawls in it are served by the application above; this one may rename and delete them."""
    with serving("--library", crawl.parent, "--port", 0) as (address, _):
        checked_by_all(tool, f"{address.rstrip('/')}/api/openapi.json", tmp_path, *STARTS_A_JOB)
