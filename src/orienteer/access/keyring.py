"""All that a crawl has access to: what goes with which request, and what answers say of its sessions.

The crawl itself holds it, and no worker: with a request goes what its own origin is to see, and nothing else. So it is
the same with one process, with several, and on a cluster.
"""

from __future__ import annotations

import re
import time
from urllib.parse import unquote

from orienteer.access.cookies import header_of
from orienteer.access.grant import Access, Grant
from orienteer.access.session import MAX_PAGE_BYTES, Kind, Session, Step
from orienteer.answers.answer import Fetched, Request
from orienteer.answers.hiding import looks_secret
from orienteer.answers.meaning import Verdict, verdict_of
from orienteer.answers.secrets import Secrets, origin_of
from orienteer.pages.outcome import Outcome

_LOGOUT = re.compile(r"(?<!b)(?<!cata)(?:log|sign)[-_.+ ]?(?:out|off)(?![a-z])", re.IGNORECASE)


class Keyring:
    """What an access file grants, in use."""

    def __init__(self, access: Access | None = None) -> None:
        grants = {} if access is None else access.grants
        self._grants = grants
        self._sessions = {
            origin: Session(grant, tuple(grants)) for origin, grant in grants.items() if grant.has_session
        }

    @property
    def trouble(self) -> str:
        """Why the crawl must not go on, in one line; "" while it may."""
        return next((session.trouble for session in self._sessions.values() if session.trouble), "")

    def secrets_for(self, url: str) -> Secrets | None:
        """What goes with a request for a page, or for anything else of its host."""
        grant = self._grants.get(origin_of(url))
        return None if grant is None else self._secrets(grant, url, self._sessions.get(grant.origin))

    def refusal(self, url: str) -> Outcome | None:
        """Why a page is not asked for; None where it is."""
        session = self._sessions.get(origin_of(url))
        if session is None:
            return None
        if says_logout(url):
            return Outcome.WOULD_LOG_OUT
        signs = session.grant.signs
        if url in session.refused or (signs is not None and signs.name(url)):
            return Outcome.ASKS_FOR_LOGIN
        return None

    def next_step(self, url: str) -> Step | None:
        """What must be asked before a page."""
        session = self._sessions.get(origin_of(url))
        return None if session is None else session.next_step()

    def request_of(self, step: Step, page_url: str, page: int) -> Request:
        """The request of a step that is taken before this page."""
        session = self._sessions[origin_of(page_url)]
        grant = self._grants[origin_of(step.url)]
        headers: tuple[tuple[str, str], ...] = ()
        if step.form is not None:
            headers = (("Referer", step.sent_from), ("Origin", origin_of(step.sent_from)))
        secrets = self._secrets(grant, step.url, session, step)
        return Request(step.url, page, headers, any_type=True, max_body_bytes=MAX_PAGE_BYTES, secrets=secrets)

    def must_repeat(self, step: Step, answer: Fetched) -> bool:
        """Whether an answer to a step says nothing of the session: the host is busy, or out of reach."""
        is_of_server = answer.outcome is Outcome.SERVER_ERROR and step.kind is not Kind.PROBE
        return verdict_of(answer.outcome, answer.status) is Verdict.TRY_AGAIN and not is_of_server

    def came(self, step: Step, page_url: str, answer: Fetched, cookies: tuple[str, ...]) -> None:
        """The answer to a step that was taken before this page."""
        session = self._sessions[origin_of(page_url)]
        if step.kind is not Kind.PROBE:  # to one who is logged out, it gives a session for strangers
            session.jar.take(step.url, cookies, time.time())
        session.came(step, answer)

    def start_over(self, page_url: str) -> None:
        """A step before this page did not get through."""
        self._sessions[origin_of(page_url)].start_over()

    def heard(self, request: Request, is_page: bool, cookies: tuple[str, ...]) -> None:
        """An answer to a request with secrets, from somebody who takes us for logged in."""
        session = self._sessions.get(origin_of(request.url))
        if session is None or request.secrets is None or request.secrets.session != session.number:
            return
        session.jar.take(request.url, cookies, time.time())
        if is_page:
            session.good(request.url, request.secrets.session)

    def looked_logged_out(self, request: Request) -> None:
        session = self._sessions.get(origin_of(request.url))
        if session is not None and request.secrets is not None:
            session.looked_logged_out(request.url, request.secrets.session)

    def _secrets(self, grant: Grant, url: str, session: Session | None, step: Step | None = None) -> Secrets:
        headers, hidden = list(grant.headers), list(grant.hidden)
        if session is not None:
            cookies = session.jar.cookies_for(url, time.time())
            hidden += [cookie.value for cookie in cookies if looks_secret(cookie.value)]
            if cookies:
                headers.append(("Cookie", header_of(cookies)))
        return Secrets(
            origin=grant.origin,
            headers=tuple(headers),
            form=None if step is None else step.form,
            certificate=grant.certificate,
            key=grant.key,
            key_password=grant.key_password,
            hidden=tuple(hidden),
            session=0 if session is None else session.number,
            signs=grant.signs if step is None else None,
            is_login=step is not None,
        )


def says_logout(url: str) -> bool:
    """Whether a URL says that whoever goes there is logged out.

    >>> says_logout("http://a.test/users/sign_out"), says_logout("http://a.test/index.php?title=Special:UserLogout")
    (True, True)
    >>> says_logout("http://logout.test/blog-official"), says_logout("http://a.test/log/outline")
    (False, False)
    """
    return _LOGOUT.search(unquote(url.split("/", 3)[-1])) is not None
