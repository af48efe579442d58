from __future__ import annotations

import secrets

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.crawl.seen import SeenUrls
from orienteer.url import canonical_url, host_of
from tests.tables import over_rows

names = st.sampled_from(["a.example", "b.example", "www.a.example", "a.example:8080", "10.0.0.1", "[::1]:81", "[::1]"])
paths = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=20)
some_urls = st.builds(
    lambda scheme, name, path: f"{scheme}://{name}/{path}", st.sampled_from(["http", "https"]), names, paths
)


def new_seen() -> SeenUrls:
    return SeenUrls(secrets.token_bytes(16))


@given(st.lists(st.lists(some_urls, max_size=20), max_size=12))
def test_it_numbers_like_a_dict(batches: list[list[str]]) -> None:
    seen, expected = new_seen(), {}
    hosts: dict[str, int] = {}
    for batch in batches:
        ids, new = seen.number(batch)
        first_seen = [k for k, url in enumerate(batch) if url not in expected and url not in batch[:k]]
        assert new.tolist() == first_seen
        assert ids.tolist() == [expected.setdefault(url, len(expected)) for url in batch]
    host_ids = [hosts.setdefault(url.split("/")[2], len(hosts)) for url in expected]
    assert len(seen) == len(expected)
    assert seen.hosts.tolist() == host_ids
    assert (seen.n_hosts, list(seen.host_names)) == (len(hosts), list(hosts))
    assert [seen.host_name(host) for host in range(seen.n_hosts)] == list(hosts)
    assert [seen.find(url) for url in expected] == list(range(len(expected)))
    assert [seen.find_host(name) for name in hosts] == list(range(len(hosts)))
    assert (seen.find("http://never.example/"), seen.find_host("never.example")) == (None, None)


@given(st.lists(some_urls, unique=True, max_size=40), st.integers(0, 40), st.booleans())
def test_reopening_by_lines_is_the_same_as_seeing_them(urls: list[str], n_before: int, ends_in_newline: bool) -> None:
    seen, reopened = new_seen(), new_seen()
    seen.number(urls)
    reopened.number(urls[:n_before])
    lines = "\n".join(urls[n_before:]).encode()
    assert reopened.number_lines(lines + b"\n" * (ends_in_newline and len(lines) > 0)) == len(urls[n_before:])
    assert reopened.number(urls)[0].tolist() == list(range(len(urls)))
    assert reopened.hosts.tolist() == seen.hosts.tolist()
    assert list(reopened.host_names) == list(seen.host_names)


def test_ids_stay_while_it_grows(rng: np.random.Generator) -> None:
    urls = [f"http://h{k % 997}.example:{8000 + k % 3}/some/longer/path/{k}" for k in range(60_000)]
    seen, by_lines = new_seen(), new_seen()
    for start in range(0, len(urls), 50):
        ids, new = seen.number(urls[start : start + 50])
        assert (ids[0], len(new)) == (start, 50)
    assert by_lines.number_lines("\n".join(urls).encode()) == len(urls)
    order = rng.permutation(len(urls))
    for numbered in (seen, by_lines):
        ids, new = numbered.number([urls[k] for k in order])
        np.testing.assert_array_equal(ids, order)
        assert (len(new), numbered.n_hosts) == (0, 997 * 3)
    np.testing.assert_array_equal(seen.hosts, by_lines.hosts)
    assert [seen.host_name(int(host)) for host in seen.hosts[:9]] == [host_of(url) for url in urls[:9]]


def test_hosts_are_those_of_canonical_urls() -> None:
    texts = [
        "HTTP://Ä.example:80/ö?x=http://b.example/#c",
        "https://a.example:80",
        "http://[::1]:8080/a/b",
        "http://1.2.3.4?q",
    ]
    urls = [canonical_url(text) or "" for text in texts]
    seen = new_seen()
    seen.number(urls)
    assert list(seen.host_names) == [host_of(url) for url in urls]


@over_rows("url", ["", "a", "http:/a/", "http://a", "://a/", "http:///a", "//a/b", "http:x/a/", "a/b://c/",
                                 "http://a/\n", "http://a/\nhttp://b/", "http://a/ b", "http://a/ü", "http://ü/", "http://a/\x7f",
                                 "http://a/\ud800", "http:\x01/a/"])  # fmt: skip
def test_what_is_no_canonical_url_is_refused_with_its_whole_batch(url: str) -> None:
    seen = new_seen()
    for batch in ([url], ["http://a.example/", url], [url, "http://a.example/"]):
        with pytest.raises(ValueError, match="not a canonical URL: ") as caught:
            seen.number(batch)
        assert repr(url) in str(caught.value)
    assert (len(seen), seen.n_hosts, seen.find("http://a.example/"), seen.find(url)) == (0, 0, None, None)


def test_lines_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match=r"not a canonical URL: ''"):
        new_seen().number_lines(b"http://a/\n\nhttp://b/\n")
    with pytest.raises(ValueError, match=r"not a canonical URL: 'http://\ufffd/'"):
        new_seen().number_lines(b"http://a/\nhttp://\xff/\n")
    with pytest.raises(ValueError, match="a URL occurs twice in the lines from byte 0 to 30"):
        new_seen().number_lines(b"http://a/\nhttp://b/\nhttp://a/\n")


def test_nothing_is_numbered_as_nothing() -> None:
    seen = new_seen()
    ids, new = seen.number([])
    assert (ids.tolist(), new.tolist(), seen.number_lines(b""), len(seen)) == ([], [], 0, 0)


def test_the_key_decides_the_slots_of_urls_but_not_their_ids() -> None:
    urls = [f"http://a.example/{k}" for k in range(200)]
    one, other = SeenUrls(bytes(16)), SeenUrls(bytes(range(16)))
    assert one.number(urls)[0].tolist() == other.number(urls)[0].tolist()
    assert one._table.tolist() != other._table.tolist()
    with pytest.raises(ValueError, match="the key has 5 bytes"):
        SeenUrls(b"short")


def test_a_url_takes_at_most_26_bytes() -> None:
    """Counting what is used of the arrays that grow ahead of their use, and all of the table."""
    seen = new_seen()
    for start in range(0, 200_000, 1000):
        seen.number([f"http://a.example/{k}" for k in range(start, start + 1000)])
        if start >= 10_000:
            used = 16 * len(seen) + seen.hosts.nbytes + seen._table.nbytes
            assert used <= 26 * len(seen)
            assert len(seen) <= 0.85 * len(seen._table)
