"""Signatures of this user are distinguished from those of others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orienteer.files.plain import state_folder
from orienteer.files.signing import is_signed, signature


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "orienteer"


def test_a_signature_is_of_the_content_the_purpose_and_the_user(state: Path) -> None:
    signed = signature("one", [b"ab", b"c"])
    assert signed is not None
    assert is_signed(signed, "one", [b"ab", b"c"])
    assert not is_signed(signed, "two", [b"ab", b"c"])
    assert not is_signed(signed, "one", [b"a", b"bc"])
    assert not is_signed(b"", "one", [b"ab", b"c"])
    assert (state / "key").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in state.iterdir()] == ["key"]
    (state / "key").unlink()
    assert not is_signed(signed, "one", [b"ab", b"c"]), "another user has another key"


@pytest.mark.parametrize("spoil", ["readable by others", "a link", "cut short", "a pipe"])
def test_a_key_that_is_not_the_users_own_is_no_key(state: Path, spoil: str) -> None:
    assert signature("one", []) is not None
    key = state / "key"
    if spoil == "readable by others":
        key.chmod(0o644)
    elif spoil == "a link":
        key.rename(state / "other")
        key.symlink_to(state / "other")
    elif spoil == "cut short":
        os.truncate(key, 31)
    else:
        key.unlink()
        os.mkfifo(key)
    assert signature("one", []) is None


def test_where_no_key_can_be_stored_nothing_is_signed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert signature("one", []) is None
    assert not is_signed(bytes(32), "one", [])


def test_a_relative_state_home_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "here")
    monkeypatch.setenv("HOME", "/home/user")
    assert state_folder() == Path("/home/user/.local/state/orienteer")
