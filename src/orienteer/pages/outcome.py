"""The outcomes of pages, all of them. Their values are stored in databases and archives, and never change.

The first ones are outcomes of a fetch: any response, or the lack of one, is one of them. The last ones are decisions of
the crawl, which may be made without a request.
"""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    OK = "ok"
    REDIRECT = "redirect"
    NOT_MODIFIED = "not modified"
    CLIENT_ERROR = "client error"  # 4xx
    SERVER_ERROR = "server error"  # 5xx, and any invalid status
    SLOW_DOWN = "slow down"  # 429, and 503 with Retry-After
    TIMED_OUT = "timed out"
    NO_ADDRESS = "no address"  # the name does not resolve, or is invalid
    NO_CONNECTION = "no connection"
    TLS_FAILED = "tls failed"
    BROKEN = "broken answer"  # truncated, a protocol error, or an unknown or corrupt encoding
    TOO_LARGE = "too large"  # the headers, the body, or the body when unpacked
    UNWANTED_TYPE = "unwanted type"
    FORBIDDEN_ADDRESS = "forbidden address"
    NO_RESPONSE = "no answer"  # of an archive that replaces the web
    UNREADABLE = "unreadable"  # it crashes workers
    LOST = "lost"  # its worker crashed; it is requested again
    CANCELLED = "cancelled"
    LOGGED_OUT = "logged out"  # the request lost its session; it is sent again

    ROBOTS = "robots.txt"
    ROBOTS_UNREACHABLE = "robots.txt out of reach"
    TOO_DEEP = "too deep"
    WOULD_LOG_OUT = "would log out"  # a request would end the session
    ASKS_FOR_LOGIN = "asks for a login"  # though the crawl is logged in
    HOST_ABANDONED = "host given up"
    LEAVES_SCOPE = "redirect leaves the scope"
    LEADS_NOWHERE = "redirect leads nowhere"  # to an invalid URL, or to one that is too long
    REDIRECT_LOOP = "redirect loop"
    TOO_MANY_REDIRECTS = "too many redirects"

    def describe(self, status: int) -> str:
        """Return the text in databases, logs and reports; with the HTTP status where that says more.

        >>> Outcome.CLIENT_ERROR.describe(404), Outcome.TIMED_OUT.describe(0)
        ('http 404', 'timed out')
        """
        return f"http {status}" if self in _KNOWN_BY_STATUS else str(self)


NO_ERRORS = frozenset((Outcome.OK, Outcome.REDIRECT, Outcome.NOT_MODIFIED))
_KNOWN_BY_STATUS = frozenset((Outcome.CLIENT_ERROR, Outcome.SERVER_ERROR, Outcome.SLOW_DOWN))
