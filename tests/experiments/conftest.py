from __future__ import annotations

from pathlib import Path

import pytest

from tests.experiments.made_up import MadeUp


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MadeUp:
    return MadeUp(tmp_path, monkeypatch)
