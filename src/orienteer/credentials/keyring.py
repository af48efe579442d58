"""The credentials and login sessions of a crawl.

Only the coordinator has the keyring: a request that is sent to a worker carries only the credentials of its own origin.
So sessions work the same way with one process, with several, and on a cluster.

A session at one origin is a state machine without network: `next_step` is the next request, `complete_step` processes
its response. Its states:

    OUT       login required: the login page, its form, redirects after it, and a page to check it
    IN        pages are fetched
    DOUBTED   a page looked logged out: a page that worked before is probed, to find out whether the session has ended
    FAILED    the login is impossible; `problem` says why

So a page that this account may not see costs one more request and is blocked. A session that has ended costs a login.
If a session ends before any page was fetched, the crawl must stop: it would archive pages for anonymous users.
"""

from __future__ import annotations

import re
import time
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import unquote, urlencode

from orienteer.credentials.cookies import CookieJar, header_of
from orienteer.credentials.credentials_file import Credentials, Grant, LoginSettings
from orienteer.extract.forms import Form, forms_of
from orienteer.extract.parser import decoded
from orienteer.pages.outcome import Outcome
from orienteer.responses.redaction import looks_secret
from orienteer.responses.response import HostRequest, HostRequestKind, Request, Response
from orienteer.responses.secrets import Secrets, origin_of
from orienteer.responses.verdict import VerdictKind, verdict_kind_of

_LOGOUT = re.compile(r"(?<!b)(?<!cata)(?:log|sign)[-_.+ ]?(?:out|off)(?![a-z])", re.IGNORECASE)
MAX_PAGE_BYTES = 2 << 20
_MAX_REDIRECTS = 10


class SessionState(StrEnum):
    OUT = "out"
    IN = "in"
    DOUBTED = "doubted"
    FAILED = "failed"


class StepKind(StrEnum):
    """The purpose of a step."""

    PAGE = "login page"
    SUBMIT = "login"
    FOLLOW = "after the login"
    CHECK = "check"
    PROBE = "is the session alive"


class Step(NamedTuple):
    """One request of a login. The `repr` does not contain the form."""

    kind: StepKind
    url: str
    form: bytes | None = None
    referrer: str = ""  # the page with the form

    def __repr__(self) -> str:
        return f"<Step {self.kind}>"

    @property
    def url_without_query(self) -> str:
        """The URL for displays: the query of a login may hold a ticket."""
        return self.url.partition("?")[0]


class LoginSession:
    """`allowed_origins` are those of the credentials file, the only ones that a login may send requests to."""

    def __init__(self, grant: Grant, allowed_origins: tuple[str, ...]) -> None:
        self.grant = grant
        self.jar = CookieJar(grant.cookies)
        self.number = 0  # of logins
        self.problem = ""
        self.state = SessionState.IN
        self.refused: set[str] = set()  # pages that require another account
        self._allowed_origins = allowed_origins
        self._known_good_url = ""  # a page that was fetched in the session
        self._has_worked = False  # since the last login
        self._doubted: set[str] = set()
        self._step: Step | None = None
        self._n_redirects = 0
        if grant.login is not None:
            self._known_good_url = grant.login.check
            self._begin(grant.login)

    def next_step(self) -> Step | None:
        """Return the request that must precede the next page, or None."""
        return self._step

    def mark_alive(self, url: str, number: int) -> None:
        """Record a page that was fetched while logged in."""
        if number == self.number and self.state is SessionState.IN:
            self._known_good_url, self._has_worked = url, True

    def record_logged_out(self, url: str, number: int) -> None:
        """Record a page that was requested in the session and looks logged out."""
        if number != self.number or self.state not in (SessionState.IN, SessionState.DOUBTED):
            return  # already known
        if not self._known_good_url:
            return self._fail(f"{url} asks for a login" + (", right after one" if self.grant.login else ""))
        self._doubted.add(url)
        if self.state is SessionState.IN:
            self.state, self._step = SessionState.DOUBTED, Step(StepKind.PROBE, self._known_good_url)

    def restart_login(self) -> None:
        """Restart the login: the server was unreachable or busy."""
        if self.state is SessionState.OUT and self.grant.login is not None:
            self._begin(self.grant.login)

    def complete_step(self, step: Step, response: Response) -> None:
        """Process the response to a step; its cookies are already in the jar."""
        if step is not self._step:
            return
        self._step = None
        if step.kind is StepKind.PROBE:
            self._complete_probe(response)
        elif step.kind is StepKind.CHECK:
            self._complete_check(response)
        elif not response.status or response.status >= 400:
            self._fail(f"{_describe_step(step)} ended with: {response.reason}")
        elif step.kind is StepKind.PAGE:
            self._complete_page(response)
        else:
            self._complete_submit(step, response)

    # -- checking the session -----------------------------------------------------------------------------------

    def _complete_probe(self, response: Response) -> None:
        signs, login = self.grant.signs, self.grant.login
        if signs is None or not signs.matches(response):
            self.state, self._has_worked = SessionState.IN, True
            self.refused |= self._doubted
            self._doubted.clear()
        elif login is None:
            self._fail("the session has ended; are its cookies still valid?")
        elif not self._has_worked:
            self._fail("the session ended right after the login")
        else:
            self._begin(login)

    def _complete_check(self, response: Response) -> None:
        signs = self.grant.signs
        if response.status != 200 or (signs is not None and signs.matches(response)):
            return self._fail(
                f"{response.request.url.partition('?')[0]} is not accessible after the login ({response.reason})"
            )
        self.state, self._has_worked = SessionState.IN, True

    # -- logging in ---------------------------------------------------------------------------------------------

    def _begin(self, login: LoginSettings) -> None:
        self.state, self._step = SessionState.OUT, Step(StepKind.PAGE, login.page)
        self.jar = CookieJar(self.grant.cookies)
        self.number += 1
        self._n_redirects, self._has_worked = 0, False
        self._doubted.clear()

    def _complete_page(self, response: Response) -> None:
        login = self.grant.login
        assert login is not None
        if response.location is not None:
            self._follow(StepKind.PAGE, response.request.url, response.location)
            if self._step is None:
                self._fail("the login page redirects to an origin that is not in the credentials file")
            return
        form = _choose_form(forms_of(response.content, response.request.url, response.charset), login)
        if form is None:
            which = f" {login.form!r}" if login.form else ""
            return self._fail(f"the login page has no form{which} with the fields {', '.join(map(repr, login.fields))}")
        problem = self._form_problem(form, response.request.url)
        if problem:
            return self._fail(problem)
        assert form.action is not None
        fields = form.fields | ({} if form.submit is None else dict([form.submit])) | dict(login.fields)
        self._step = Step(StepKind.SUBMIT, form.action, urlencode(fields).encode(), response.request.url)

    def _form_problem(self, form: Form, page: str) -> str:
        """Return why a form must not be sent, or ""."""
        if form.method != "post":
            return "the form uses GET, which would put the password into the URL"
        if form.action is None or origin_of(form.action) not in self._allowed_origins:
            where = "no URL" if form.action is None else origin_of(form.action)
            return f"the form is sent to {where}, which is not in the credentials file"
        if page.startswith("https:") and form.action.startswith("http:"):
            return "the form is sent by http"
        return ""

    def _complete_submit(self, step: Step, response: Response) -> None:
        login, signs = self.grant.login, self.grant.signs
        assert login is not None
        if response.location is not None and signs is not None and signs.matches_page(response.location):
            return self._fail("the login form was returned again; check user and password")
        if response.location is not None:
            self._follow(StepKind.FOLLOW, response.request.url, response.location)
            if self._step is not None:
                return
        forms = forms_of(response.content, response.request.url, response.charset)
        if any(form.passwords & set(login.fields) for form in forms):
            return self._fail("the login form was returned again; check user and password")
        html = decoded(response.content, response.charset)
        if login.failed_text and login.failed_text in html:
            return self._fail("the response contains failed_text; check user and password")
        if login.success_text and login.success_text not in html:
            return self._fail("the response does not contain success_text")
        if not len(self.jar):
            return self._fail("the server set no cookie")
        if login.check:
            self._step = Step(StepKind.CHECK, login.check)
        else:
            self.state = SessionState.IN

    def _follow(self, kind: StepKind, url: str, location: str) -> None:
        """Follow a redirect to an origin of the credentials file, unless it downgrades from https."""
        self._n_redirects += 1
        is_safe = location.startswith("https:") or not url.startswith("https:")
        if is_safe and origin_of(location) in self._allowed_origins and self._n_redirects <= _MAX_REDIRECTS:
            self._step = Step(kind, location)

    def _fail(self, why: str) -> None:
        self.state, self._step = SessionState.FAILED, None
        what = "the login at" if self.grant.login is not None else "the access to"
        self.problem = f"{what} {self.grant.origin} failed: {why}"


def _describe_step(step: Step) -> str:
    names = {StepKind.PAGE: "the login page", StepKind.SUBMIT: "submitting the form"}
    return names.get(step.kind, "a redirect after it")


def _choose_form(forms: list[Form], login: LoginSettings) -> Form | None:
    """Return the form with the configured name, else the first form with all fields."""
    for form in forms:
        is_meant = login.form in (form.id, form.name) if login.form else True
        if is_meant and form.names >= set(login.fields):
            return form
    return None


class Keyring:
    """The grants of a credentials file, with their sessions."""

    def __init__(self, credentials: Credentials | None = None) -> None:
        grants = {} if credentials is None else credentials.grants
        self._grants = grants
        self._sessions = {
            origin: LoginSession(grant, tuple(grants)) for origin, grant in grants.items() if grant.has_session
        }

    @property
    def problem(self) -> str:
        """The error of a failed login, after which the crawl must stop; "" without one."""
        return next((session.problem for session in self._sessions.values() if session.problem), "")

    def secrets_for(self, url: str) -> Secrets | None:
        """Return the credentials for a request; None if its origin has none."""
        grant = self._grants.get(origin_of(url)) if self._grants else None  # most crawls have none
        return None if grant is None else self._secrets(grant, url, self._sessions.get(grant.origin))

    def grants(self, url: str) -> bool:
        """Whether there are credentials for the origin of a URL."""
        return origin_of(url) in self._grants

    def _session_of(self, url: str) -> LoginSession | None:
        return self._sessions.get(origin_of(url)) if self._sessions else None

    def refusal(self, url: str) -> Outcome | None:
        """Return the outcome of a page that must not be requested; None if it may be."""
        session = self._session_of(url)
        if session is None:
            return None
        if says_logout(url):
            return Outcome.WOULD_LOG_OUT
        signs = session.grant.signs
        if url in session.refused or (signs is not None and signs.matches_page(url)):
            return Outcome.ASKS_FOR_LOGIN
        return None

    def next_step(self, url: str) -> Step | None:
        """Return the login step that must precede the request of a page, or None."""
        session = self._session_of(url)
        return None if session is None else session.next_step()

    def request_of(self, step: Step, page_url: str) -> HostRequest:
        """Build the request of a login step that precedes this page."""
        session = self._sessions[origin_of(page_url)]
        grant = self._grants[origin_of(step.url)]
        headers: tuple[tuple[str, str], ...] = ()
        if step.form is not None:
            headers = (("Referer", step.referrer), ("Origin", origin_of(step.referrer)))
        secrets = self._secrets(grant, step.url, session, step)
        return HostRequest(
            step.url, HostRequestKind.LOGIN, headers=headers, secrets=secrets, max_body_bytes=MAX_PAGE_BYTES
        )

    def is_inconclusive(self, step: Step, response: Response) -> bool:
        """Whether the response to a step does not depend on the session: the host is busy or unreachable."""
        is_of_server = response.outcome is Outcome.SERVER_ERROR and step.kind is not StepKind.PROBE
        return verdict_kind_of(response.outcome, response.status) is VerdictKind.TRY_AGAIN and not is_of_server

    def complete_step(self, step: Step, page_url: str, response: Response, cookies: tuple[str, ...]) -> None:
        """Process the response to a login step that precedes this page."""
        session = self._sessions[origin_of(page_url)]
        if step.kind is not StepKind.PROBE:  # when logged out, a probe would set the cookies of an anonymous session
            session.jar.take(step.url, cookies, time.time())
        session.complete_step(step, response)

    def restart_login(self, page_url: str) -> None:
        """Restart the login after a step that failed to reach the server."""
        self._sessions[origin_of(page_url)].restart_login()

    def record_response(self, request: Request, is_page: bool, cookies: tuple[str, ...]) -> None:
        """Record a response to a request with secrets that does not look logged out."""
        session = self._session_of(request.url)
        if session is None or request.secrets is None or request.secrets.session != session.number:
            return
        session.jar.take(request.url, cookies, time.time())
        if is_page:
            session.mark_alive(request.url, request.secrets.session)

    def record_logged_out(self, request: Request) -> None:
        session = self._session_of(request.url)
        if session is not None and request.secrets is not None:
            session.record_logged_out(request.url, request.secrets.session)

    def _secrets(self, grant: Grant, url: str, session: LoginSession | None, step: Step | None = None) -> Secrets:
        headers, redacted = list(grant.headers), list(grant.redacted)
        if session is not None:
            cookies = session.jar.cookies_for(url, time.time())
            redacted += [cookie.value for cookie in cookies if looks_secret(cookie.value)]
            if cookies:
                headers.append(("Cookie", header_of(cookies)))
        return Secrets(
            origin=grant.origin,
            headers=tuple(headers),
            form=None if step is None else step.form,
            certificate=grant.certificate,
            key=grant.key,
            key_password=grant.key_password,
            redacted=tuple(redacted),
            session=0 if session is None else session.number,
            signs=grant.signs if step is None else None,
            is_login=step is not None,
        )


def says_logout(url: str) -> bool:
    """Whether a URL looks like a logout link.

    >>> says_logout("http://a.test/users/sign_out"), says_logout("http://a.test/index.php?title=Special:UserLogout")
    (True, True)
    >>> says_logout("http://logout.test/blog-official"), says_logout("http://a.test/log/outline")
    (False, False)
    """
    return _LOGOUT.search(unquote(url.split("/", 3)[-1])) is not None
