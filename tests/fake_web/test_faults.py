"""Webs that fail, and webs that never end."""

from __future__ import annotations

from collections import Counter

import pytest

from orienteer.errors import InputError
from orienteer.graph.shapes import clique
from tests.extract.only_links import extract_links
from tests.fake_web.client import exchange, fetch, request_for
from tests.fake_web.fake_response import FakeResponse
from tests.fake_web.faults import Faulty
from tests.fake_web.graph_site import GraphSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import MadeSite, RequestHeaders, Site, host_and_target
from tests.fake_web.traps import ENTRANCE, with_traps

NO_HEADERS = RequestHeaders(b"")
SITE = GraphSite(clique(400), page_bytes=0)
URLS = SITE.urls()


def ask(site: Site, url: str) -> FakeResponse:
    return site.response(*host_and_target(url), NO_HEADERS)


def test_fates_have_their_shares_and_stay_the_same():
    shares = {"not_found": 0.1, "server_error": 0.15, "redirects": 0.2, "resets": 0.05, "slow": 0.1}
    first, second = Faulty(SITE, **shares), Faulty(SITE, **shares)
    fates = [first.fate(url) for url in URLS]
    assert fates == [second.fate(url) for url in URLS]
    assert fates != [Faulty(SITE, rng=1, **shares).fate(url) for url in URLS]
    counts = Counter(fates)
    expected = {"not found": 40, "server error": 60, "moved": 80, "reset": 20, "slow": 40, "fine": 160}
    assert counts.keys() == expected.keys()
    assert all(abs(counts[fate] - n) < 0.5 * n for fate, n in expected.items())
    assert first.fate("http://h0.test/robots.txt") == "fine"


def test_without_faults_nothing_changes():
    assert all(ask(Faulty(SITE), url) == ask(SITE, url) for url in URLS[:20])


def test_a_page_that_is_not_found_stays_away():
    site = Faulty(SITE, not_found=1.0)
    assert {ask(site, URLS[1]).status for _ in range(5)} == {404}


def test_server_errors_pass():
    site = Faulty(SITE, server_error=1.0, n_failures=3)
    statuses = [ask(site, URLS[1]).status for _ in range(5)]
    assert set(statuses[:3]) <= {500, 502, 503}
    assert statuses[3:] == [200, 200]
    assert ask(site, URLS[2]).status >= 500


def test_a_page_that_moved_is_found_at_its_new_place():
    site = Faulty(SITE, redirects=1.0)
    statuses = set()
    for url in URLS[:30]:
        response = ask(site, url)
        statuses.add(response.status)
        location = dict(response.headers)["Location"]
        moved = "http://h0.test" + location
        assert site.fate(moved) == "fine"
        assert ask(site, moved).body == ask(SITE, url).body
    assert statuses == {301, 302, 307, 308}
    with_query = ask(Faulty(MadeSite({}), redirects=1.0), "http://a.test/?x=1")
    assert dict(with_query.headers)["Location"] == "/?x=1&moved=1"
    assert ask(Faulty(SITE), URLS[1] + "?moved=1").status == 404


def test_resets_and_slow_pages():
    assert ask(Faulty(SITE, resets=1.0), URLS[1]).reset
    slow = ask(Faulty(SITE, slow=1.0, slow_bytes_per_s=50), URLS[1])
    assert (slow.bytes_per_s, slow.body) == (50, ask(SITE, URLS[1]).body)


def test_latency_is_in_its_range_and_adds_to_delays():
    site = Faulty(SITE, latency_s=(0.1, 0.3))
    delays = [ask(site, url).delay_s for url in URLS]
    assert 0.1 <= min(delays) < 0.12
    assert 0.28 < max(delays) <= 0.3
    assert ask(site, URLS[5]).delay_s == delays[5]
    late = Faulty(MadeSite({URLS[0]: FakeResponse("x", delay_s=1)}), latency_s=(0.5, 0.5))
    assert ask(late, URLS[0]).delay_s == 1.5


def test_dead_and_dying_hosts():
    site = Faulty(
        MadeSite({"http://a.test/": "a", "http://b.test/": "b"}), dead_hosts=["a.test"], dies_after={"b.test": 2}
    )
    with FakeWeb(site) as web:
        assert exchange(web.port, request_for("http://a.test/")).end == "reset"
        assert [fetch(web.port, "http://b.test/")[0] for _ in range(2)] == [200, 200]
        assert exchange(web.port, request_for("http://b.test/")).end == "reset"


@pytest.mark.parametrize(
    "wrong", [{"not_found": -0.1}, {"slow": 0.6, "resets": 0.6}, {"latency_s": (0.2, 0.1)}, {"n_failures": 0}]
)
def test_faults_that_make_no_sense(wrong):
    with pytest.raises(InputError):
        Faulty(SITE, **wrong)


TRAPPED = with_traps(MadeSite({"http://a.test/": "<p>home", "http://a.test/p": "<p>page"}), n_hops=5, n_links=1000)


def links(site: Site, url: str) -> list[str]:
    response = ask(site, url)
    assert response.status == 200
    body = response.body.encode() if isinstance(response.body, str) else response.body
    return extract_links(body, url)


def test_the_home_page_leads_to_the_traps():
    assert links(TRAPPED, "http://a.test/") == ["http://a.test" + ENTRANCE]
    assert len(links(TRAPPED, "http://a.test/traps")) == 6
    assert links(TRAPPED, "http://a.test/p") == []
    assert ask(TRAPPED, "http://b.test/").status == 404


def test_the_calendar_never_ends():
    url = links(TRAPPED, "http://a.test/calendar/")[0]
    seen = {url}
    for k in range(2000):
        url = links(TRAPPED, url)[k % 3]
        assert url not in seen
        seen.add(url)
    assert links(TRAPPED, "http://a.test/calendar/2027-12-31") == [
        "http://a.test/calendar/2028-01-01",
        "http://a.test/calendar/2028-12-01",
    ]
    assert "http://a.test/calendar/2028-02-29" in links(TRAPPED, "http://a.test/calendar/2028-02-28")
    assert ask(TRAPPED, "http://a.test/calendar/2027-02-29").status == 404


def test_sessions_never_repeat_a_url():
    seen: set[str] = set()
    url = "http://a.test/session/"
    for _ in range(100):
        found = links(TRAPPED, url)
        assert len(found) == 4
        assert not seen & set(found)
        seen.update(found)
        url = found[-1]


def test_redirects_that_lead_nowhere_or_far():
    def location(url: str) -> str:
        return dict(ask(TRAPPED, url).headers)["Location"]

    assert location("http://a.test/loop/a") == "/loop/b"
    assert location("http://a.test/loop/b") == "/loop/a"
    assert location("http://a.test/hops/endless/41") == "/hops/endless/42"
    path, n_hops = "/hops/5", 0
    while ask(TRAPPED, "http://a.test" + path).status == 301:
        path, n_hops = location("http://a.test" + path), n_hops + 1
    assert (path, n_hops) == ("/hops/0", 5)


def test_a_page_with_a_great_many_links():
    assert len(links(TRAPPED, "http://a.test/links")) == 1000
    assert ask(TRAPPED, "http://a.test/links/5").status == 404
