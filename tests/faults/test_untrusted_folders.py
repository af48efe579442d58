"""Untrusted folders: nothing outside them is written, nothing private is reached, and errors are one line."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import settings

from tests.faults.untrusted_folders import try_folders


def test_untrusted_folders_do_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_rng: random.Random
) -> None:
    """Other folders are tried in every run; `python -m benchmarks untrusted_folders` tries a thousand."""
    monkeypatch.chdir(tmp_path)
    numbers = fresh_rng.sample(range(1000), settings().max_examples // 3)
    tally = try_folders(tmp_path, numbers, n_commands=2, in_processes_every=10)
    assert tally.problems == []
    assert tally.n_connections == 0
    assert tally.n_refused > 2, "the folders are not as bad as they should be"
