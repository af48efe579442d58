"""Invalid fetch settings are refused with a one-line message that names them."""

from __future__ import annotations

import math

import pytest

from orienteer.errors import InputError
from orienteer.fetch.libcurl import LibcurlFetcher
from orienteer.fetch.settings import FetchSettings
from tests.tables import over_rows


@over_rows(
    ("name", "value"),
    [
        ("timeout_s", 0),
        ("timeout_s", -1.0),
        ("timeout_s", math.nan),
        ("connect_timeout_s", math.inf),
        ("max_body_bytes", 0),
        ("max_decoded_bytes", -5),
        ("max_header_bytes", 1 << 20),
        ("max_redirects", -1),
        ("dns_cache_s", -1),
        ("dns_cache_s", math.nan),
        ("user_agent", ""),
        ("user_agent", "two\r\nlines"),
        ("accept_language", "ü"),
        ("content_types", ()),
        ("content_types", ("html",)),
        ("content_types", ("text/html; charset=x",)),
        ("proxy", "localhost:8080"),
        ("proxy", "ftp://localhost"),
        ("proxy", "http://a b"),
        ("connect_to", "127.0.0.1"),
        ("connect_to", "127.0.0.1:0"),
        ("connect_to", "127.0.0.1:70000"),
        ("connect_to", "::1:80"),
    ],
)
def test_invalid_settings_are_refused(name, value):
    with pytest.raises(InputError, match=name):
        FetchSettings(**{name: value})


@over_rows(
    "settings",
    [
        {"connect_to": "[::1]:80"},
        {"connect_to": "localhost:80"},
        {"proxy": "socks5h://user:secret@proxy.example:1080"},
        {"proxy": "http://127.0.0.1:3128/"},
        {"content_types": ("text/*", "application/pdf")},
        {"cookies": True, "http2": False, "verify_tls": False},
        {"max_redirects": 0, "dns_cache_s": 0},
    ],
)
def test_valid_settings_are_accepted_by_libcurl(settings):
    LibcurlFetcher(FetchSettings(**settings)).close()


def test_connect_to_and_proxy_exclude_each_other():
    with pytest.raises(InputError, match="connect_to and proxy"):
        FetchSettings(connect_to="127.0.0.1:80", proxy="http://127.0.0.1:81")


def test_a_certificate_file_must_exist(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        LibcurlFetcher(FetchSettings(ca_file=str(tmp_path / "none.pem")))


@pytest.mark.parametrize(
    ("patterns", "wanted", "unwanted"),
    [
        (("text/html",), ["text/html", ""], ["text/plain", "image/png"]),
        (("Text/*",), ["text/html", "text/plain", ""], ["image/png"]),
        (("*/*",), ["text/html", "image/png", ""], []),
    ],
)
def test_types_are_accepted_by_pattern(patterns, wanted, unwanted):
    settings = FetchSettings(content_types=patterns)
    assert all(map(settings.accepts, wanted))
    assert not any(map(settings.accepts, unwanted))
