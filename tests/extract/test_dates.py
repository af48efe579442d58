"""Dates in the formats of pages."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orienteer.extract.dates import iso_date
from tests.tables import over_rows


@over_rows(
    ("text", "date"),
    [
        ("2025-03-01", "2025-03-01"),
        (" 2025-03-01T23:59:59.123+09:00", "2025-03-01"),
        ("2025-03-01 10:00", "2025-03-01"),
        ("2025/3/1", "2025-03-01"),
        ("20250301", "2025-03-01"),
        ("20250301T101500Z", "2025-03-01"),
        ("2025-03", "2025-03"),
        ("2025", "2025"),
        ("Sat, 01 Mar 2025 10:00:00 GMT", "2025-03-01"),
        ("Saturday, 01-Mar-2025 10:00:00 GMT", "2025-03-01"),
        ("1 March 2025", "2025-03-01"),
        ("March 1st, 2025", "2025-03-01"),
        ("Mar 2025", "2025-03"),
        ("published on the 1st of march, 2025", "2025-03-01"),
        ("01.03.2025", "2025-03-01"),
        ("31/12/2025", "2025-12-31"),
        ("12/31/2025", "2025-12-31"),
        ("01/03/2025", "2025"),
        ("03/03/2025", "2025-03-03"),
        ("2025-13-01", ""),
        ("2025-02-30", ""),
        ("0001-01-01T00:00:00", ""),
        ("1970-01-01T00:00:00Z", ""),
        ("12345", ""),
        ("20251301", ""),
        ("yesterday", ""),
        ("", ""),
    ],
)
def test_dates_are_as_precise_as_known(text: str, date: str) -> None:
    assert iso_date(text) == date


@given(st.text(st.sampled_from("0123456789-/.: TZjanmarfeb,"), max_size=40))
def test_any_text_is_a_date_or_none(text: str) -> None:
    found = iso_date(text)
    assert found == "" or (len(found) in (4, 7, 10) and iso_date(found) == found)
