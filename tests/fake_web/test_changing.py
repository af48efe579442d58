"""Sites that change: conditional requests get a 304, unless the page has changed."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from orienteer.errors import InputError
from orienteer.graph.shapes import clique
from tests.conftest import random_web
from tests.extract.only_links import extract_links
from tests.fake_web.changing import MAINTENANCE, ChangingSite, SiteChanges, next_epoch
from tests.fake_web.client import CLOSE, exchange, fetch, request_for
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.faults import Faulty
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.page_site import PageSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite, RequestHeaders, Site, host_and_target

HELLO = "http://a.test/hello"
OTHER = "http://a.test/other"
PAGES = {HELLO: "<p>hello", OTHER: "<p>other", "http://a.test/x.png": FakeResponse(b"PNG", content_type="image/png")}
FIRST_DATE = "Wed, 01 Jan 2020 00:00:00 GMT"


@pytest.fixture
def site() -> ChangingSite:
    return ChangingSite(MadeSite(PAGES, robots={"*": "User-agent: *\n"}))


@pytest.fixture
def web(site: ChangingSite) -> Iterator[FakeWeb]:
    with FakeWeb(site) as web:
        yield web


def ask(web: FakeWeb, url: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body; underscores in names of headers are hyphens."""
    host, target = host_and_target(url)
    connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=300)
    try:
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("GET", target, headers={"Host": host, **more})
        response = connection.getresponse()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
    finally:
        connection.close()


def conditions(web: FakeWeb, url: str) -> dict[str, str]:
    """What a client that has the page sends along when it asks again."""
    headers = ask(web, url)[1]
    names = {"If_None_Match": "etag", "If_Modified_Since": "last-modified"}
    return {name: headers[key] for name, key in names.items() if key in headers}


def served(site: Site, url: str) -> bytes:
    """What the site sends as a body when it is not wrapped."""
    with FakeWeb(site) as web:
        return fetch(web.port, url)[2]


# -- conditional requests ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("validators", "named"),
    [("both", {"etag", "last-modified"}), ("etag", {"etag"}), ("modified", {"last-modified"}), ("none", set())],
)
def test_a_page_has_its_validators_and_is_not_sent_twice(validators, named) -> None:
    with FakeWeb(ChangingSite(MadeSite(PAGES), validators)) as web:
        status, headers, body = ask(web, HELLO)
        assert (status, body) == (200, b"<p>hello")
        assert headers.keys() & {"etag", "last-modified"} == named
        status, again, body = ask(web, HELLO, **conditions(web, HELLO))
        assert (status, body) == ((304, b"") if named else (200, b"<p>hello"))
        assert {name: again[name] for name in named} == {name: headers[name] for name in named}


def test_304_is_a_head_and_nothing_behind_it(web: FakeWeb) -> None:
    answer = exchange(web.port, request_for(HELLO, more="If-None-Match: *\r\n") + request_for(OTHER, more=CLOSE))
    first, _, second = answer.data.partition(b"\r\n\r\n")
    assert first.startswith(b"HTTP/1.1 304 Not Modified\r\nETag: ")
    assert b"Content-" not in first
    assert second.startswith(b"HTTP/1.1 200 OK\r\n")


def test_if_none_match_is_compared_weakly_and_may_be_a_list(web: FakeWeb) -> None:
    tag = ask(web, HELLO)[1]["etag"]
    same = (tag, f"W/{tag}", f'"x, y", {tag}', f'W/"x",W/{tag} ', "*", " * ")
    assert [ask(web, HELLO, If_None_Match=value)[0] for value in same] == [304] * len(same)
    other = ('"x"', 'W/"x"', tag.strip('"'), tag.upper(), "", '"*"', "rubbish", '"')
    assert [ask(web, HELLO, If_None_Match=value)[0] for value in other] == [200] * len(other)
    assert ask(web, OTHER, If_None_Match=tag)[0] == 200


@pytest.mark.parametrize(
    ("since", "status"),
    [
        (FIRST_DATE, 304),
        ("Thu, 02 Jan 2020 00:00:00 GMT", 304),
        ("Wed, 01 Jan 2020 01:00:00 +0100", 304),
        ("Tue, 31 Dec 2019 23:59:59 GMT", 200),
        ("yesterday", 200),
        ("Wed, 99 Jan 99999999999 00:00:00 GMT", 200),
        ("Wed, 01 Jan 0000 00:00:00 GMT", 200),
        ("", 200),
    ],
)
def test_if_modified_since(web: FakeWeb, since: str, status: int) -> None:
    assert ask(web, HELLO)[1]["last-modified"] == FIRST_DATE
    assert ask(web, HELLO, If_Modified_Since=since)[0] == status


def test_if_none_match_wins(web: FakeWeb) -> None:
    tag = ask(web, HELLO)[1]["etag"]
    assert ask(web, HELLO, If_None_Match='"x"', If_Modified_Since=FIRST_DATE)[0] == 200
    assert ask(web, HELLO, If_None_Match=tag, If_Modified_Since="Tue, 31 Dec 2019 00:00:00 GMT")[0] == 304


def test_a_condition_that_the_site_has_no_validator_for_is_not_met() -> None:
    for validators in ("etag", "modified", "none"):
        with FakeWeb(ChangingSite(MadeSite(PAGES), validators)) as web:
            tag_of_both = (
                ChangingSite(MadeSite(PAGES)).response(*host_and_target(HELLO), RequestHeaders(b"")).headers[0][1]
            )
            if validators != "etag":
                assert ask(web, HELLO, If_None_Match=tag_of_both)[0] == 200
            if validators != "modified":
                assert ask(web, HELLO, If_Modified_Since=FIRST_DATE)[0] == 200


def test_only_pages_have_validators(web: FakeWeb) -> None:
    for url, status in (("http://a.test/x.png", 200), ("http://a.test/none", 404), ("http://a.test/robots.txt", 200)):
        found, headers, _ = ask(web, url, If_None_Match="*")
        assert found == status
        assert not headers.keys() & {"etag", "last-modified"}


def test_other_sites_can_be_wrapped(tmp_path: Path) -> None:
    (tmp_path / "p.test").mkdir()
    (tmp_path / "p.test" / "index.html").write_text("<p>real")
    sites: dict[str, Site] = {
        "http://p.test/": PageSite(tmp_path),
        "http://h0.test/p1": GraphSite(clique(3)),
        HELLO: Faulty(MadeSite({HELLO: FakeResponse("<p>hello", gzip=True, chunked=True)}), latency_s=(0.001, 0.001)),
    }
    for url, wrapped in sites.items():
        with FakeWeb(ChangingSite(wrapped)) as web:
            assert fetch(web.port, url)[2] == served(wrapped, url)
            assert ask(web, url, **conditions(web, url))[::2] == (304, b"")


# -- changes ----------------------------------------------------------------------------------------------------


def test_an_edited_page_is_another_one(site: ChangingSite, web: FakeWeb) -> None:
    before = ask(web, HELLO)[1]
    old, untouched = conditions(web, HELLO), conditions(web, OTHER)
    site.edit(HELLO, "<p>goodbye")
    status, after, body = ask(web, HELLO, **old)
    assert (status, body) == (200, b"<p>goodbye") == (200, site.body_of(HELLO))
    assert after["etag"] != before["etag"]
    assert after["last-modified"] == "Wed, 01 Jan 2020 00:00:01 GMT"
    assert ask(web, HELLO, If_Modified_Since=FIRST_DATE)[0] == 200
    assert ask(web, HELLO, **conditions(web, HELLO))[0] == 304
    assert ask(web, OTHER, **untouched)[0] == 304


def test_a_page_that_is_written_anew_with_the_same_words_has_new_validators(site: ChangingSite, web: FakeWeb) -> None:
    old = conditions(web, HELLO)
    for _ in range(2):
        site.edit(HELLO, "<p>hello")
        assert ask(web, HELLO, **old)[::2] == (200, b"<p>hello")
        assert conditions(web, HELLO).items().isdisjoint(old.items())
        old = conditions(web, HELLO)


def test_an_edited_page_is_sent_the_way_it_was() -> None:
    site = ChangingSite(MadeSite({HELLO: FakeResponse("<p>hello", headers=(("X", "y"),), gzip=True)}))
    site.edit(HELLO, b"<p>more")
    answer = site.response(*host_and_target(HELLO), RequestHeaders(b""))
    assert (answer.gzip, answer.headers[0], answer.body) == (True, ("X", "y"), b"<p>more")


def test_pages_come_and_go(site: ChangingSite, web: FakeWeb) -> None:
    new = "http://b.test/new?x=1"
    assert ask(web, new)[0] == 404
    site.add(new, "<p>new")
    assert ask(web, new)[::2] == (200, b"<p>new")
    had = conditions(web, HELLO)
    for url, status in ((new, 404), (HELLO, 410)):
        site.delete(url, status)
        found, headers, _ = ask(web, url, **had)
        assert found == status
        assert "etag" not in headers
    site.restore(HELLO)
    assert ask(web, HELLO, **had)[0] == 304, "it is back as it was"
    site.add(new, "<p>newer")
    assert ask(web, new)[2] == b"<p>newer"


def test_invalid_changes_are_refused(site: ChangingSite) -> None:
    none = "http://a.test/none"
    site.delete(OTHER)
    for change in (lambda: site.edit(none, ""), lambda: site.delete(none), lambda: site.body_of(none)):
        with pytest.raises(InputError, match="http://a.test/none: no page here; the status is 404"):
            change()
    with pytest.raises(InputError, match="other: no page here"):
        site.edit(OTHER, "")
    with pytest.raises(InputError, match="hello: the page exists already"):
        site.add(HELLO, "")
    with pytest.raises(InputError, match="hello: it is not deleted"):
        site.restore(HELLO)
    with pytest.raises(InputError, match="status is 200"):
        site.delete(HELLO, 200)
    with pytest.raises(InputError, match="no outage 'fire'; choose from: refuse, 503, timeout, 404-everything"):
        site.outage("a.test", "fire")
    with pytest.raises(InputError, match=r"a.test: it has no outage"):
        site.end_outage("a.test")
    with pytest.raises(InputError, match="no validators 'all'; choose from: both, etag, modified, none"):
        ChangingSite(MadeSite({}), "all")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a MadeSite cannot list its pages"):
        site.urls()


def test_what_there_is_can_be_listed() -> None:
    site = ChangingSite(GraphSite(clique(3)))
    site.delete("http://h0.test/p1")
    site.add("http://new.test", "<p>new")
    assert site.urls() == ["http://h0.test/", "http://h0.test/p2", "http://new.test/"]
    site.delete("http://new.test/")
    site.restore("http://h0.test/p1")
    assert site.urls() == GraphSite(clique(3)).urls()


# -- outages ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "status"), [("503", 503), ("404-everything", 404), ("maintenance", 302), ("same-page", 200)]
)
def test_a_host_that_is_out_of_order_answers_so_to_everything(
    kind: str, status: int, site: ChangingSite, web: FakeWeb
) -> None:
    site.add("http://b.test/", "<p>another host")
    had = conditions(web, HELLO)
    site.outage("A.test", kind)
    answers = [ask(web, url, **had) for url in (HELLO, OTHER, "http://a.test/none", "http://a.test/robots.txt")]
    assert [found for found, _, _ in answers] == [status] * 4
    assert len({body for _, _, body in answers}) == 1
    if kind == "maintenance":
        assert answers[0][1]["location"] == "/maintenance"
        assert ask(web, "http://a.test/maintenance")[::2] == (200, str(MAINTENANCE.body).encode())
    if kind == "same-page":
        assert answers[0][2] == str(MAINTENANCE.body).encode()
    assert ask(web, "http://b.test/")[0] == 200
    site.end_outage("a.test")
    assert ask(web, HELLO, **had)[0] == 304


@pytest.mark.parametrize(("kind", "end"), [("refuse", "reset"), ("timeout", "silence")])
def test_a_host_that_says_nothing(kind: str, end: str, site: ChangingSite, web: FakeWeb) -> None:
    site.outage("a.test", kind)
    received = exchange(web.port, request_for(HELLO), first_timeout_s=0.3)
    assert (received.data, received.end) == (b"", end)
    assert site.traffic.requests == {(HELLO, 0): 1}
    assert site.traffic.bytes_sent == 0
    site.end_outage("a.test")
    assert ask(web, HELLO)[0] == 200


def test_faults_go_around_it(site: ChangingSite) -> None:
    with FakeWeb(Faulty(site, server_error=1.0, n_failures=1)) as web:
        assert ask(web, HELLO)[0] >= 500
        assert ask(web, HELLO, If_None_Match="*")[0] == 304
    assert site.traffic.requests == {(HELLO, 304): 1}


# -- counts -----------------------------------------------------------------------------------------------------


def test_every_epoch_is_counted_by_itself(site: ChangingSite, web: FakeWeb) -> None:
    had = conditions(web, HELLO)
    ask(web, OTHER)
    ask(web, "http://a.test/none")
    first = site.traffic
    site.begin_epoch()
    ask(web, HELLO, **had)
    ask(web, HELLO, **had)
    site.edit(HELLO, "<p>goodbye")
    sent = exchange(web.port, request_for(HELLO, more=CLOSE))
    assert first.requests == {(HELLO, 200): 1, (OTHER, 200): 1, ("http://a.test/none", 404): 1}
    assert (first.n_requests, first.n_not_modified) == (3, 0)
    assert site.traffic.requests == {(HELLO, 304): 2, (HELLO, 200): 1}
    assert (site.traffic.n_requests, site.traffic.n_not_modified) == (3, 2)
    assert site.epochs == [first, site.traffic]
    site.begin_epoch()
    assert exchange(web.port, request_for(HELLO, more=CLOSE)).data == sent.data
    assert site.traffic.bytes_sent == len(sent.data)


def test_it_is_changed_while_it_is_asked(site: ChangingSite, web: FakeWeb) -> None:
    """Whatever comes is one version: body, tag and date belong together."""
    n_edits, seen = 50, set()

    def edit() -> None:
        for k in range(1, n_edits + 1):
            site.edit(HELLO, f"<p>{k}")

    editor = threading.Thread(target=edit)
    editor.start()
    try:
        for _ in range(n_edits):
            _, headers, body = ask(web, HELLO)
            seen.add((body, headers["etag"], headers["last-modified"]))
    finally:
        editor.join()
    assert len({body for body, _, _ in seen}) == len(seen)
    assert site.traffic.n_requests == n_edits


# -- whole webs -------------------------------------------------------------------------------------------------


def changing_web(rng: np.random.Generator, n_pages: int = 200) -> ChangingSite:
    return ChangingSite(GraphSite(random_web(rng, n_pages, with_hosts=True), page_bytes=500))


def bodies(site: ChangingSite) -> dict[str, bytes]:
    return {url: site.body_of(url) for url in site.urls()}


def test_an_epoch_changes_what_it_says_and_nothing_else(rng: np.random.Generator) -> None:
    site = changing_web(rng)
    for _ in range(3):
        before = bodies(site)
        changes = next_epoch(rng, site, share_new=0.1, share_edited=0.2, share_deleted=0.05)
        after = bodies(site)
        assert changes.new == after.keys() - before.keys()
        assert changes.deleted == before.keys() - after.keys()
        assert changes.edited == {url for url in before.keys() & after.keys() if before[url] != after[url]}
        sizes = [round(share * len(before)) for share in (0.1, 0.2, 0.05)]
        assert [len(urls) for urls in changes] == sizes


def test_links_stay_and_lead_to_what_is_new(rng: np.random.Generator) -> None:
    site = changing_web(rng)
    before = {url: set(extract_links(body, url)) for url, body in bodies(site).items()}
    changes = next_epoch(rng, site, share_new=0.1, share_edited=0.2, share_deleted=0.1)
    after = {url: set(extract_links(body, url)) for url, body in bodies(site).items()}
    assert all(before[url] <= after[url] for url in changes.edited)
    added = set().union(*(after[url] - before[url] for url in changes.edited))
    assert changes.new <= added <= after.keys()
    assert any(after[url] == before[url] for url in changes.edited), "the text alone changed"
    assert any(changes.deleted & after[url] for url in after), "links to what is gone stay"
    for url in changes.new:
        assert after[url]
        assert after[url] <= after.keys() - changes.new


def test_a_perfect_refresh_finds_exactly_the_changes(rng: np.random.Generator) -> None:
    site = changing_web(rng, 60)
    with FakeWeb(site) as web:
        had = {url: conditions(web, url) for url in site.urls()}
        changes = next_epoch(rng, site, share_new=0.1, share_edited=0.2, share_deleted=0.1)
        site.begin_epoch()
        found: dict[int, set[str]] = {200: set(), 304: set(), 404: set()}
        for url, validators in had.items():
            found[ask(web, url, **validators)[0]].add(url)
        linked = {link for url in found[200] for link in extract_links(ask(web, url)[2], url)}
    assert (found[200], found[404]) == (changes.edited, changes.deleted)
    assert linked - had.keys() == changes.new
    assert site.traffic.n_not_modified == len(found[304]) == 60 - len(changes.edited) - len(changes.deleted)


def test_the_same_numbers_give_the_same_web(rng: np.random.Generator) -> None:
    webs = [changing_web(np.random.default_rng(1)) for _ in range(2)]
    shares = {"share_new": 0.05, "share_edited": 0.1, "share_deleted": 0.05}
    first, second = (next_epoch(np.random.default_rng(2), site, **shares) for site in webs)
    assert first == second
    assert bodies(webs[0]) == bodies(webs[1])
    assert next_epoch(rng, changing_web(np.random.default_rng(1)), **shares) != first


def test_all_may_happen_among_some_pages_only(rng: np.random.Generator) -> None:
    site = changing_web(rng)
    some = site.urls()[:20]
    spelt_otherwise = [url.replace("http:", "https:") for url in some]
    changes = next_epoch(rng, site, share_new=0.5, share_edited=0.5, share_deleted=0.5, among=spelt_otherwise)
    assert changes.edited | changes.deleted == set(some)
    assert (len(changes.new), len(changes.edited), len(changes.deleted)) == (10, 10, 10)


def test_a_new_page_needs_an_edited_one(rng: np.random.Generator) -> None:
    site = changing_web(rng)
    changes = next_epoch(rng, site, share_new=0.01)
    assert [len(urls) for urls in changes] == [2, 1, 0]
    assert next_epoch(rng, site) == SiteChanges(frozenset(), frozenset(), frozenset())


def test_changes_that_cannot_be(rng: np.random.Generator) -> None:
    site = changing_web(rng, 10)
    with pytest.raises(InputError, match=r"the shares .* are \(0.0, 0.6, 0.6\)"):
        next_epoch(rng, site, share_edited=0.6, share_deleted=0.6)
    with pytest.raises(InputError, match="10 pages are too few to edit 1 and delete 10 of them"):
        next_epoch(rng, site, share_new=0.1, share_deleted=1.0)


def test_a_page_without_an_end_grows_at_its_end(rng: np.random.Generator, tmp_path: Path) -> None:
    (tmp_path / "p.test").mkdir()
    for name, end in (("open.html", ""), ("closed.html", "</BODY></html>")):
        (tmp_path / "p.test" / name).write_text(f"<p>text{end}")
    site = ChangingSite(PageSite(tmp_path))
    next_epoch(rng, site, share_edited=1.0)
    assert site.body_of("http://p.test/open.html").startswith(b"<p>text<p>")
    closed = site.body_of("http://p.test/closed.html")
    assert closed.startswith(b"<p>text<p>")
    assert closed.endswith(b"</BODY></html>")
