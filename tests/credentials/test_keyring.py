"""Logins step by step: which forms are sent, which redirects are followed, and how failures are recognized."""

from __future__ import annotations

from orienteer.credentials.credentials_file import Credentials, Grant, LoginSettings
from orienteer.credentials.keyring import Keyring, StepKind
from orienteer.responses.headers import Headers
from orienteer.responses.response import Response, outcome_of
from orienteer.responses.secrets import LoggedOutSigns
from tests.tables import over_rows

WIKI, SSO = "https://wiki.test", "https://sso.test"
PAGE = f"{WIKI}/"
FIELDS = {"user": "me", "pass": "open-sesame-77"}
FORM = "<form method=post action='{}'><input name=user><input type=password name=pass></form>"


class LoginDialogue:
    """A login to the wiki on another host, with made-up responses."""

    def __init__(self, page: str = f"{SSO}/login", **login: str) -> None:
        settings = LoginSettings(page, FIELDS, **login)
        signs = LoggedOutSigns((page,), (), (401,), tuple(FIELDS))
        grants = {WIKI: Grant(WIKI, login=settings, signs=signs), SSO: Grant(SSO, (("X-Key", "for the sso"),))}
        self.keyring = Keyring(Credentials(grants))

    def next_request(self) -> tuple[StepKind, str] | None:
        step = self.keyring.next_step(PAGE)
        return None if step is None else (step.kind, step.url)

    def respond(self, html: str = "", status: int = 200, location: str = "", cookie: str = "") -> LoginDialogue:
        step = self.keyring.next_step(PAGE)
        assert step is not None
        request = self.keyring.request_of(step, PAGE)
        assert request.secrets is not None
        self.sent = dict(request.secrets.headers)
        headers = Headers([("Location", location)] if location else [])
        response = Response(
            request, outcome_of(status, headers, request.url), status, headers=headers, content=html.encode()
        )
        self.keyring.complete_step(step, PAGE, response, (cookie,) if cookie else ())
        return self


def test_a_login_on_another_host() -> None:
    """Each host gets its own cookies and its own credentials."""
    login = LoginDialogue()
    assert login.next_request() == (StepKind.PAGE, f"{SSO}/login")
    login.respond(FORM.format("/login"), cookie="pre=1; Path=/")
    assert login.sent == {"X-Key": "for the sso"}
    assert login.next_request() == (StepKind.SUBMIT, f"{SSO}/login")
    login.respond(status=302, location=f"{WIKI}/enter?ticket=9", cookie="sso=2; Path=/; Secure")
    assert login.sent == {"X-Key": "for the sso", "Cookie": "pre=1"}
    assert login.next_request() == (StepKind.FOLLOW, f"{WIKI}/enter?ticket=9")
    login.respond("<p>welcome", cookie="sid=3; Path=/")
    assert login.sent == {}
    assert (login.next_request(), login.keyring.problem) == (None, "")
    secrets = login.keyring.secrets_for(PAGE)
    assert secrets is not None
    assert secrets.headers == (("Cookie", "sid=3"),)
    assert "open-sesame" not in str(secrets.redacted) + str(secrets.headers)


@over_rows(
    ("form", "why"),
    [
        (FORM.format("https://evil.test/"), "sent to https://evil.test, which is not in the credentials file"),
        (FORM.format("http://sso.test/login"), "sent to http://sso.test, which is not in the credentials file"),
        (FORM.format("mailto:a@b.test"), "sent to no URL"),
        (FORM.format("/login").replace("post", "get"), "the form uses GET"),
        (FORM.format("/login").replace("pass", "code"), "no form with the fields 'user', 'pass'"),
        ("", "no form"),
    ],
)
def test_forms_that_are_not_sent(form: str, why: str) -> None:
    login = LoginDialogue().respond(form)
    assert login.next_request() is None
    assert why in login.keyring.problem
    assert "open-sesame" not in login.keyring.problem


@over_rows(
    ("response", "why"),
    [
        ({"html": FORM.format("/login")}, "the login form was returned again"),
        ({"status": 302, "location": f"{SSO}/login?error"}, "the login form was returned again"),
        ({"html": "<p>wrong password", "cookie": "a=b"}, "contains failed_text"),
        ({"html": "<p>hello", "cookie": "a=b"}, "does not contain success_text"),
        ({"html": "<p>welcome"}, "the server set no cookie"),
        ({"status": 403}, "submitting the form ended with: http 403"),
        ({"status": 500}, "submitting the form ended with: http 500"),
        ({"status": 302, "location": "https://evil.test/", "cookie": "a=b"}, "does not contain success_text"),
        ({"status": 302, "location": "http://wiki.test/", "cookie": "a=b"}, "does not contain success_text"),
    ],
)
def test_failed_logins_are_recognized(response: dict, why: str) -> None:
    login = (
        LoginDialogue(failed_text="wrong password", success_text="welcome")
        .respond(FORM.format("/login"))
        .respond(**response)
    )
    assert login.next_request() is None
    assert why in login.keyring.problem


def test_the_number_of_redirects_is_limited() -> None:
    login = LoginDialogue().respond(FORM.format("/login"))
    for _ in range(11):
        if login.next_request() is not None:
            login.respond(status=302, location=f"{WIKI}/on", cookie="a=b")
    assert login.next_request() is None


def test_a_login_is_checked_with_a_private_page() -> None:
    login = LoginDialogue(check=f"{WIKI}/me").respond(FORM.format("/login")).respond("<p>welcome", cookie="a=b")
    assert login.next_request() == (StepKind.CHECK, f"{WIKI}/me")
    assert "/me is not accessible after the login (http 401)" in login.respond(status=401).keyring.problem


def test_the_form_can_be_named() -> None:
    forms = FORM.format("/wrong") + FORM.format("/right").replace("<form", "<form id=second")
    assert LoginDialogue(form="second").respond(forms).next_request() == (StepKind.SUBMIT, f"{SSO}/right")
