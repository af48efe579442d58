"""What becomes of somebody who follows a link, by what the crawl found there: one table.

fine          there is a page, or a file
broken        there is nothing: 404 and other errors, no such host, redirects that lead nowhere
refused       there may be a page, but it was kept from the crawl: robots.txt, a login, 403
host_gone     its host was given up, so nobody asked
not_checked   the crawl did not look: outside its scope, too deep, or it stopped before
"""

from __future__ import annotations

from enum import IntEnum

from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState


class Fate(IntEnum):
    NOT_CHECKED = 0
    FINE = 1
    BROKEN = 2
    REFUSED = 3
    HOST_GONE = 4


_REFUSALS = frozenset((401, 402, 403, 407, 429, 451))  # of all 4xx: who asks in another way may get the page

FATE_OF_BLOCKED = {
    Outcome.TIMED_OUT: Fate.BROKEN,
    Outcome.NO_ADDRESS: Fate.BROKEN,
    Outcome.NO_CONNECTION: Fate.BROKEN,
    Outcome.TLS_FAILED: Fate.BROKEN,
    Outcome.BROKEN: Fate.BROKEN,
    Outcome.LEADS_NOWHERE: Fate.BROKEN,
    Outcome.REDIRECT_LOOP: Fate.BROKEN,
    Outcome.TOO_MANY_REDIRECTS: Fate.BROKEN,
    Outcome.ROBOTS: Fate.REFUSED,
    Outcome.ROBOTS_OUT_OF_REACH: Fate.REFUSED,
    Outcome.ASKS_FOR_LOGIN: Fate.REFUSED,
    Outcome.HOST_GIVEN_UP: Fate.HOST_GONE,
    # A browser shows these, though nobody here can.
    Outcome.TOO_LARGE: Fate.FINE,
    Outcome.UNREADABLE: Fate.FINE,
    Outcome.UNWANTED_TYPE: Fate.FINE,
    Outcome.NOT_MODIFIED: Fate.FINE,
    # These are decisions of the crawl, or they say nothing about the page.
    Outcome.OK: Fate.NOT_CHECKED,
    Outcome.REDIRECT: Fate.NOT_CHECKED,
    Outcome.FORBIDDEN_ADDRESS: Fate.NOT_CHECKED,
    Outcome.NO_ANSWER: Fate.NOT_CHECKED,
    Outcome.LOST: Fate.NOT_CHECKED,
    Outcome.CANCELLED: Fate.NOT_CHECKED,
    Outcome.LOGGED_OUT: Fate.NOT_CHECKED,
    Outcome.TOO_DEEP: Fate.NOT_CHECKED,
    Outcome.WOULD_LOG_OUT: Fate.NOT_CHECKED,
    Outcome.LEAVES_SCOPE: Fate.NOT_CHECKED,
}


def fate_of(state: int, outcome: str) -> Fate:
    """By the state of a page, and how the attempt to get it ended.

    >>> fate_of(PageState.BLOCKED, "http 403").name, fate_of(PageState.BLOCKED, "http 500").name
    ('REFUSED', 'BROKEN')
    """
    if state in (PageState.FETCHED, PageState.SKIPPED):
        return Fate.FINE
    if state == PageState.FAILED:
        return Fate.BROKEN
    if state != PageState.BLOCKED:
        return Fate.NOT_CHECKED
    if outcome.startswith("http "):
        return Fate.REFUSED if outcome[5:].isdigit() and int(outcome[5:]) in _REFUSALS else Fate.BROKEN
    try:
        return FATE_OF_BLOCKED[Outcome(outcome)]
    except (ValueError, KeyError):  # a database may hold anything
        return Fate.NOT_CHECKED
