"""How the attempt to get a page ended. All outcomes there are stand here.

The first ones are those of a fetch: whatever a server sends, or does not send, is one of them. The last ones are
decisions of the crawl, which may be made without asking.
"""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    OK = "ok"
    REDIRECT = "redirect"
    NOT_MODIFIED = "not modified"
    CLIENT_ERROR = "client error"  # 4xx
    SERVER_ERROR = "server error"  # 5xx, and any status that is none
    SLOW_DOWN = "slow down"  # 429, and 503 that says when to come again
    TIMED_OUT = "timed out"
    NO_ADDRESS = "no address"  # the name is not known, or can be no name
    NO_CONNECTION = "no connection"
    TLS_FAILED = "tls failed"
    BROKEN = "broken answer"  # cut off, against the protocol, packed in a way that cannot be unpacked
    TOO_LARGE = "too large"  # the headers, the body, or the body when unpacked
    UNWANTED_TYPE = "unwanted type"
    FORBIDDEN_ADDRESS = "forbidden address"
    NO_ANSWER = "no answer"  # an archive that is asked instead of the web has none
    UNREADABLE = "unreadable"  # workers die of it
    LOST = "lost"  # the worker that had it in hand died; it is asked for again
    CANCELLED = "cancelled"
    LOGGED_OUT = "logged out"  # it came without the session that was to go with it; it is asked for again

    ROBOTS = "robots.txt"
    ROBOTS_OUT_OF_REACH = "robots.txt out of reach"
    TOO_DEEP = "too deep"
    WOULD_LOG_OUT = "would log out"  # whoever goes there is logged out
    ASKS_FOR_LOGIN = "asks for a login"  # though the crawl is logged in
    HOST_GIVEN_UP = "host given up"
    LEAVES_SCOPE = "redirect leaves the scope"
    LEADS_NOWHERE = "redirect leads nowhere"  # to no address of a page, or to one that is too long
    REDIRECT_LOOP = "redirect loop"
    TOO_MANY_REDIRECTS = "too many redirects"

    def in_words(self, status: int) -> str:
        """As databases, logs and reports have it; with the HTTP status where that says more.

        >>> Outcome.CLIENT_ERROR.in_words(404), Outcome.TIMED_OUT.in_words(0)
        ('http 404', 'timed out')
        """
        return f"http {status}" if self in _KNOWN_BY_STATUS else str(self)


NO_ERRORS = frozenset((Outcome.OK, Outcome.REDIRECT, Outcome.NOT_MODIFIED))
_KNOWN_BY_STATUS = frozenset((Outcome.CLIENT_ERROR, Outcome.SERVER_ERROR, Outcome.SLOW_DOWN))
