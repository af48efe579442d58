"""Do the seeds lead anywhere? A mistyped host or a closed port is said within seconds, not after minutes of retries.

A crawl that has fetched pages waits patiently for hosts in trouble. One that has none yet has nothing to wait for: when
no seed can be reached for some seconds, it ends with one line that says why. Where some seeds work, the crawl goes on,
and the others are named. Time is an argument.
"""

from __future__ import annotations

import numpy as np

from orienteer.answers.meaning import Verdict, verdict_of
from orienteer.errors import SeedError
from orienteer.inspect.status_in_words import lost_in_words
from orienteer.ledger.ledger import Ledger
from orienteer.pages.outcome import Outcome
from orienteer.pages.states import PageState
from orienteer.url import host_of
from orienteer.wording import plain
from orienteer.workers.received import Received

_PATIENCE_S = 2.2  # after the first failure, while no seed's host has answered: it is asked twice in that time
_PATIENCE_WITH_SERVERS_S = 20.0  # the same, where one has: an error, or "come again later"
_REDIRECTS_FOLLOWED = 20
_NO_FAILURES = frozenset((Outcome.CANCELLED, Outcome.LOST, Outcome.LOGGED_OUT))
_TOLD_EVERY_S = 10.0  # what is over before then tells it at its end


class SeedCheck:
    """Hears every answer of a run, and knows which seeds have come to nothing, and why."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self._crawl = ledger, ledger.crawl
        self._seeds = range(len(ledger.plan.crawl.seeds))
        # By host: the last answer that was a failure. Of hosts that seeds are on, or lead to.
        self._failures: dict[int, Received] = {}
        self._hosts = {ledger.host(seed) for seed in self._seeds}
        self._failing_since: float | None = None
        self._told: set[int] = set()
        self._next_telling: float | None = None
        self.has_pages = ledger.epoch is not None or self._n_pages() > 0

    def hear(self, answer: Received, now: float) -> None:
        """An answer came, to whatever was asked for."""
        host = self._ledger.host(answer.request.page)
        if answer.outcome is Outcome.OK and not answer.request.any_type:
            self.has_pages = True
        if answer.outcome is Outcome.REDIRECT and not self.has_pages:
            self._hosts.add(host)
        if verdict_of(answer.outcome, answer.status) is not Verdict.TRY_AGAIN:
            self._failures.pop(host, None)
        elif answer.outcome not in _NO_FAILURES and (host in self._hosts or not self.has_pages):
            self._failures[host] = answer
            self._failing_since = now if self._failing_since is None else self._failing_since

    def expect_a_page(self, now: float) -> None:
        """Raise SeedError if no page has come, and waiting any longer for one would be in vain."""
        if self.has_pages or self._failing_since is None:
            return
        a_server_answered = any(answer.status for answer in self._failures.values())
        patience_s = _PATIENCE_WITH_SERVERS_S if a_server_answered else _PATIENCE_S
        if now - self._failing_since >= patience_s and all(map(self._is_lost, self._seeds)):
            raise nothing_crawled(self.lost())

    def newly_lost(self, now: float) -> dict[str, str]:
        """Seeds that have come to nothing since the last time, while others work."""
        if self._next_telling is None:
            self._next_telling = now + _TOLD_EVERY_S
        if not self.has_pages or now < self._next_telling:
            return {}
        self._next_telling = now + _TOLD_EVERY_S
        lost = [seed for seed in self._seeds if seed not in self._told and self._is_lost(seed)]
        self._told.update(lost)
        return {self._ledger.url(seed): self._reason(seed) for seed in lost}

    def lost(self) -> dict[str, str]:
        """The seeds that have come to nothing so far, with the reason."""
        return {self._ledger.url(seed): self._reason(seed) for seed in self._seeds if self._is_lost(seed)}

    def _n_pages(self) -> int:
        """Pages that were fetched, without redirects, which are other names of pages."""
        n_fetched = int(np.count_nonzero(self._crawl.states() == PageState.FETCHED))
        return n_fetched - self._crawl.n_other_names()

    def _end_of(self, page: int) -> int:
        """Where the redirects of a page lead."""
        for _ in range(_REDIRECTS_FOLLOWED):
            if not self._crawl.coverage.is_alias(page) or self._crawl.state(page) is not PageState.FETCHED:
                break
            page = int(self._crawl.web.links(page)[0])
        return page

    def _is_lost(self, seed: int) -> bool:
        page = self._end_of(seed)
        state = self._crawl.state(page)
        if state in (PageState.FAILED, PageState.SKIPPED, PageState.BLOCKED):
            return True
        return state is not PageState.FETCHED and self._ledger.host(page) in self._failures

    def _reason(self, seed: int) -> str:
        page = self._end_of(seed)
        url = plain(self._ledger.url(page), 200)
        why = self._why(page, url)
        return why if page == seed else f"redirects to {url}, and there: {why}"

    def _why(self, page: int, url: str) -> str:
        row = self._ledger.database.page(page)
        answer = self._failures.get(self._ledger.host(page))
        if row is None or row.outcome == Outcome.HOST_GIVEN_UP:
            return failure_in_words(answer) if answer is not None else "its host was given up after many failures"
        if row.outcome in _WHY:
            return _WHY[row.outcome].format(host=plain(host_of(url)))
        if row.outcome == Outcome.UNWANTED_TYPE:
            kind = plain(row.content_type, 60) or "without a content type"
            return f"it is no page but {kind} (see --content-type)"
        if row.outcome == Outcome.LEAVES_SCOPE and len(row.outside):
            return f"it redirects to {plain(self._ledger.url(int(row.outside[0])), 200)}, outside the scope"
        if row.status in _STATUSES:
            return f"the server answered {row.status} ({_STATUSES[row.status]})"
        if answer is not None:
            return failure_in_words(answer)
        return f"the server answered {row.status}" if row.status >= 300 else plain(row.outcome)


_WHY: dict[str, str] = {
    Outcome.ASKS_FOR_LOGIN: "it asks for a login, or is the login page itself",
    Outcome.WOULD_LOG_OUT: "it would end the session of the crawl",
    Outcome.ROBOTS: "robots.txt of {host} does not allow it",
    Outcome.FORBIDDEN_ADDRESS: "{host} is a private address; --allow-private if it is your own",
    Outcome.UNREADABLE: "it is a document that cannot be read",
    Outcome.TLS_FAILED: "the certificate of {host} was not accepted, or it speaks no TLS (http:// instead of https://?)",
}
_STATUSES = {401: "unauthorized", 403: "forbidden", 404: "not found", 410: "gone", 451: "unavailable for legal reasons"}


def failure_in_words(answer: Received) -> str:
    """Why a host gave no answer that one could use.

    `no address found for wikipdeia.org: is the name right?`, `127.0.0.1:9 refused the connection`.
    """
    host, detail = plain(host_of(answer.request.url)), plain(answer.detail, 200)
    if answer.outcome is Outcome.NO_ADDRESS:
        return f"no address found for {host}: is the name right?"
    if answer.outcome is Outcome.NO_CONNECTION:
        if "refused" in detail.lower() or "failed to connect" in detail.lower():
            return f"{host} refused the connection"
        return f"no connection to {host}" + (f" ({detail})" if detail else "")
    if answer.outcome is Outcome.TIMED_OUT:
        return f"{host} did not answer in time"
    what = f"robots.txt of {host} cannot be read: " if answer.request.any_type else ""
    return f"{what}the server answered {answer.status}" if answer.status else f"{what}{host} broke off its answer"


def nothing_crawled(lost: dict[str, str]) -> SeedError:
    """That no page could be fetched, and why, in one line."""
    return SeedError(f"nothing was crawled: {lost_in_words(lost)}")
