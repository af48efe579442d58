"""Inside or outside: scopes of all kinds."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.errors import InputError
from orienteer.ledger.scope import Scope
from orienteer.ledger.settings import SCOPE_KINDS, ScopeSettings
from orienteer.url import canonical_url, host_of
from tests.tables import over_rows

SEED = "https://www.example.org/docs/start.html?v=1"


def inside(scope: Scope, *urls: str) -> list[bool]:
    return scope.contains(urls).tolist()


def scope_of(kind: str, *seeds: str, **more) -> Scope:
    return Scope(ScopeSettings(kind, **more), seeds or [SEED])


def test_a_host_scope_holds_the_seeds_hosts_over_http_and_https():
    scope = scope_of("host", SEED, "http://localhost:8000/")
    assert (
        inside(scope, "http://www.example.org/", "https://www.example.org/x?y", "https://localhost:8000/z")
        == [True] * 3
    )
    outside = [
        "https://example.org/",
        "https://a.www.example.org/",
        "https://www.example.org:8080/",
        "http://localhost/",
    ]
    assert inside(scope, *outside) == [False] * 4
    assert scope.why_outside(outside[0]) == "host example.org is not among the seeds' hosts"
    assert scope.why_outside(SEED) is None


def test_a_site_scope_holds_the_seeds_registrable_domains():
    scope = scope_of("site", "https://www.example.co.uk/", "http://127.0.0.1:8000/")
    within = ["http://example.co.uk/", "https://a.b.example.co.uk:8080/", "https://127.0.0.1/"]
    assert inside(scope, *within, *within) == [True] * 6
    outside = ["http://other.co.uk/", "http://co.uk/", "http://127.0.0.2/", "http://badexample.co.uk/"]
    assert inside(scope, *outside) == [False] * 4
    assert scope.why_outside(outside[0]) == "site other.co.uk is not among the seeds' sites"


def test_a_prefix_scope_holds_what_is_below_the_seeds_directories():
    scope = scope_of("prefix", SEED, "http://other.org/a/?x=/b/c")
    within = ["https://www.example.org/docs/", "http://www.example.org/docs/a/b", "https://www.example.org/docs/?q"]
    assert inside(scope, *within, "http://other.org/a/b") == [True] * 4
    outside = [
        "https://www.example.org/docs",
        "https://www.example.org/",
        "https://www.example.org/Docs/",
        "http://other.org/",
    ]
    assert inside(scope, *outside) == [False] * 4
    assert scope.why_outside(outside[0]) == "it is in no directory of a seed"
    assert inside(scope_of("prefix", "http://a.org/"), "https://a.org/x", "https://a.org.b/") == [True, False]


def test_a_web_scope_holds_everything():
    assert inside(scope_of("web"), "http://a/", "https://b.org/c") == [True, True]
    assert scope_of("web").why_outside("http://a/") is None


def test_one_allow_must_match_and_no_deny_may():
    scope = scope_of("host", allow=(r"/docs/", r"\.html$"), deny=(r"\?", "(?i)/PRIVATE/"))
    root = "https://www.example.org"
    urls = [
        f"{root}/docs/a",
        f"{root}/x.html",
        f"{root}/x",
        f"{root}/docs/?a",
        f"{root}/docs/private/a",
        "http://a/docs/",
    ]
    assert inside(scope, *urls) == [True, True, False, False, False, False]
    assert [scope.why_outside(url) for url in urls] == [
        None,
        None,
        "matches no --allow",
        r"matches --deny '\\?'",
        "matches --deny '(?i)/PRIVATE/'",
        "host a is not among the seeds' hosts",
    ]


@pytest.mark.parametrize("kind", ["host", "site", "prefix"])
def test_a_scope_widens_where_a_seed_is_redirected(kind):
    scope = scope_of(kind)
    moved = "https://www.moved.org/new/home"
    assert inside(scope, moved, SEED) == [False, True]
    scope.widen(moved)
    assert inside(scope, moved, SEED, "http://third.org/") == [True, True, False]


@pytest.mark.parametrize("kind", SCOPE_KINDS)
def test_no_urls_and_no_seeds_are_no_problem(kind):
    scope = Scope(ScopeSettings(kind), [])
    assert scope.contains([]).dtype == np.bool_
    assert inside(scope) == []
    assert inside(scope, "http://a/", "no url") == [kind == "web"] * 2


@over_rows(
    ("settings", "message"),
    [
        (
            {"kind": "hosts"},
            "no choice for kind named 'hosts'; did you mean 'host'? (choices: host, prefix, site, web)",
        ),
        (
            {"allow": ("a", "(b")},
            "allow: '(b' is no regular expression: missing ), unterminated subpattern at position 0",
        ),
        ({"deny": ("*",)}, "deny: '*' is no regular expression: nothing to repeat at position 0"),
        ({"deny": "a"}, "deny is 'a'; it must be a list of regular expressions"),
        ({"max_depth": -1}, "max_depth is -1; it must be at least 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused_in_one_line(settings, message):
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        ScopeSettings(**settings)


urls = st.builds(
    "{}://{}/{}".format,
    st.sampled_from(["http", "https"]),
    st.sampled_from(["a.org", "b.a.org", "a.org:81", "b.co.uk", "c.b.co.uk", "127.0.0.1", "[::1]:8", "localhost"]),
    st.sampled_from(["", "a", "a/", "a/b", "a/b/?c/d", "a/;d", "?a"]),
).map(canonical_url)


@given(st.sampled_from(SCOPE_KINDS), st.lists(urls, max_size=3), st.lists(urls), st.sampled_from([(), ("a",)]))
def test_a_page_is_outside_if_and_only_if_there_is_a_reason(kind, seeds, pages, patterns):
    scope = Scope(ScopeSettings(kind, allow=patterns, deny=tuple(p + "/b" for p in patterns)), seeds)
    reasons = [scope.why_outside(url) for url in pages]
    assert inside(scope, *pages) == [reason is None for reason in reasons]
    assert scope.contains(seeds).all() or patterns


@given(st.lists(urls), st.lists(urls))
def test_the_host_scope_means_the_same_hosts_as_the_rest_of_the_crawl(seeds, pages):
    hosts = {host_of(seed) for seed in seeds}
    assert inside(Scope(ScopeSettings(), seeds), *pages) == [host_of(url) in hosts for url in pages]


@given(st.lists(urls, min_size=1), st.lists(urls))
def test_each_kind_holds_all_of_the_narrower_one(seeds, pages):
    narrow = np.zeros(len(pages), np.bool_)
    for kind in ("prefix", "host", "site", "web"):
        wide = Scope(ScopeSettings(kind), seeds).contains(pages)
        assert (narrow <= wide).all()
        narrow = wide
