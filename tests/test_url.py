"""Canonical URLs, hosts and sites."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from orienteer.url import MAX_URL_BYTES, canonical_url, host_of, session_of, site_of, too_long_url
from tests.tables import over_rows

BASE = "https://example.org/a/b/c?d"

url_texts = st.one_of(
    st.text(),
    st.text("htps:/.?#@%[]\\ \t\nabAB09-_ä.\u3002\u00ad", max_size=40),
    st.builds(
        "{}://{}{}{}".format,
        st.sampled_from(["http", "HTTPS", "ftp"]),
        st.text(max_size=12),
        st.sampled_from("/:@?#"),
        st.text(),
    ),
    st.builds("http://{}/{}".format, st.from_regex(r"[a-zA-Z0-9.:_-]{1,20}", fullmatch=True), st.text()),
)


@over_rows(
    ("text", "canonical"),
    [
        ("http://example.org", "http://example.org/"),
        ("HTTP://EXAMPLE.org:80/A", "http://example.org/A"),
        ("https://example.org:443/?", "https://example.org/?"),
        ("https://example.org:80/", "https://example.org:80/"),
        ("http://example.org/a/./b/../c", "http://example.org/a/c"),
        ("http://example.org/%7Ea/ä b?ü", "http://example.org/%7Ea/%C3%A4%20b?%C3%BC"),
        ("http://example.org/a#part", "http://example.org/a"),
        ("http://example.org/a?b#c#d", "http://example.org/a?b"),
        ("http://user:secret@example.org/a@b", "http://example.org/a@b"),
        ("http://:secret@example.org/", "http://example.org/"),
        ("http://@example.org/", "http://example.org/"),
        ("http://münchen.de/", "http://xn--mnchen-3ya.de/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[0:0::1]:8080/x", "http://[::1]:8080/x"),
        (" \thttp://exa\nmple.org/a\tb ", "http://example.org/ab"),
        ("http:\\\\example.org\\a", "http://example.org/a"),
    ],
)
def test_an_absolute_url_is_written_as_the_standard_says(text, canonical):
    assert canonical_url(text) == canonical


@over_rows(
    ("text", "canonical"),
    [
        ("x", "https://example.org/a/b/x"),
        ("../x", "https://example.org/a/x"),
        ("../../../../x", "https://example.org/x"),
        ("/x", "https://example.org/x"),
        ("//other.org/x", "https://other.org/x"),
        ("?x", "https://example.org/a/b/c?x"),
        ("#x", "https://example.org/a/b/c?d"),
        ("", "https://example.org/a/b/c?d"),
        ("http:x", "http://x/"),
        ("https:x", "https://example.org/a/b/x"),
    ],
)
def test_a_relative_url_starts_from_its_base(text, canonical):
    assert canonical_url(text, BASE) == canonical


@over_rows(
    "text",
    [
        "mailto:a@example.org",
        "javascript:void(0)",
        "data:text/html,x",
        "ftp://example.org/",
        "file:///etc/passwd",
        "about:blank",
        "http://",
        "http://a b/",
        "http://example.org:99999/",
        "http://[::1/",
        "http://1.2.3.4.5/",
        "http://example.org/\ud800",
        "tel:1",
    ],
)
def test_what_no_crawler_could_fetch_has_no_canonical_url(text):
    assert canonical_url(text) is None
    assert canonical_url(text, BASE) is None


def test_a_relative_url_without_base_or_with_a_broken_one_has_no_canonical_url():
    assert canonical_url("x/y") is None
    assert canonical_url("x/y", "no url") is None
    assert canonical_url("x/y", "http://\ud800/") is None


def test_a_url_may_be_long_but_not_too_long():
    stem = "http://example.org/"
    longest = stem + "a" * (MAX_URL_BYTES - len(stem))
    assert canonical_url(longest) == longest
    assert canonical_url(longest + "a") is None
    assert canonical_url(longest + "#" + "a" * 5000) == longest
    assert canonical_url(stem + "ä" * (MAX_URL_BYTES // 4)) is None
    assert canonical_url(stem + "a" * 50_000_000) is None


@given(url_texts)
@example("http://a/?\ud800")
@example("http://a//..//b")
@example("http://xn--a.b/")
def test_a_canonical_url_is_its_own_canonical_url(text):
    url = canonical_url(text, BASE)
    if url is not None:
        assert canonical_url(url) == canonical_url(url, BASE) == url
        assert url.isascii()
        assert "#" not in url
        assert host_of(url)


@over_rows(
    ("url", "host"),
    [
        ("http://example.org/a", "example.org"),
        ("https://example.org", "example.org"),
        ("http://example.org:80/", "example.org"),
        ("https://example.org:443/", "example.org"),
        ("http://example.org:443/", "example.org:443"),
        ("http://EXAMPLE.org:8080/", "example.org:8080"),
        ("http://user@example.org/", "example.org"),
        ("http://[::1]:81/", "[::1]:81"),
        ("file://example.org/x", "example.org"),
        ("ftp://example.org:21/", "example.org"),
        ("mailto:a@b", ""),
        ("A title: with a colon", ""),
        ("file:///x", ""),
        ("/x", ""),
        ("", ""),
        ("http://\ud800/", ""),
    ],
)
def test_a_host_is_a_name_and_a_port_that_is_not_the_usual_one(url, host):
    assert host_of(url) == host


@over_rows(
    ("host", "site"),
    [
        ("example.org", "example.org"),
        ("a.b.example.org", "example.org"),
        ("a.b.example.org:8080", "example.org"),
        ("www.bbc.co.uk", "bbc.co.uk"),
        ("co.uk", "co.uk"),
        ("someone.github.io", "someone.github.io"),
        ("github.io", "github.io"),
        ("a.unheard-of-tld", "a.unheard-of-tld"),
        ("www.xn--mnchen-3ya.de", "xn--mnchen-3ya.de"),
        ("www.example.org.", "example.org"),
        ("localhost", "localhost"),
        ("localhost:8000", "localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1:8000", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("[::1]:8000", "[::1]"),
        ("", ""),
    ],
)
def test_a_site_is_the_registrable_domain_of_a_host(host, site):
    assert site_of(host) == site


# fmt: off
VISIT_MARKS = [
    "utm_source", "utm_", "UTM_Campaign", "gclid", "dclid", "gbraid", "wbraid", "fbclid", "msclkid", "yclid",
    "twclid", "igshid", "mc_cid", "mc_eid", "_ga", "_gl", "_hsenc", "_hsmi", "mkt_tok",
]
# fmt: on


@over_rows("name", VISIT_MARKS)
def test_a_visit_mark_is_dropped_at_any_position(name):
    url = "http://example.org/a"
    for mark in (name, f"{name}=", f"{name}=1", f"{name.upper()}=a=b%26;c/?d"):
        assert canonical_url(f"{url}?{mark}") == canonical_url(f"{url}?{mark}&{mark}#x") == url
        assert canonical_url(f"{url}?{mark}&b=1&a=2") == f"{url}?b=1&a=2"
        assert canonical_url(f"{url}?b=1&{mark}&a=2") == f"{url}?b=1&a=2"
        assert canonical_url(f"{url}?b=1&{mark}&{mark}&a=2&{mark}") == f"{url}?b=1&a=2"
        assert canonical_url(f"?b=1&{mark}", url) == f"{url}?b=1"


@over_rows(
    "query",
    [
        "utm=1",
        "xutm_source=1",
        "a=utm_source",
        "a=b?utm_source=1",
        "gclids=1",
        "_gaa=1",
        "mc_did=1",
        "%75tm_source=1",
        "a;gclid=1",
        "cfids=1",
        "id=PHPSESSID",
        "b=1&&a=%C3%A4+%e4&&",
        "&a",
        "=",
        "?",
    ],
)
def test_all_other_parameters_keep_their_order_and_spelling(query):
    assert canonical_url(f"http://example.org/?{query}") == f"http://example.org/?{query}"
    assert canonical_url(f"http://example.org/?{query}&gclid=1") == f"http://example.org/?{query}"


SESSIONS = ["sid", "session_id", "sessionid", "session", "SID", "Session_ID"]


@over_rows("name", SESSIONS)
def test_what_looks_drawn_at_random_looks_like_a_session(name):
    url = "http://example.org/?a=1"
    for value in ("0123456789abcdef", "4bC9" * 8, "a" * 15 + "1"):
        assert session_of(f"{url}&{name}={value}") == (url, {value})
        assert session_of(f"http://example.org/?{name}={value}&a=1") == (url, {value})
        assert canonical_url(f"{url}&{name}={value}") == f"{url}&{name}={value}"
    for value in ("", "12", "keynote-opening-2024", "a" * 40, "0123456789abcde"):
        assert session_of(f"{url}&{name}={value}&b") is None
    assert session_of(f"{url}&{name}") is None


@over_rows(
    ("url", "stripped", "values"),
    [
        ("http://example.org/a;jsessionid=1F", "http://example.org/a", {"1F"}),
        ("http://example.org/a;JSessionID=1F.node1?b=2", "http://example.org/a?b=2", {"1F.node1"}),
        ("http://example.org/a;jsessionid=1;v=2/b;jsessionid=3", "http://example.org/a;v=2/b", {"1", "3"}),
        ("http://example.org/?PHPSESSID=x&CFID=1&cftoken=2&b", "http://example.org/?b", {"x", "1", "2"}),
        ("http://example.org/?ASPSESSIONIDQABCRTUV=z", "http://example.org/", {"z"}),
    ],
)
def test_sessions_by_their_names(url, stripped, values):
    assert session_of(url) == (stripped, values)
    assert canonical_url(url) == url


@over_rows(
    "url",
    [
        "http://example.org/a;jsessionids=1",
        "http://example.org/a;jsessionid",
        "http://example.org/a;v=1;jsessionid=/b",
        "http://example.org/?cfids=1",
        "http://example.org/?id=PHPSESSID",
        "http://example.org/",
    ],
)
def test_what_is_no_session(url):
    assert session_of(url) is None


def test_a_url_that_is_too_long_has_a_substitute():
    base, text = "http://example.org/a/", "x" * 3000
    assert canonical_url(text, base) is None
    one, other = too_long_url(text, base), too_long_url(text + "y", base)
    assert one.startswith("http://example.org/a/xxx")
    assert one != other
    assert too_long_url(text + "#part", base) == one
    assert too_long_url("y" * 1_000_000, base).startswith("http://example.org/a/yyy")
    for not_long in ("x", "mailto:" + text, "javascript:" + text, "http://[" + text):
        assert too_long_url(not_long, base) is None


def test_the_length_of_a_url_is_that_without_visit_marks():
    assert canonical_url("http://example.org/?a&utm_source=" + "x" * MAX_URL_BYTES) == "http://example.org/?a"


visit_marks = st.sampled_from(
    ["utm_x=1", "gclid", "SID=0123456789abcdef", "phpsessid=1", "sid=1", "a;b", "", "..", "b=%41"]
)


@given(
    st.lists(st.one_of(visit_marks, st.text("a=;?./%2E", max_size=5)), max_size=5),
    st.lists(
        st.sampled_from([";jsessionid=1", ";jsessionid=", ";JSESSIONID", "/", "..", ".", "%2e", ";", "a"]), max_size=9
    ),
)
def test_what_is_left_without_visit_marks_is_canonical(parameters, path):
    url = canonical_url(f"http://example.org/{''.join(path)}?{'&'.join(parameters)}")
    assert url is not None
    assert canonical_url(url) == url


@given(st.lists(st.tuples(st.sampled_from(["id", "page", "q", "utm", "_g", ""]), st.text("ab19%+-._~", max_size=20))))
def test_a_query_without_visit_marks_stays_as_it_is(parameters):
    url = "http://example.org/?" + "&".join("=".join(parameter) for parameter in parameters)
    assert canonical_url(url) == url


@given(url_texts)
def test_every_host_has_a_site_that_is_its_own_site(text):
    site = site_of(host_of(text))
    assert site_of(site) == site
