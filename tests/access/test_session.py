"""Logins step by step: which forms are sent, where redirects are followed, and what counts as failed."""

from __future__ import annotations

import pytest

from orienteer.access.grant import Access, Grant, LoginSettings
from orienteer.access.keyring import Keyring
from orienteer.access.session import Kind
from orienteer.answers.answer import Fetched, outcome_of
from orienteer.answers.headers import Headers
from orienteer.answers.logged_out import LoggedOutSigns

WIKI, SSO = "https://wiki.test", "https://sso.test"
PAGE = f"{WIKI}/"
FIELDS = {"user": "me", "pass": "open-sesame-77"}
FORM = "<form method=post action='{}'><input name=user><input type=password name=pass></form>"


class Dialogue:
    """A login at the wiki, by a page of another host; answers are made up."""

    def __init__(self, page: str = f"{SSO}/login", **login: str) -> None:
        settings = LoginSettings(page, FIELDS, **login)
        signs = LoggedOutSigns((page,), (), (401,), tuple(FIELDS))
        grants = {WIKI: Grant(WIKI, login=settings, signs=signs), SSO: Grant(SSO, (("X-Key", "for the sso"),))}
        self.keyring = Keyring(Access(grants))

    def asks(self) -> tuple[Kind, str] | None:
        step = self.keyring.next_step(PAGE)
        return None if step is None else (step.kind, step.url)

    def hears(self, html: str = "", status: int = 200, location: str = "", cookie: str = "") -> Dialogue:
        step = self.keyring.next_step(PAGE)
        assert step is not None
        request = self.keyring.request_of(step, PAGE, 0)
        assert request.secrets is not None
        self.sent = dict(request.secrets.headers)
        headers = Headers([("Location", location)] if location else [])
        answer = Fetched(
            request, outcome_of(status, headers, request.url), status, headers=headers, content=html.encode()
        )
        self.keyring.came(step, PAGE, answer, (cookie,) if cookie else ())
        return self


def test_a_login_by_another_host() -> None:
    """Each host sees its own cookies, and what is meant for it."""
    login = Dialogue()
    assert login.asks() == (Kind.PAGE, f"{SSO}/login")
    login.hears(FORM.format("/login"), cookie="pre=1; Path=/")
    assert login.sent == {"X-Key": "for the sso"}
    assert login.asks() == (Kind.SUBMIT, f"{SSO}/login")
    login.hears(status=302, location=f"{WIKI}/enter?ticket=9", cookie="sso=2; Path=/; Secure")
    assert login.sent == {"X-Key": "for the sso", "Cookie": "pre=1"}
    assert login.asks() == (Kind.FOLLOW, f"{WIKI}/enter?ticket=9")
    login.hears("<p>welcome", cookie="sid=3; Path=/")
    assert login.sent == {}
    assert (login.asks(), login.keyring.trouble) == (None, "")
    secrets = login.keyring.secrets_for(PAGE)
    assert secrets is not None
    assert secrets.headers == (("Cookie", "sid=3"),)
    assert "open-sesame" not in str(secrets.hidden) + str(secrets.headers)


@pytest.mark.parametrize(
    ("form", "why"),
    [
        (FORM.format("https://evil.test/"), "sent to https://evil.test, which the access file does not name"),
        (FORM.format("http://sso.test/login"), "sent to http://sso.test, which the access file does not name"),
        (FORM.format("mailto:a@b.test"), "sent to no URL"),
        (FORM.format("/login").replace("post", "get"), "is sent by GET"),
        (FORM.format("/login").replace("pass", "code"), "no form with the fields 'user', 'pass'"),
        ("", "no form"),
    ],
)
def test_forms_that_are_not_sent(form: str, why: str) -> None:
    login = Dialogue().hears(form)
    assert login.asks() is None
    assert why in login.keyring.trouble
    assert "open-sesame" not in login.keyring.trouble


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"html": FORM.format("/login")}, "its form came again"),
        ({"status": 302, "location": f"{SSO}/login?error"}, "its form came again"),
        ({"html": "<p>wrong password", "cookie": "a=b"}, "the text that says so"),
        ({"html": "<p>hello", "cookie": "a=b"}, "does not have the text"),
        ({"html": "<p>welcome"}, "the server set no cookie"),
        ({"status": 403}, "sending its form ended with: http 403"),
        ({"status": 500}, "sending its form ended with: http 500"),
        ({"status": 302, "location": "https://evil.test/", "cookie": "a=b"}, "does not have the text"),
        ({"status": 302, "location": "http://wiki.test/", "cookie": "a=b"}, "does not have the text"),
    ],
)
def test_how_it_is_seen_that_it_failed(answer: dict, why: str) -> None:
    login = Dialogue(failed_text="wrong password", success_text="welcome").hears(FORM.format("/login")).hears(**answer)
    assert login.asks() is None
    assert why in login.keyring.trouble


def test_redirects_come_to_an_end() -> None:
    login = Dialogue().hears(FORM.format("/login"))
    for _ in range(11):
        if login.asks() is not None:
            login.hears(status=302, location=f"{WIKI}/on", cookie="a=b")
    assert login.asks() is None


def test_a_page_that_only_somebody_logged_in_can_see() -> None:
    login = Dialogue(check=f"{WIKI}/me").hears(FORM.format("/login")).hears("<p>welcome", cookie="a=b")
    assert login.asks() == (Kind.CHECK, f"{WIKI}/me")
    assert "/me cannot be seen after it (http 401)" in login.hears(status=401).keyring.trouble


def test_of_several_forms_one_is_named() -> None:
    forms = FORM.format("/wrong") + FORM.format("/right").replace("<form", "<form id=second")
    assert Dialogue(form="second").hears(forms).asks() == (Kind.SUBMIT, f"{SSO}/right")
