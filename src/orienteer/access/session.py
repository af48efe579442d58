"""The session of a crawl at one origin: how it begins, whether it is alive, and what to ask to find out.

A machine without a network: it says what to ask next (`next_step`), and is told what came of it (`came`). Its states:

    OUT       a login is due: its page, its form, the redirects behind it, and a page to check it by
    IN        pages are asked for
    DOUBTED   a page looked as if nobody were logged in: one that was good before is asked for, to see whose fault it is
    FAILED    there is no way in; `trouble` says why

So a page that this account may not see costs one request more, and is blocked. A session that has ended costs a login.
One that ends before any page came is no session: the crawl must stop, rather than keep pages for strangers.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple
from urllib.parse import urlencode

from orienteer.access.cookies import CookieJar
from orienteer.access.grant import Grant, LoginSettings
from orienteer.answers.answer import Fetched
from orienteer.answers.secrets import origin_of
from orienteer.extract.charset import decoded
from orienteer.extract.forms import Form, forms_of

MAX_PAGE_BYTES = 2 << 20
_MAX_REDIRECTS = 10


class State(StrEnum):
    OUT = "out"
    IN = "in"
    DOUBTED = "doubted"
    FAILED = "failed"


class Kind(StrEnum):
    """What a step is for."""

    PAGE = "login page"
    SUBMIT = "login"
    FOLLOW = "after the login"
    CHECK = "check"
    PROBE = "is the session alive"


class Step(NamedTuple):
    """One request of a login. The form is not shown."""

    kind: Kind
    url: str
    form: bytes | None = None
    sent_from: str = ""  # the page with the form

    def __repr__(self) -> str:
        return f"<Step {self.kind}>"


class Session:
    """`known` are the origins that may be asked in a login: those of the access file."""

    def __init__(self, grant: Grant, known: tuple[str, ...]) -> None:
        self.grant = grant
        self.jar = CookieJar(grant.cookies)
        self.number = 0  # of logins
        self.trouble = ""
        self.state = State.IN
        self.refused: set[str] = set()  # pages that ask for a login though there is a session
        self._known = known
        self._good_url = ""  # a page that came from the session
        self._has_worked = False  # since the last login
        self._doubted: set[str] = set()
        self._step: Step | None = None
        self._n_redirects = 0
        if grant.login is not None:
            self._good_url = grant.login.check
            self._begin(grant.login)

    def next_step(self) -> Step | None:
        """What to ask before the next page; None: nothing."""
        return self._step

    def good(self, url: str, number: int) -> None:
        """A page came that is for somebody logged in."""
        if number == self.number and self.state is State.IN:
            self._good_url, self._has_worked = url, True

    def looked_logged_out(self, url: str, number: int) -> None:
        """A page that was asked for in a session looked as if there were none."""
        if number != self.number or self.state not in (State.IN, State.DOUBTED):
            return  # it is known already
        if not self._good_url:
            return self._fail(f"{url} asks for a login" + (", right after one" if self.grant.login else ""))
        self._doubted.add(url)
        if self.state is State.IN:
            self.state, self._step = State.DOUBTED, Step(Kind.PROBE, self._good_url)

    def start_over(self) -> None:
        """A step did not get through: the server was out of reach, or busy."""
        if self.state is State.OUT and self.grant.login is not None:
            self._begin(self.grant.login)

    def came(self, step: Step, answer: Fetched) -> None:
        """The answer to a step; its cookies are in the jar already."""
        if step is not self._step:
            return
        self._step = None
        if step.kind is Kind.PROBE:
            self._take_probe(answer)
        elif step.kind is Kind.CHECK:
            self._take_check(answer)
        elif not answer.status or answer.status >= 400:
            self._fail(f"{_what(step)} ended with: {answer.reason}")
        elif step.kind is Kind.PAGE:
            self._take_page(answer)
        else:
            self._take_submitted(step, answer)

    # -- is it alive? -------------------------------------------------------------------------------------------

    def _take_probe(self, answer: Fetched) -> None:
        signs, login = self.grant.signs, self.grant.login
        if signs is None or not signs.shown_by(answer):
            self.state, self._has_worked = State.IN, True
            self.refused |= self._doubted
            self._doubted.clear()
        elif login is None:
            self._fail("the session has ended; are its cookies still valid?")
        elif not self._has_worked:
            self._fail("the session ended right after the login")
        else:
            self._begin(login)

    def _take_check(self, answer: Fetched) -> None:
        signs = self.grant.signs
        if answer.status != 200 or (signs is not None and signs.shown_by(answer)):
            return self._fail(f"{answer.request.url.partition('?')[0]} cannot be seen after it ({answer.reason})")
        self.state, self._has_worked = State.IN, True

    # -- logging in ---------------------------------------------------------------------------------------------

    def _begin(self, login: LoginSettings) -> None:
        self.state, self._step = State.OUT, Step(Kind.PAGE, login.page)
        self.jar = CookieJar(self.grant.cookies)
        self.number += 1
        self._n_redirects, self._has_worked = 0, False
        self._doubted.clear()

    def _take_page(self, answer: Fetched) -> None:
        login = self.grant.login
        assert login is not None
        if answer.location is not None:
            self._follow(Kind.PAGE, answer.request.url, answer.location)
            if self._step is None:
                self._fail("its page leads to a host that the access file does not name")
            return
        form = _chosen(forms_of(answer.content, answer.request.url, answer.charset), login)
        if form is None:
            which = f" {login.form!r}" if login.form else ""
            return self._fail(f"its page has no form{which} with the fields {', '.join(map(repr, login.fields))}")
        wrong = self._why_not(form, answer.request.url)
        if wrong:
            return self._fail(wrong)
        assert form.action is not None
        fields = form.fields | ({} if form.submit is None else dict([form.submit])) | dict(login.fields)
        self._step = Step(Kind.SUBMIT, form.action, urlencode(fields).encode(), answer.request.url)

    def _why_not(self, form: Form, page: str) -> str:
        """Why a form must not be sent; "" where it may."""
        if form.method != "post":
            return "its form is sent by GET, and the URL would hold the password"
        if form.action is None or origin_of(form.action) not in self._known:
            where = "no URL" if form.action is None else origin_of(form.action)
            return f"its form is sent to {where}, which the access file does not name"
        if page.startswith("https:") and form.action.startswith("http:"):
            return "its form is sent by http"
        return ""

    def _take_submitted(self, step: Step, answer: Fetched) -> None:
        login, signs = self.grant.login, self.grant.signs
        assert login is not None
        if answer.location is not None and signs is not None and signs.name(answer.location):
            return self._fail("its form came again; are user and password right?")
        if answer.location is not None:
            self._follow(Kind.FOLLOW, answer.request.url, answer.location)
            if self._step is not None:
                return
        forms = forms_of(answer.content, answer.request.url, answer.charset)
        if any(form.passwords & set(login.fields) for form in forms):
            return self._fail("its form came again; are user and password right?")
        html = decoded(answer.content, answer.charset)
        if login.failed_text and login.failed_text in html:
            return self._fail("the answer has the text that says so; are user and password right?")
        if login.success_text and login.success_text not in html:
            return self._fail("the answer does not have the text that says that it succeeded")
        if not len(self.jar):
            return self._fail("the server set no cookie")
        if login.check:
            self._step = Step(Kind.CHECK, login.check)
        else:
            self.state = State.IN

    def _follow(self, kind: Kind, url: str, location: str) -> None:
        """Go on there, if that is a host of the access file, and no step back from https."""
        self._n_redirects += 1
        is_safe = location.startswith("https:") or not url.startswith("https:")
        if is_safe and origin_of(location) in self._known and self._n_redirects <= _MAX_REDIRECTS:
            self._step = Step(kind, location)

    def _fail(self, why: str) -> None:
        self.state, self._step = State.FAILED, None
        what = "the login at" if self.grant.login is not None else "the access to"
        self.trouble = f"{what} {self.grant.origin} failed: {why}"


def _what(step: Step) -> str:
    return {Kind.PAGE: "its page", Kind.SUBMIT: "sending its form"}.get(step.kind, "a redirect behind it")


def _chosen(forms: list[Form], login: LoginSettings) -> Form | None:
    """The form that is named; the first one with all fields, where none is."""
    for form in forms:
        is_meant = login.form in (form.id, form.name) if login.form else True
        if is_meant and form.names >= set(login.fields):
            return form
    return None
