"""Outcomes by status, and properties from headers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from hypothesis import given
from hypothesis import strategies as st

from orienteer.pages.outcome import Outcome
from orienteer.responses.headers import Headers
from orienteer.responses.response import PageRequest, Response, outcome_of, retry_after_s
from tests.tables import over_rows

URL = "http://example.org/dir/page"


def result(status: int = 200, **headers: str) -> Response:
    lines = Headers([(name.replace("_", "-"), value) for name, value in headers.items()])
    return Response(PageRequest(URL, 0), outcome_of(status, lines, URL), status, headers=lines)


@over_rows(
    ("status", "headers", "outcome"),
    [
        (200, {}, Outcome.OK),
        (204, {}, Outcome.OK),
        (206, {}, Outcome.BROKEN),
        (301, {"location": "/x"}, Outcome.REDIRECT),
        (308, {"Location": "x"}, Outcome.REDIRECT),
        (300, {}, Outcome.LEADS_NOWHERE),
        (302, {"location": ""}, Outcome.LEADS_NOWHERE),
        (302, {"location": "mailto:me@example.org"}, Outcome.LEADS_NOWHERE),
        (302, {"location": "http://["}, Outcome.LEADS_NOWHERE),
        (304, {"location": "/x"}, Outcome.NOT_MODIFIED),
        (400, {}, Outcome.CLIENT_ERROR),
        (404, {"retry_after": "5"}, Outcome.CLIENT_ERROR),
        (429, {}, Outcome.SLOW_DOWN),
        (500, {"retry_after": "5"}, Outcome.SERVER_ERROR),
        (503, {}, Outcome.SERVER_ERROR),
        (503, {"retry_after": "soon"}, Outcome.SERVER_ERROR),
        (503, {"retry_after": "5"}, Outcome.SLOW_DOWN),
        (999, {}, Outcome.SERVER_ERROR),
        (101, {}, Outcome.BROKEN),
        (0, {}, Outcome.BROKEN),
    ],
)
def test_outcomes_by_status(status, headers, outcome):
    assert result(status, **headers).outcome is outcome


@over_rows(
    ("location", "url"),
    [
        ("x", "http://example.org/dir/x"),
        ("//other.example/#part", "http://other.example/"),
        ("HTTPS://Example.ORG:443/%7e", "https://example.org/%7e"),
        ("/ä".encode().decode("latin-1"), "http://example.org/%C3%A4"),
        ("/ä", "http://example.org/%C3%A4"),
        ("/→", "http://example.org/%E2%86%92"),
        ("/a b", "http://example.org/a%20b"),
    ],
)
def test_a_location_is_resolved_and_canonical(location, url):
    assert result(302, location=location).location == url


def test_only_a_redirect_has_a_location():
    assert result(200, location="/x").location is None
    assert result(201, location="/x").location is None


@over_rows(
    ("stated", "kind", "charset"),
    [
        ("text/html", "text/html", None),
        (" Text/HTML ; Charset=UTF-8", "text/html", "UTF-8"),
        ('text/html;charset="iso-8859-1"; x=y', "text/html", "iso-8859-1"),
        ("text/html;charset='utf-8'", "text/html", "utf-8"),
        ("text/html, text/html", "text/html", None),
        ("text/html; charset=", "text/html", None),
        ("html", "", None),
        ("", "", None),
        (";charset=x", "", "x"),
    ],
)
def test_type_and_charset_come_from_the_header(stated, kind, charset):
    assert result(content_type=stated).content_type == kind
    assert result(content_type=stated).charset == charset


def test_without_a_header_there_is_no_type():
    assert (result().content_type, result().charset) == ("", None)


def test_retry_after_is_a_number_or_a_date():
    now = datetime(2026, 1, 1, tzinfo=UTC)
    later = format_datetime(now + timedelta(seconds=90), usegmt=True)
    assert retry_after_s(Headers([("retry-after", "120")]), 0.0) == 120.0
    assert retry_after_s(Headers([("retry-after", later)]), now.timestamp()) == 90.0
    assert retry_after_s(Headers([("retry-after", later)]), now.timestamp() + 1000) == 0.0
    assert result(503, retry_after="7").retry_after_s == 7.0
    assert result(503).retry_after_s is None


@over_rows(
    "stated", ["", "soon", "-5", "1.5e9", "9" * 5000, "Mon, 99 Foo 2026", "Thu, 01 Jan 99999 00:00:00 GMT", "\x00", "²"]
)
def test_invalid_retry_after_is_ignored(stated):
    assert retry_after_s(Headers([("retry-after", stated)]), 0.0) is None


@given(st.integers(0, 999), st.dictionaries(st.sampled_from(["location", "retry_after", "content_type"]), st.text()))
def test_arbitrary_headers_are_accepted(status, headers):
    response = result(status, **headers)
    assert isinstance(response.outcome, Outcome)
    assert response.retry_after_s is None or response.retry_after_s >= 0
    assert (response.location is not None) == (response.outcome is Outcome.REDIRECT)
    assert response.charset is None or response.charset
