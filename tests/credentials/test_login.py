"""Logins by a form: how they begin, how they fail, and what happens when a session ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from orienteer.credentials.credentials_file import read_credentials
from orienteer.errors import LoginError
from orienteer.ledger.plan import CrawlPlan
from orienteer.live.asset_queues import AssetKey
from orienteer.live.session import open_crawl
from orienteer.pages.stop_reason import StopReason
from tests.credentials.conftest import crawled, files_with
from tests.credentials.servers import RecordedRequest, Recorder, Reply, moved
from tests.live.live_crawls import StoredCrawl

WIKI = "http://wiki.test"
PASSWORD = "open-sesame-77"
N_PAGES = 12
CREDENTIALS = f"""
["{WIKI}"]
["{WIKI}".login]
page = "/login"
fields = {{ user = "me", pass = "{PASSWORD}" }}
"""
FORM = """<h1>Please log in</h1><form><input name=q></form>
<form method=post action="/login"><input type=hidden name=csrf value="{token}">
<input name=user><input type=password name=pass><button name=do value=in>Go</button></form>"""


@dataclass
class Wiki:
    """Pages for logged-in users; the page `ends_at` ends the session, `n_ends` times.

    `refusal` is the response without a session: a redirect, the form instead of the page, or 401.
    """

    refusal: str = "redirect"
    password: str = PASSWORD
    ends_at: str = ""
    n_ends: int = 1
    private: str = ""  # a page of another account
    tokens: set[str] = field(default_factory=set)
    sessions: set[str] = field(default_factory=set)
    n_logins: int = 0

    def __call__(self, asked: RecordedRequest) -> Reply:
        if asked.target == "/robots.txt":
            return Reply("", 404)
        if asked.target.startswith("/logout"):
            self.sessions.clear()
            return Reply("<p>bye")
        if asked.target.partition("?")[0] == "/login":
            return self._submitted(asked) if asked.method == "POST" else self._form()
        if asked.target == self.ends_at and self.n_ends:
            self.n_ends -= 1
            self.sessions.clear()
        if asked.cookies.get("sid") not in self.sessions or asked.target == self.private:
            return self._refused(asked)
        links = "".join(f"<a href='/{k}'>{k}</a>" for k in range(N_PAGES))
        return Reply(f"<title>{asked.target}</title>{links}<a href='/logout?now'>out</a><a href='/login'>in</a>")

    def _form(self) -> Reply:
        token = f"token-{len(self.tokens):08}"
        self.tokens.add(token)
        return Reply(FORM.format(token=token), 200, [("Set-Cookie", f"csrf={token}; Path=/login")])

    def _submitted(self, asked: RecordedRequest) -> Reply:
        form = asked.form
        assert form["csrf"] in self.tokens
        assert form["csrf"] == asked.cookies["csrf"]
        assert (form["do"], form["user"]) == ("in", "me")
        assert (asked.headers["referer"], asked.headers["origin"]) == (f"{WIKI}/login", WIKI)
        if form["pass"] != self.password:
            return self._form()
        self.n_logins += 1
        self.sessions.add(f"session-{self.n_logins:08}")
        return moved("/", ("Set-Cookie", f"sid=session-{self.n_logins:08}; Path=/; HttpOnly"))

    def _refused(self, asked: RecordedRequest) -> Reply:
        if self.refusal == "redirect":
            return moved(f"/login?next={asked.target}", ("Set-Cookie", "sid=nobody-00000001; Path=/"))
        return self._form() if self.refusal == "form" else Reply("<p>who are you?", 401)


def pages(*but: str) -> set[str]:
    return {f"{WIKI}/", *(f"{WIKI}/{k}" for k in range(N_PAGES))} - {f"{WIKI}{target}" for target in but}


@pytest.mark.parametrize(
    ("refusal", "processes", "more"),
    [
        ("redirect", 1, ""),
        ("form", 2, ""),
        ("401", 1, 'check = "/3"\nsuccess_text = "<title>/</title>"\nfailed_text = "Please log in"\n'),
    ],
)
def test_a_session_that_ends_is_renewed(write_access, tmp_path: Path, refusal: str, processes: int, more: str) -> None:
    """All pages are fetched while logged in; no part of the login is archived."""
    wiki = Wiki(refusal, ends_at="/5")
    folder = tmp_path / "crawl"
    with Recorder(wiki) as web:
        report = crawled(
            web,
            f"{WIKI}/",
            folder,
            credentials=write_access(CREDENTIALS + more),
            settings={"crawl": {"processes": processes}},
        )
    assert report.stopped_because == StopReason.FRONTIER_EMPTY
    assert wiki.n_logins == 2
    stored = StoredCrawl(folder)
    assert stored.fetched_urls() == pages()
    assert stored.outcome(f"{WIKI}/logout?now") == "would log out"
    assert stored.outcome(f"{WIKI}/login") == "asks for a login"
    assert report.figures.certificate.blocked > 0
    assert not any(one.target.startswith("/logout") for one in web.asked)
    for secret in (PASSWORD, "session-0000", "token-0000", "nobody-0000", "Please log in"):
        assert files_with(secret, folder) == []


def test_robots_txt_that_an_asset_needs_first_is_requested_after_the_login(write_access, tmp_path: Path) -> None:
    wiki, received = Wiki(), []
    tables = {"crawl": {"seeds": [f"{WIKI}/"], "processes": 1, "guess_sitemap": False}, "render": {"mode": "never"}}
    tables["politeness"] = {"delay_s": 0.0}
    access = read_credentials(write_access(CREDENTIALS))
    with Recorder(wiki) as web:
        plan = CrawlPlan.of_tables({**tables, "fetch": {"connect_to": web.address}}, "test")
        with open_crawl(tmp_path / "crawl", plan, credentials=access) as live:
            live.assets.fetch_for_browser(AssetKey(f"{WIKI}/3"), "image", received.append)
            live.run()
    targets = [one.target for one in web.asked]
    assert targets.count("/robots.txt") == 1
    assert targets.index("/robots.txt") > targets.index("/login")
    assert len(received) == 1


def test_a_wrong_password_ends_a_new_crawl_in_one_line(write_access, tmp_path: Path) -> None:
    wiki = Wiki(password="another one")
    with Recorder(wiki) as web, pytest.raises(LoginError) as raised:
        crawled(web, f"{WIKI}/", tmp_path / "crawl", credentials=write_access(CREDENTIALS))
    assert (
        str(raised.value) == f"the login at {WIKI} failed: the login form was returned again; check user and password"
    )
    assert [one.target for one in web.asked] == ["/login", "/login"], "once, and no page"
    assert not (tmp_path / "crawl").exists()


def test_a_crawl_that_cannot_log_in_again_pauses_and_can_be_resumed(write_access, tmp_path: Path) -> None:
    folder, access = tmp_path / "crawl", write_access(CREDENTIALS)
    wiki = Wiki(ends_at="/5")

    def changed(asked: RecordedRequest) -> Reply:
        if asked.target == "/5":
            wiki.password = "changed meanwhile"
        return wiki(asked)

    with Recorder(changed) as web:
        report = crawled(web, f"{WIKI}/", folder, credentials=access, settings={"crawl": {"workers": 1}})
    assert report.stopped_because == StopReason.LOGIN_FAILED
    assert report.problem.startswith(f"the login at {WIKI} failed: the login form was returned again")
    assert not report.goal_reached
    before = StoredCrawl(folder).fetched_urls()
    assert before < pages("/5")
    assert len(before) > 2
    assert files_with("Please log in", folder) == []
    wiki.password = PASSWORD
    with Recorder(wiki) as web:
        report = crawled(web, f"{WIKI}/", folder, credentials=access)
    assert (report.stopped_because, report.problem) == (StopReason.FRONTIER_EMPTY, "")
    assert StoredCrawl(folder).fetched_urls() == pages()


@pytest.mark.parametrize("refusal", ["redirect", "form"])
def test_a_page_for_other_accounts_is_blocked_without_another_login(write_access, tmp_path: Path, refusal: str) -> None:
    wiki = Wiki(refusal, private="/7")
    with Recorder(wiki) as web:
        report = crawled(web, f"{WIKI}/", tmp_path / "crawl", credentials=write_access(CREDENTIALS))
    stored = StoredCrawl(tmp_path / "crawl")
    assert report.stopped_because == StopReason.FRONTIER_EMPTY
    assert wiki.n_logins == 1
    assert stored.fetched_urls() == pages("/7")
    assert stored.outcome(f"{WIKI}/7") == "asks for a login"


def test_a_session_that_ends_at_once_is_a_failed_login(write_access, tmp_path: Path) -> None:
    """Every page ends the session: the crawl does not log in again and again."""
    wiki = Wiki(n_ends=1000)

    def forgetful(asked: RecordedRequest) -> Reply:
        reply = wiki(asked)
        if asked.method == "GET" and asked.target != "/login":
            wiki.sessions.clear()
        return reply

    with Recorder(forgetful) as web, pytest.raises(LoginError, match="asks for a login, right after one"):
        crawled(web, f"{WIKI}/", tmp_path / "crawl", credentials=write_access(CREDENTIALS))
    assert wiki.n_logins == 1


def test_cookies_that_are_not_valid_any_more(write_access, tmp_path: Path) -> None:
    """Without a login to renew them the crawl pauses."""
    wiki = Wiki(ends_at="/5", sessions={"session-00000001"})
    access = write_access(
        f'["{WIKI}"]\nheaders = {{ Cookie = "sid=session-00000001" }}\n'
        f'["{WIKI}".logged_out]\npage = "/login"\ntext = "Please log in"\n'
    )
    with Recorder(wiki) as web:
        report = crawled(web, f"{WIKI}/", tmp_path / "crawl", credentials=access)
    assert report.stopped_because == StopReason.LOGIN_FAILED
    assert report.problem == f"the access to {WIKI} failed: the session has ended; are its cookies still valid?"
    assert f"{WIKI}/5" not in StoredCrawl(tmp_path / "crawl").fetched_urls()
