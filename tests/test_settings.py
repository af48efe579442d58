"""Settings from TOML and back."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from orienteer.errors import InputError
from orienteer.settings import from_table, to_table
from tests.tables import over_rows


@dataclass(frozen=True)
class _Settings:
    name: str
    size: int = 3
    share: float = 0.5
    limit: float | None = None
    is_on: bool = False
    sections: tuple[str, ...] = ()
    shares: tuple[float, ...] = ()


@given(
    st.builds(
        _Settings,
        st.text(st.characters(exclude_categories=["Cs"])),
        st.integers(-(2**62), 2**62),
        st.floats(allow_nan=False, allow_infinity=False),
        st.none() | st.floats(0, 1),
        st.booleans(),
        st.lists(st.text(st.characters(exclude_categories=["Cs"]))).map(tuple),
        st.lists(st.floats(allow_nan=False)).map(tuple),
    )
)
def test_what_is_written_is_read(settings: _Settings) -> None:
    text = tomli_w.dumps({"part": to_table(settings)})
    assert from_table(_Settings, tomllib.loads(text)["part"], "[part]") == settings


def test_a_whole_number_will_do_where_a_number_is_wanted() -> None:
    settings = from_table(_Settings, {"name": "a", "share": 1, "shares": [1, 0.5]}, "[part]")
    assert (settings.share, settings.shares) == (1.0, (1.0, 0.5))
    assert all(isinstance(share, float) for share in (settings.share, *settings.shares))


@over_rows(
    ("table", "message"),
    [
        ({}, r"\[part\]: name is missing"),
        ({"name": "a", "sise": 1}, r"no setting in \[part\] named 'sise'; did you mean 'size'"),
        ({"name": 1}, r"\[part\]: name is 1; it must be a text"),
        ({"name": "a", "size": 1.5}, r"size is 1.5; it must be a whole number"),
        ({"name": "a", "size": True}, r"size is True; it must be a whole number"),
        ({"name": "a", "is_on": 1}, r"is_on is 1; it must be true or false"),
        ({"name": "a", "sections": "b"}, r"sections is 'b'; it must be a list of texts"),
        ({"name": "a", "sections": [1]}, r"it must be a list of texts"),
        ({"name": "a", "shares": 0.5}, r"shares is 0.5; it must be a list of numbers"),
        ({"name": "a", "shares": [0.5, "b"]}, r"shares is \[0.5, 'b'\]; it must be a list of numbers"),
        ({"name": "a", "shares": [True]}, r"it must be a list of numbers"),
        ({"name": "a", "share": 10**400}, r"share is 1000.*; it must be a number"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(table: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_table(_Settings, table, "[part]")
