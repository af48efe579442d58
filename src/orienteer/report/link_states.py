"""The state of a link, by the outcome of its target in the crawl.

fine          there is a page or a file
broken        there is none: 404 and other errors, no such host, redirects that lead nowhere
refused       there may be a page, but the crawler may not fetch it: robots.txt, a login, 403
host_gone     not requested, since the crawl abandoned the host
not_checked   not requested: out of scope, too deep, or the crawl stopped before
"""

from __future__ import annotations

from enum import IntEnum

from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState


class LinkState(IntEnum):
    NOT_CHECKED = 0
    FINE = 1
    BROKEN = 2
    REFUSED = 3
    HOST_GONE = 4


_REFUSALS = frozenset((401, 402, 403, 407, 429, 451))  # the 4xx with which other clients may get the page

LINK_STATE_OF_BLOCKED = {
    Outcome.TIMED_OUT: LinkState.BROKEN,
    Outcome.NO_ADDRESS: LinkState.BROKEN,
    Outcome.NO_CONNECTION: LinkState.BROKEN,
    Outcome.TLS_FAILED: LinkState.BROKEN,
    Outcome.BROKEN: LinkState.BROKEN,
    Outcome.LEADS_NOWHERE: LinkState.BROKEN,
    Outcome.REDIRECT_LOOP: LinkState.BROKEN,
    Outcome.TOO_MANY_REDIRECTS: LinkState.BROKEN,
    Outcome.ROBOTS: LinkState.REFUSED,
    Outcome.ROBOTS_UNREACHABLE: LinkState.REFUSED,
    Outcome.ASKS_FOR_LOGIN: LinkState.REFUSED,
    Outcome.HOST_ABANDONED: LinkState.HOST_GONE,
    # Browsers can display these, though the crawler cannot.
    Outcome.TOO_LARGE: LinkState.FINE,
    Outcome.UNREADABLE: LinkState.FINE,
    Outcome.UNWANTED_TYPE: LinkState.FINE,
    Outcome.NOT_MODIFIED: LinkState.FINE,
    # Decisions of the crawl, or outcomes without information about the page.
    Outcome.OK: LinkState.NOT_CHECKED,
    Outcome.REDIRECT: LinkState.NOT_CHECKED,
    Outcome.FORBIDDEN_ADDRESS: LinkState.NOT_CHECKED,
    Outcome.NO_RESPONSE: LinkState.NOT_CHECKED,
    Outcome.LOST: LinkState.NOT_CHECKED,
    Outcome.CANCELLED: LinkState.NOT_CHECKED,
    Outcome.LOGGED_OUT: LinkState.NOT_CHECKED,
    Outcome.TOO_DEEP: LinkState.NOT_CHECKED,
    Outcome.WOULD_LOG_OUT: LinkState.NOT_CHECKED,
    Outcome.LEAVES_SCOPE: LinkState.NOT_CHECKED,
}


def link_state(state: int, outcome: str) -> LinkState:
    """Return the state of links to a page, by the state of the page and the outcome of its fetch.

    >>> link_state(PageState.BLOCKED, "http 403").name, link_state(PageState.BLOCKED, "http 500").name
    ('REFUSED', 'BROKEN')
    """
    if state in (PageState.FETCHED, PageState.SKIPPED):
        return LinkState.FINE
    if state == PageState.FAILED:
        return LinkState.BROKEN
    if state != PageState.BLOCKED:
        return LinkState.NOT_CHECKED
    if outcome.startswith("http "):
        return LinkState.REFUSED if outcome[5:].isdigit() and int(outcome[5:]) in _REFUSALS else LinkState.BROKEN
    try:
        return LINK_STATE_OF_BLOCKED[Outcome(outcome)]
    except (ValueError, KeyError):  # the database may be from another version
        return LinkState.NOT_CHECKED
