"""The credentials and login sessions of a crawl.

Only the coordinator has the keyring: a request that is sent to a worker carries only the credentials of its own origin.
So sessions work the same way with one process, with several, and on a cluster.
"""

from __future__ import annotations

import re
import time
from urllib.parse import unquote

from orienteer.credentials.cookies import header_of
from orienteer.credentials.grant import Credentials, Grant
from orienteer.credentials.session import MAX_PAGE_BYTES, LoginSession, Step, StepKind
from orienteer.pages.outcome import Outcome
from orienteer.responses.redaction import looks_secret
from orienteer.responses.response import Request, Response
from orienteer.responses.secrets import Secrets, origin_of
from orienteer.responses.verdict import VerdictKind, verdict_kind_of

_LOGOUT = re.compile(r"(?<!b)(?<!cata)(?:log|sign)[-_.+ ]?(?:out|off)(?![a-z])", re.IGNORECASE)


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
        grant = self._grants.get(origin_of(url))
        return None if grant is None else self._secrets(grant, url, self._sessions.get(grant.origin))

    def grants(self, url: str) -> bool:
        """Whether there are credentials for the origin of a URL."""
        return origin_of(url) in self._grants

    def refusal(self, url: str) -> Outcome | None:
        """Return the outcome of a page that must not be requested; None if it may be."""
        session = self._sessions.get(origin_of(url))
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
        session = self._sessions.get(origin_of(url))
        return None if session is None else session.next_step()

    def request_of(self, step: Step, page_url: str, page: int) -> Request:
        """Build the request of a login step that precedes this page."""
        session = self._sessions[origin_of(page_url)]
        grant = self._grants[origin_of(step.url)]
        headers: tuple[tuple[str, str], ...] = ()
        if step.form is not None:
            headers = (("Referer", step.referrer), ("Origin", origin_of(step.referrer)))
        secrets = self._secrets(grant, step.url, session, step)
        return Request(step.url, page, headers, any_type=True, max_body_bytes=MAX_PAGE_BYTES, secrets=secrets)

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
        session = self._sessions.get(origin_of(request.url))
        if session is None or request.secrets is None or request.secrets.session != session.number:
            return
        session.jar.take(request.url, cookies, time.time())
        if is_page:
            session.mark_alive(request.url, request.secrets.session)

    def record_logged_out(self, request: Request) -> None:
        session = self._sessions.get(origin_of(request.url))
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
