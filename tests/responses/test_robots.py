"""robots.txt: examples of the RFC, realistic files, and hostile ones."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from orienteer.pages.outcome import Outcome
from orienteer.responses.response import HostRequest, HostRequestKind, Response
from orienteer.responses.robots import MAX_READ_BYTES, MAX_SITEMAPS, MAX_WILDCARD_CHARS, Robots, robots_of
from tests.tables import over_rows

GOLDEN = Path(__file__).parents[1] / "golden" / "robots"
USER_AGENT = "Orienteer/0.1 (+https://example.org/orienteer)"
ROOT = "http://example.org"


def robots(text: str | bytes, user_agent: str = USER_AGENT) -> Robots:
    return Robots.of(text.encode() if isinstance(text, str) else text, user_agent, f"{ROOT}/robots.txt")


def allowed(text: str | bytes, *paths: str, user_agent: str = USER_AGENT) -> list[bool]:
    rules = robots(text, user_agent)
    return [rules.allows(ROOT + path) for path in paths]


def for_all(*rules: str) -> str:
    return "\n".join(("User-agent: *", *rules))


# Realistic files: the expected results for each `.txt` are in the `.expected` file next to it.


@over_rows("path", sorted(GOLDEN.glob("*.txt")), ids=lambda path: path.stem)
def test_typical_files(path):
    root = f"https://{path.stem}.example"
    rules = Robots.of(path.read_bytes(), USER_AGENT, f"{root}/robots.txt")
    expected = [line.split() for line in path.with_suffix(".expected").read_text().splitlines()]
    decided = {"allow": True, "disallow": False}
    for kind, value in expected:
        if kind in decided:
            assert rules.allows(root + value) == decided[kind], value
    assert rules.sitemaps == [value for kind, value in expected if kind == "sitemap"]
    assert rules.delay_s == next((float(value) for kind, value in expected if kind == "delay"), None)


# RFC 9309, section 5.1

SIMPLE_EXAMPLE = """\
User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot
"""


@over_rows(
    ("user_agent", "expected"),
    [
        ("Orienteer", {"/": True, "/a.gif": False, "/a.gifs": True, "/example/x": False, "/publications/x": True}),
        ("FooBot/2.1", {"/": False, "/example/page.html": True, "/example/allowed.gif": True, "/publications/": False}),
        ("barbot", {"/": True, "/example/page.html": False, "/example/x": True, "/a.gif": True}),
        ("BAZBOT (hello)", {"/": True, "/example/page.html": False, "/a.gif": True}),
        ("quxbot", {"/": True, "/example/page.html": True, "/a.gif": True}),
    ],
)
def test_the_simple_example_of_the_rfc(user_agent, expected):
    assert dict(zip(expected, allowed(SIMPLE_EXAMPLE, *expected, user_agent=user_agent), strict=True)) == expected


def test_the_longest_match_example_of_the_rfc():
    text = "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n"
    paths = ("/example/page/", "/example/page/disallowed.gif", "/example/page/allowed.gif")
    assert allowed(text, *paths, user_agent="foobot") == [True, False, True]


@over_rows(
    ("pattern", "path"),
    [
        ("/foo/bar?baz=quz", "/foo/bar?baz=quz"),
        ("/foo/bar?baz=https%3A%2F%2Ffoo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar"),
        ("/foo/bar/ツ", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%e3%83%84", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%62%61%7A", "/foo/bar/baz"),
        ("/foo/bar/baz", "/foo/bar/%62%61%7a"),
        ("/path/file-with-a-%2A.html", "/path/file-with-a-*.html"),
        ("/path/foo-%24", "/path/foo-$"),
        ("/~joe/", "/%7Ejoe/x"),
        ("/a%2Fb", "/a%2fb"),
    ],
)
def test_patterns_and_urls_are_compared_by_what_they_encode(pattern, path):
    assert allowed(for_all(f"Disallow: {pattern}"), path) == [False]


def test_an_encoded_slash_is_no_slash():
    assert allowed(for_all("Disallow: /a/b"), "/a%2Fb") == [True]
    assert allowed(for_all("Disallow: /a%2Fb"), "/a/b") == [True]


def test_bytes_that_are_no_utf8_match_the_url_with_the_same_bytes():
    assert allowed(b"User-agent: *\nDisallow: /gr\xfc\xdfe", "/gr%FC%DFe", "/gruesse") == [False, True]


@over_rows(
    ("rules", "expected"),
    [
        (("Disallow: /a", "Allow: /a"), {"/a": True}),
        (("Allow: /a", "Disallow: /a"), {"/a": True}),
        (("Disallow: /a", "Allow: /a/b", "Disallow: /a/b/c"), {"/a/x": False, "/a/b/x": True, "/a/b/c/x": False}),
        (("Disallow:",), {"/": True}),
        (("Disallow: /", "Disallow:"), {"/": False}),
        (("Allow:", "Disallow: /a"), {"/a": False, "/b": True}),
        (("Disallow: /a$",), {"/a": False, "/ab": True, "/a?": True}),
        (("Disallow: /*.php$",), {"/a.php": False, "/a.php?x": True, "/.php": False, "/a.php5": True}),
        (("Disallow: /a*b*c",), {"/abc": False, "/a-b-c-d": False, "/acb": True}),
        (("Disallow: /a***b",), {"/ab": False, "/a/x/b": False, "/a": True}),
        (("Disallow: *",), {"/": False}),
        (("Disallow: /Path",), {"/path": True, "/Path": False}),
        (("Disallow: /?",), {"/?a": False, "/": True, "/a?b": True}),
        (("Disallow: /a b",), {"/a%20b": False}),
        (("Disallow: /a#b",), {"/a": False}),
        (("Disallow /a",), {"/a": False}),
        (("  disallow\t:\t/a  ",), {"/a": False}),
        (("Dissalow: /a",), {"/a": False}),
        (("Noindex: /a", "Unknown: /"), {"/a": True}),
    ],
)
def test_rules_of_one_group(rules, expected):
    assert dict(zip(expected, allowed(for_all(*rules), *expected), strict=True)) == expected


@over_rows(
    ("text", "is_allowed"),
    [
        ("User-agent: orienteer\nDisallow: /", False),
        ("USER-AGENT: ORIENTEER\nDISALLOW: /", False),
        ("User-agent: Orienteer/2.0\nDisallow: /", False),
        ("User-agent: Orienteer*\nDisallow: /", False),
        ("User-agent: Orienteer the crawler\nDisallow: /", False),
        ("User agent Orienteer\nDisallow: /", False),
        ("User-agent:Orienteer#us\nDisallow: /", False),
        ("User-agent: O\nDisallow: /", True),
        ("User-agent: Orient\nDisallow: /", True),
        ("User-agent: Orienteers\nDisallow: /", True),
        ("User-agent: My-Orienteer\nDisallow: /", True),
        ("User-agent:\nDisallow: /", True),
        ("Disallow: /", True),
        ("Disallow: /\nUser-agent: *\nDisallow: /x", True),
        ("User-agent: *\nDisallow: /\nUser-agent: Orienteer\nDisallow: /x", True),
        ("User-agent: Orienteer\nDisallow: /x\nUser-agent: *\nDisallow: /", True),
        ("User-agent: *\nDisallow: /\nUser-agent: Orienteer\n", True),
        ("User-agent: a\nUser-agent: Orienteer\nUser-agent: b\nDisallow: /", False),
        ("User-agent: a\n\n# gap\n\nUser-agent: Orienteer\n\nDisallow: /", False),
        ("User-agent: Orienteer\nAllow: /x\nUser-agent: b\nDisallow: /", True),
        ("User-agent: Orienteer\nSitemap: /s\nUser-agent: b\nDisallow: /", False),
        ("User-agent: Orienteer\nAllow: /x\nUser-agent: b\nAllow: /\nUser-agent: Orienteer\nDisallow: /", False),
        ("User-agent: *\nAllow: /x\nUser-agent: b\nAllow: /\nUser-agent: *\nDisallow: /", False),
        ("User-agent: * (all)\nDisallow: /", False),
    ],
)
def test_the_group_for_our_token_applies_else_the_one_for_any_agent(text, is_allowed):
    assert allowed(text, "/page") == [is_allowed]


def test_the_product_token_is_the_first_word_of_the_user_agent():
    text = "User-agent: my-bot_2\nDisallow: /"
    for user_agent in ("My-Bot_2", "my-bot_2/1.0", "My-Bot_2 (+http://x/)", "my-bot_2/1.0 Orienteer/3"):
        assert allowed(text, "/", user_agent=user_agent) == [False]
    for user_agent in ("my-bot", "my-bot_20", "Mozilla/5.0 (my-bot_2)", "", "/", "*"):
        assert allowed(text, "/", user_agent=user_agent) == [True]
    assert allowed(f"{text}\nUser-agent:\nDisallow: /", "/", user_agent="") == [True]


@over_rows(
    "encoded",
    [
        lambda text: text.encode(),
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: text.encode("utf-16"),
        lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
        lambda text: text.encode("utf-16-le"),
        lambda text: text.encode("utf-16-be"),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.replace("\n", "\r").encode(),
        lambda text: text.replace("\n", "\n\r").encode(),
        lambda text: text.replace("\n", "\n\0").encode(),
    ],
)
def test_encodings_marks_and_line_ends_do_not_matter(encoded):
    assert allowed(encoded("User-agent: *\nDisallow: /a\nCrawl-delay: 3\n"), "/a", "/b") == [False, True]


@over_rows(
    ("rules", "delay_s"),
    [
        (("Crawl-delay: 5",), 5.0),
        (("Crawl-delay: 0.5",), 0.5),
        (("crawl-delay: 0",), 0.0),
        (("Crawl-delay: 86400",), 60.0),
        (("Crawl-delay: -1",), None),
        (("Crawl-delay: inf",), None),
        (("Crawl-delay: nan",), None),
        (("Crawl-delay: ten",), None),
        (("Crawl-delay: 1e300",), 60.0),
        (("Request-rate: 1/10",), 10.0),
        (("Request-rate: 2/1m",), 30.0),
        (("Request-rate: 4/10s 0900-1700",), 2.5),
        (("Request-rate: 1/1h",), 60.0),
        (("Request-rate: 1/0",), None),
        (("Request-rate: 1",), None),
        (("Request-rate: 1/" + "9" * 4000,), 60.0),
        (("Request-rate: " + "9" * 4000 + "/1",), 0.0),
        (("Request-rate: 1/5", "Crawl-delay: 2"), 5.0),
        (("Request-rate: 1/5", "Crawl-delay: 20"), 20.0),
        ((), None),
    ],
)
def test_the_delay_is_the_longer_one_asked_for_up_to_a_minute(rules, delay_s):
    found = robots(for_all("Disallow: /x", *rules)).delay_s
    assert found == (None if delay_s is None else pytest.approx(delay_s, abs=1e-100))


def test_the_requested_delay_is_available_uncut():
    rules = robots(for_all("Crawl-delay: 3600"))
    assert (rules.delay_s, rules.requested_delay_s) == (60.0, 3600.0)


def test_the_delay_of_another_group_does_not_apply():
    text = "User-agent: *\nCrawl-delay: 9\nUser-agent: Orienteer\nDisallow: /x\nUser-agent: b\nCrawl-delay: 7"
    assert robots(text).delay_s is None


def test_sitemaps_are_canonical_absolute_and_no_more_than_some_hundred():
    lines = [
        "Sitemap: HTTP://Example.org:80/a.xml#x",
        "sitemap:/b.xml",
        "Sitemap c.xml",
        "Sitemaps: http://x.org/d?e=1",
    ]
    found = ["http://example.org/a.xml", "http://example.org/b.xml", "http://example.org/c.xml", "http://x.org/d?e=1"]
    useless = [
        "Sitemap:",
        "Sitemap: mailto:x",
        "Sitemap: http://[",
        "Sitemap: of the shop",
        "Sitemap</a>",
        "Sitemap: <b>",
    ]
    assert robots("\n".join([*useless, *lines, *lines])).sitemaps == found
    assert robots("User-agent: b\nDisallow: /\n" + lines[0]).sitemaps == found[:1]
    assert Robots.of("\n".join(lines).encode(), USER_AGENT).sitemaps == [found[0], found[3]]
    many = robots("\n".join(f"Sitemap: /{k}.xml" for k in range(2 * MAX_SITEMAPS)))
    assert many.sitemaps == [f"{ROOT}/{k}.xml" for k in range(MAX_SITEMAPS)]


def test_robots_txt_itself_is_always_allowed():
    for rules in (Robots.DISALLOW_ALL, robots(for_all("Disallow: /")), robots(for_all("Disallow: /robots.txt"))):
        assert rules.allows(f"{ROOT}/robots.txt")
        assert not rules.allows(f"{ROOT}/a/robots.txt") or rules.allows(f"{ROOT}/")


def test_all_or_nothing():
    for url in (f"{ROOT}/", f"{ROOT}/a?b", "https://example.org:81/x"):
        assert Robots.ALLOW_ALL.allows(url)
        assert not Robots.DISALLOW_ALL.allows(url)
    assert Robots.ALLOW_ALL.delay_s is None
    assert Robots.ALLOW_ALL.sitemaps == []
    assert robots("") is robots("User-agent: x\nDisallow: /") is Robots.ALLOW_ALL  # most hosts: they cost no memory


# What a fetch of robots.txt means


def fetched(outcome: Outcome, status: int, content: bytes = b"") -> Response:
    return Response(HostRequest(f"{ROOT}/robots.txt", HostRequestKind.ROBOTS), outcome, status, content=content)


CLOSED = b"User-agent: *\nDisallow: /\nSitemap: s.xml"


@pytest.mark.parametrize("status", [200, 203, 206])
def test_a_response_has_the_rules(status):
    rules = robots_of(fetched(Outcome.OK, status, CLOSED), USER_AGENT)
    assert rules is not None
    assert not rules.allows(f"{ROOT}/a")
    assert rules.sitemaps == [f"{ROOT}/s.xml"]


def test_an_empty_response_allows_everything():
    assert robots_of(fetched(Outcome.OK, 204), USER_AGENT) is Robots.ALLOW_ALL


@over_rows("status", [400, 401, 403, 404, 410, 418, 451, 499])
@over_rows("outcome", [Outcome.CLIENT_ERROR, Outcome.TOO_LARGE, Outcome.BROKEN])
def test_a_client_error_means_there_are_no_rules(status, outcome):
    assert robots_of(fetched(outcome, status, CLOSED), USER_AGENT) is Robots.ALLOW_ALL


def test_one_redirect_too_many_means_there_are_no_rules():
    assert robots_of(fetched(Outcome.REDIRECT, 301, CLOSED), USER_AGENT) is Robots.ALLOW_ALL


@over_rows(
    ("outcome", "status"),
    [
        (Outcome.SERVER_ERROR, 500),
        (Outcome.SERVER_ERROR, 503),
        (Outcome.SLOW_DOWN, 503),
        (Outcome.SLOW_DOWN, 429),
        (Outcome.NOT_MODIFIED, 304),
        (Outcome.BROKEN, 302),
        (Outcome.BROKEN, 200),
        (Outcome.BROKEN, 999),
        (Outcome.TIMED_OUT, 0),
        (Outcome.TIMED_OUT, 200),
        (Outcome.NO_ADDRESS, 0),
        (Outcome.NO_CONNECTION, 0),
        (Outcome.TLS_FAILED, 0),
        (Outcome.FORBIDDEN_ADDRESS, 0),
        (Outcome.CANCELLED, 0),
    ],
)
def test_a_failed_fetch_is_unreachable(outcome, status):
    assert robots_of(fetched(outcome, status, CLOSED), USER_AGENT) is None


# Hostile files. Each would take seconds to hours, or gigabytes, where something is not bounded.


def test_only_whole_lines_of_the_first_half_mebibyte_are_read():
    start = b"User-agent: *\nDisallow: /first\n"
    filler = b"#" + b"x" * 98 + b"\n"
    n = (MAX_READ_BYTES - len(start)) // len(filler)
    rest = MAX_READ_BYTES - len(start) - n * len(filler)
    assert allowed(start + filler * n + b"#" * (rest - 1) + b"\nDisallow: /second", "/first", "/second") == [
        False,
        True,
    ]
    # Cut in the middle, `Disallow: /cut-short` would be `Disallow: /cut`.
    line = b"Disallow: /cut-short\n"
    text = start + filler * (n - 1) + b"#" * (rest + 100 - 16) + b"\n"
    assert len(text) + 15 == MAX_READ_BYTES
    assert allowed(text + line * 3, "/first", "/cut", "/cut-short") == [False, True, True]
    assert allowed(text[:MAX_READ_BYTES], "/first") == [False]


@over_rows(
    "content",
    [
        lambda: b"\0" * (10 << 20),
        lambda: b"x" * (10 << 20),
        lambda: b"\n" * (10 << 20),
        lambda: b"User-agent: *\nDisallow: /" + b"a" * (10 << 20),
        lambda: b"User-agent: *\nDisallow: /" + b"*a" * (100 << 10) + b"b\n",
        lambda: b"User-agent: " + b"o" * (500 << 10) + b"\nDisallow: /\n",
        lambda: b"user" + b" " * (10 << 20) + b"agent",
        lambda: b"Sitemap: " * (100 << 10),
        lambda: random.Random(1).randbytes(10 << 20),
        lambda: random.Random(2).randbytes(1 << 20).decode("utf-16", "replace").encode("utf-16"),
        lambda: b"\xff\xfe",
        lambda: b"\xef\xbb\xbf",
    ],
)
def test_garbage_allows_everything(content: Callable[[], bytes]):
    assert allowed(content(), "/", "/" + "a" * 2000) == [True, True]


def test_only_rules_for_us_are_parsed_of_many_agents():
    agents = "\n".join(f"User-agent: agent-{k}" for k in range(10_000))
    rules = "\n".join(f"Disallow: /{k}/" for k in range(10_000))
    assert allowed(f"{agents}\nUser-agent: orienteer\n{rules}", "/9999/x", "/a") == [False, True]
    assert allowed(f"{agents}\n{rules}", "/9999/x", "/a") == [True, True]


def test_the_same_rule_may_be_repeated():
    assert allowed(for_all(*["Disallow: /*a*a*a*a*a*b"] * 10_000, "Disallow: /x*y"), "/" + "a" * 2000, "/xy") == [
        True,
        False,
    ]


def test_too_many_wildcards_block_too_much_and_never_too_little():
    n = MAX_WILDCARD_CHARS // 20 - 5
    within = [f"Disallow: /a*{k:06d}x" for k in range(n)]
    beyond = ["Disallow: /b/*c$", "Disallow: /e$", "Allow: /b/*d", "Disallow: /f", "Allow: /b/longer-than-that/"]
    few = allowed(for_all(*within[:10], *beyond), "/a", "/a000001x", "/b/", "/b/c", "/b/c/d", "/e/", "/f")
    assert few == [True, False, True, False, True, True, False]
    many = allowed(for_all(*within * 2, *beyond), "/a", "/a000001x", "/b/", "/b/c", "/b/c/d", "/e/", "/f")
    assert many == few
    many = allowed(for_all(*within, *[w + "y" for w in within], *beyond), "/b/", "/b/c", "/b/c/d", "/e/", "/f", "/g")
    assert many == [False, False, False, False, False, True]
    # The longer rule still wins, be it cut or not.
    blocking = ["Disallow: /b/*" + "x" * 30, *beyond]
    assert allowed(for_all(*within, *[w + "y" for w in within], *blocking), "/b/longer-than-that/") == [False]


robots_lines = st.lists(
    st.one_of(
        st.builds(
            "{}{}{}".format,
            st.sampled_from(
                ["User-agent", "user agent", "Allow", "Disallow", "Crawl-delay", "Sitemap", "Host", "Foo", ""]
            ),
            st.sampled_from([":", ": ", " ", "", " : "]),
            st.one_of(
                st.sampled_from(["*", "Orienteer", "o", "/", "/a", "/*a$", "5", "$", "%"]),
                st.text("/a*$%2# é", max_size=9),
            ),
        ),
        st.text(max_size=20),
    )
)
urls = st.one_of(
    st.text(),
    st.text("/a*$%2?#é:@[]\\ \ud800", max_size=30),
    st.builds("http://a/{}".format, st.text("/a*$%2?é", max_size=9)),
)


@given(robots_lines.map("\n".join).map(str.encode), urls)
@example(b"User-agent: *\nDisallow: /", "http://[")
@example(b"User-agent: *\nDisallow: /", "http://a/\ud800")
@example(b"User-agent: *\nDisallow: /", "http://\u2100/robots.txt")
def test_arbitrary_files_and_urls_have_a_result(content, url):
    rules = robots(content)
    assert rules.allows(url) in (True, False)
    assert rules.allows(f"{ROOT}/robots.txt")
    assert rules.delay_s is None or 0 <= rules.delay_s <= 60
    assert all(sitemap.startswith("http") for sitemap in rules.sitemaps)


@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_parsed(content):
    assert robots(content).allows(f"{ROOT}/") in (True, False)
    assert robots(b"User-agent: *\n" + content).allows(f"{ROOT}/") in (True, False)


paths = st.text("/ab", max_size=6).map(lambda path: "/" + path)


@given(st.lists(st.tuples(st.booleans(), st.text("/ab*$", min_size=1, max_size=7).map(lambda p: "/" + p))), paths)
def test_the_longest_matching_pattern_wins_and_allow_wins_a_tie(rules, path):
    def matches(pattern: str) -> bool:
        # Without wildcards a prefix; `*` by the textbook, place by place.
        anchored = pattern.endswith("$")
        pattern = pattern[:-1] if anchored else pattern + "*"
        places = {0}
        for char in pattern:
            if char == "*":
                places = set(range(min(places), len(path) + 1)) if places else set()
            else:
                places = {place + 1 for place in places if path[place : place + 1] == char}
        return len(path) in places

    deciding = [(len(pattern), is_allow) for is_allow, pattern in rules if matches(pattern)]
    text = for_all(*(f"{'Allow' if is_allow else 'Disallow'}: {pattern}" for is_allow, pattern in rules))
    assert allowed(text, path) == [max(deciding, default=(0, True))[1]]
