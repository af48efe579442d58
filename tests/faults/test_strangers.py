"""Folders of strangers: nothing outside of them is written, nothing private is reached, and errors are one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.strangers import try_folders


def test_folders_of_strangers_do_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand of them: `python -m benchmarks strangers`."""
    monkeypatch.chdir(tmp_path)
    tally = try_folders(tmp_path, range(30), n_commands=2, in_processes_every=15)
    assert tally.trouble == []
    assert tally.n_connections == 0
    assert tally.n_refused > 10, "the folders are not as bad as they should be"
