"""Cookies are sent as RFC 6265 says, and never by another scheme or to another port."""

from __future__ import annotations

import pytest

from orienteer.credentials.cookies import CookieJar, cookie_of, cookies_for, header_of
from orienteer.errors import InputError
from tests.tables import over_rows

NOW = 1_700_000_000.0


def sent(url: str, *lines: str, by: str = "https://a.site.test/x/page", now: float = NOW) -> str:
    """The Cookie header for a URL after a page has set these cookies."""
    jar = CookieJar()
    jar.take(by, lines, NOW)
    return header_of(jar.cookies_for(url, now))


@over_rows(
    ("line", "url", "goes"),
    [
        ("k=v", "https://a.site.test/x/other", True),
        ("k=v", "https://a.site.test/y", False),  # the folder of the page is the default
        ("k=v; Path=/", "https://a.site.test/y", True),
        ("k=v; Path=/y", "https://a.site.test/y/z", True),
        ("k=v; Path=/y", "https://a.site.test/yz", False),
        ("k=v; Path=/y/", "https://a.site.test/y", False),
        ("k=v; Path=nonsense", "https://a.site.test/x/y", True),
        ("k=v; Path=/", "https://b.site.test/", False),
        ("k=v; Path=/", "https://b.a.site.test/", False),
        ("k=v; Path=/", "http://a.site.test/", False),
        ("k=v; Path=/", "https://a.site.test:8443/", False),
        ("k=v; Path=/; Domain=site.test", "https://b.site.test/", True),
        ("k=v; Path=/; Domain=.SITE.test", "https://site.test/", True),
        ("k=v; Path=/; Domain=site.test", "https://xsite.test/", False),
        ("k=v; Path=/; Domain=site.test", "http://b.site.test/", False),
        ("k=v; Path=/; Domain=test", "https://a.site.test/", False),  # a public suffix
        ("k=v; Path=/; Domain=b.site.test", "https://b.site.test/", False),  # another host than the one that sets it
        ("k=v; Path=/; Secure", "https://a.site.test/", True),
        ("k=v; Path=/; Max-Age=60", "https://a.site.test/", True),
        ("k=v; Path=/; Max-Age=0", "https://a.site.test/", False),
        ("k=v; Path=/; Expires=Wed, 09 Jun 2021 10:18:14 GMT", "https://a.site.test/", False),
        ("k=v; Path=/; Expires=Wed, 09-Jun-2031 10:18:14 GMT", "https://a.site.test/", True),
        ("k=v; Path=/; Expires=Wed, 09 Jun 2021 10:18:14 GMT; Max-Age=60", "https://a.site.test/", True),
        ("nonsense", "https://a.site.test/x/y", False),
        ("=v", "https://a.site.test/x/y", False),
        ("k=v\x01; Path=/", "https://a.site.test/", False),
    ],
)
def test_cookies_are_sent_as_the_standard_says(line: str, url: str, goes: bool) -> None:
    assert sent(url, line) == ("k=v" if goes else "")


def test_a_secure_cookie_is_not_set_by_http() -> None:
    assert cookie_of("http://a.test/", "k=v; Secure", NOW) is None


def test_addresses_have_no_subdomains() -> None:
    assert sent("http://10.0.0.1/", "k=v; Domain=0.0.1; Path=/", by="http://10.0.0.1/") == ""
    assert sent("http://10.0.0.1/", "k=v; Domain=10.0.0.1; Path=/", by="http://10.0.0.1/") == "k=v"


def test_the_longest_path_comes_first_and_a_new_value_replaces_the_old_one() -> None:
    lines = ("a=1; Path=/", "b=2; Path=/x", "a=3; Path=/", "c=4; Path=/x; Max-Age=9")
    assert sent("https://a.site.test/x", *lines) == "b=2; c=4; a=3"
    assert sent("https://a.site.test/x", *lines, now=NOW + 10) == "b=2; a=3"
    assert sent("https://a.site.test/x", *lines, "b=; Path=/x; Max-Age=-1") == "c=4; a=3"


def test_the_repr_of_a_jar_contains_no_value() -> None:
    jar = CookieJar()
    jar.take("http://a.test/", ["k=hush-hush"], NOW)
    assert "hush" not in repr(jar) + repr(jar.cookies_for("http://a.test/", NOW))


FILE = """# Netscape HTTP Cookie File
.site.test\tTRUE\t/\tTRUE\t1900000000\tall\t1
#HttpOnly_a.site.test\tFALSE\t/wiki\tFALSE\t0\tmine\t2
b.site.test\tFALSE\t/\tFALSE\t0\tnotmine\t3
a.site.test\tFALSE\t/\tFALSE\t1600000000\told\t4
bank.test\tTRUE\t/\tTRUE\t0\tmoney\t5
"""


def test_of_a_cookie_file_those_for_the_origin_are_taken(write_access) -> None:
    path = write_access(FILE, "cookies.txt")
    jar = CookieJar(cookies_for(path, "https://a.site.test", NOW))
    assert header_of(jar.cookies_for("https://a.site.test/wiki/x", NOW)) == "mine=2; all=1"
    assert header_of(jar.cookies_for("https://a.site.test/", NOW)) == "all=1"
    for other in ("https://b.site.test/", "https://site.test/", "http://a.site.test/", "https://bank.test/"):
        assert jar.cookies_for(other, NOW) == []
    by_http = CookieJar(cookies_for(path, "http://a.site.test", NOW))
    assert header_of(by_http.cookies_for("http://a.site.test/wiki", NOW)) == "mine=2", "the other one is secure"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("just=words", "no cookie file in Netscape's format"),
        (FILE, r"it has no cookie for https://else.test"),
        ("else.test\tFALSE\t/\tFALSE\t1600000000\told\t4\n", "have expired"),
    ],
)
def test_a_file_without_a_cookie_is_refused(write_access, text: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        cookies_for(write_access(text, "cookies.txt"), "https://else.test", NOW)
