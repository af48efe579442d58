"""A crawl of the real web: the Crawl chooses pages, the Fetcher gets them, the Ledger makes them durable.

One thread does everything:

    choose pages while there are free workers; ask for them
    wait for answers; take the links out; tell the ledger
    now and then: acknowledge what has happened, report, save a checkpoint

What an answer means is said by `answers/meaning.py`.

In an epoch, pages that were seen not long ago are not asked for, and the others with the headers that let a server say:
not modified.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from orienteer import __version__
from orienteer.answers.answer import Fetched, Request
from orienteer.answers.meaning import Meaning, Verdict, verdict_of
from orienteer.fetch.fetcher import Fetcher
from orienteer.frontier.host_health import HostHealth
from orienteer.hooks.hook_names import Hook
from orienteer.ledger.intake import Intake
from orienteer.ledger.ledger import Ledger
from orienteer.live.errands import Errand, Errands
from orienteer.pages.outcome import Outcome
from orienteer.pages.stop_reason import StopReason
from orienteer.store.log import Log, NoLog
from orienteer.url import host_of

_TICK_S = 0.25  # the longest wait before looking at the clock again
# After these the host is tried again, until it is given up: no page must be lost to a short outage.
HOST_FAILURES = frozenset((Outcome.SLOW_DOWN, Outcome.NO_ADDRESS, Outcome.NO_CONNECTION))

_SEEDS_LOGGED = 20
_MAX_UNASKED = 1000  # pages that may be dealt with in a row without looking for answers


class LiveCrawl:
    """Drives a ledger's crawl over the network until its goal is reached, or somebody asks it to stop."""

    def __init__(self, ledger: Ledger, fetcher: Fetcher, hooks: Sequence[Hook] = ()) -> None:
        plan = ledger.plan
        self.ledger = ledger
        self.crawl = ledger.crawl
        self.fetcher = fetcher
        self.health = HostHealth(plan.retry)
        asks_robots = plan.crawl.robots and fetcher.asks_web
        self.errands = Errands(plan.fetch.user_agent, asks_robots, plan.crawl.sitemaps)
        self.log = (Log if plan.crawl.log else NoLog)(ledger.folder.log_path)
        self.intake = Intake(ledger, hooks, self.log)
        self.stop_wanted = 0  # 1: finish what is under way; 2: stop at once
        self.hear: Callable[[Fetched], None] = lambda answer: None  # told every answer, before it is taken in
        self.n_under_way = 0  # fetches, as of the last time that pages were asked for
        self._errand_of: dict[int, Errand] = {}  # the page whose turn it took
        self._held: dict[int, list[int]] = {}  # by host: pages that wait for an errand under way
        self._attempts: Counter[int | str] = Counter()  # that failed, by page; by URL for sitemaps

    def run(self, tick: Callable[[], None] = lambda: None) -> StopReason:
        """Crawl until the goal is reached, nothing is left, or somebody asks it to stop; why it ended.

        `tick` is called several times a second.
        """
        self._log_start()
        started = time.monotonic()
        try:
            why = self._run(tick)
            ended = str(why)
        except BaseException as error:
            ended = f"error: {error}"
            raise
        finally:
            self._log_end(ended, time.monotonic() - started)
        return why

    def _run(self, tick: Callable[[], None]) -> StopReason:
        commit_every_s = self.ledger.plan.crawl.commit_every_s
        acknowledged = time.monotonic()
        while True:
            is_through = self._ask()
            self.n_under_way = self.fetcher.n_under_way
            if self.fetcher.n_under_way == 0 and self._is_over():
                break
            wait_s = self._patience() if is_through else 0.0
            if self.fetcher.n_under_way:
                self._take_in_all(self.fetcher.poll(wait_s))
            else:
                time.sleep(wait_s)  # a host must rest
            now = time.monotonic()
            if now - acknowledged >= commit_every_s:
                self.ledger.acknowledge()
                self.log.flush()
                self.ledger.checkpoint_if_due(now)
                acknowledged = now
            tick()
        self.ledger.checkpoint()
        return self.crawl.stopped_because or StopReason.INTERRUPTED

    # -- asking -------------------------------------------------------------------------------------------------

    def _ask(self) -> bool:
        """Start fetches while workers are free and a host may be asked; False if it should be called again at once."""
        if self.stop_wanted >= 2:
            self.fetcher.cancel()
        if self.stop_wanted:
            return True
        workers = self.ledger.plan.crawl.workers
        for _ in range(workers + _MAX_UNASKED):
            if self.fetcher.n_under_way >= workers:
                return True
            page = self.crawl.next(time.monotonic())
            if page is None:
                return True
            self._ask_for(page)
        return False

    def _ask_for(self, page: int) -> None:
        now = time.monotonic()
        host, url = self.ledger.host(page), self.ledger.url(page)
        max_depth = self.ledger.max_depth
        if self.ledger.library.stands(page):
            return self.ledger.carried(page, now)
        if self.health.is_given_up(host):
            return self.intake.block(page, Outcome.HOST_GIVEN_UP, now)
        if max_depth is not None and self.ledger.depth(page) > max_depth:
            return self._leave(page, now)
        if host in self._held:
            self._held[host].append(page)
            return
        errand = self.errands.next(host, url, now)
        if errand is not None:
            self._held[host] = []
            self._errand_of[page] = errand
            self.fetcher.start(Request(errand.url, page, any_type=True, max_body_bytes=errand.max_body_bytes))
        elif not self.errands.allows(host, url):
            self.intake.block(page, Outcome.ROBOTS, now)
        else:
            self.fetcher.start(Request(url, page, self.ledger.library.request_headers(page)))

    def _patience(self) -> float:
        """How long to wait for answers before there is something else to do."""
        later = None if self.stop_wanted or self.crawl.is_closed else self.crawl.frontier.next_time()
        if later is None or self.fetcher.n_under_way >= self.ledger.plan.crawl.workers:
            return _TICK_S
        return min(max(later - time.monotonic(), 0.0), _TICK_S)

    def _is_over(self) -> bool:
        if self.stop_wanted or self.crawl.stopped_because is not None:
            return True
        return len(self.crawl.frontier) == 0

    # -- answers ------------------------------------------------------------------------------------------------

    def _take_in_all(self, answers: list[Fetched]) -> None:
        of_pages = [answer for answer in answers if answer.request.page not in self._errand_of]
        meanings = iter(self.intake.read(of_pages))
        for answer in answers:
            self.intake.n_bytes += len(answer.raw_headers) + len(answer.body)
            self.hear(answer)
            errand = self._errand_of.pop(answer.request.page, None)
            if errand is None:
                self._take_in(answer, next(meanings))
            else:
                self._take_in_errand(errand, answer)

    def _take_in(self, answer: Fetched, meaning: Meaning) -> None:
        page, now = answer.request.page, time.monotonic()
        host = self.ledger.host(page)
        self.log.note("fetch", **_facts_of(answer), retry=self._attempts[page])
        if answer.outcome is Outcome.CANCELLED:
            self.crawl.retry(page, now, 0.0)
        elif meaning.verdict is Verdict.TRY_AGAIN:
            self._try_again(page, host, answer, now)
        else:
            if answer.status:
                self.health.answered(host)
            self._attempts.pop(page, None)
            self.intake.take_in(page, answer, meaning, now)

    def _try_again(self, page: int, host: int, answer: Fetched, now: float) -> None:
        """The host has a difficulty: it rests, and the page is tried again, unless it has been often enough."""
        self.intake.outcomes[answer.reason] += 1
        rest_s = self._rest_s(host, answer, now)
        if self._was_last_try(page, host, answer.outcome):
            self.ledger.blocked(page, answer.reason, answer, now)
            self.crawl.frontier.rest(host, now + rest_s)
        else:
            self.crawl.retry(page, now, rest_s)

    def _was_last_try(self, wanted: int | str, host: int, outcome: Outcome) -> bool:
        """Whether a page, or the sitemap with this URL, has failed often enough."""
        self._attempts[wanted] += outcome not in HOST_FAILURES
        if self.health.is_given_up(host) or self._attempts[wanted] >= self.ledger.plan.retry.max_attempts:
            del self._attempts[wanted]
            return True
        return False

    def _rest_s(self, host: int, answer: Fetched, now: float) -> float:
        """How long a host in trouble rests; one that is given up need not, since it is not asked any more."""
        if self.health.is_given_up(host):
            return 0.0
        why, name = answer.reason, self.ledger.seen.host_name(host)
        rest_s = self.health.failed(host, now, answer.retry_after_s, why)
        if rest_s is None:
            self.ledger.note(Outcome.HOST_GIVEN_UP, host, self.health.reason(host))
            self.log.note("host given up", host=name, why=self.health.reason(host))
            return 0.0
        self.log.note("host rests", host=name, rest_s=round(rest_s, 3), why=why)
        return rest_s

    def _leave(self, page: int, now: float) -> None:
        """The page is too deep: for good in the first crawl, for this time in an epoch."""
        if self.ledger.epoch is None:
            return self.intake.block(page, Outcome.TOO_DEEP, now)
        self.ledger.left(page, now)

    # -- errands ------------------------------------------------------------------------------------------------

    def _take_in_errand(self, errand: Errand, answer: Fetched) -> None:
        page, now = answer.request.page, time.monotonic()
        host = self.ledger.host(page)
        self.log.note("robots" if errand.is_robots else "sitemap", **_facts_of(answer))
        rest_s: float | None = None
        if answer.outcome is Outcome.CANCELLED:
            rest_s = 0.0
        elif errand.is_robots:
            rest_s = self._take_in_robots(host, answer, now)
        elif verdict_of(answer.outcome, answer.status) is Verdict.TRY_AGAIN:
            rest_s = self._try_sitemap_again(host, errand, answer, now)
        else:
            pages, sitemaps = self.errands.sitemap_came(answer)
            self._take_in_sitemap(pages, sitemaps)
        for waiting in (page, *self._held.pop(host)):
            if answer.outcome is Outcome.FORBIDDEN_ADDRESS:  # its pages are no more allowed than its robots.txt
                self.intake.block(waiting, answer.reason, now)
            else:
                self.crawl.retry(waiting, now, rest_s)

    def _take_in_robots(self, host: int, answer: Fetched, now: float) -> float | None:
        """How long the host must rest because its robots.txt is out of reach; None: no longer than usual."""
        robots = self.errands.robots_came(host, answer, now)
        if robots is None and answer.outcome is Outcome.REDIRECT:
            return None
        if robots is None:
            # Where no server answered, that is what is wrong, and not its robots.txt.
            is_answered = answer.status or answer.outcome is Outcome.FORBIDDEN_ADDRESS
            self.intake.outcomes[Outcome.ROBOTS_OUT_OF_REACH if is_answered else answer.reason] += 1
            return self._rest_s(host, answer, now)
        self.health.answered(host)
        if robots.delay_s is not None and robots.delay_s > self.ledger.plan.politeness.delay_s:
            self.crawl.frontier.set_delay(host, robots.delay_s)
        self._take_in_sitemap([], robots.sitemaps)
        return None

    def _try_sitemap_again(self, host: int, errand: Errand, answer: Fetched, now: float) -> float:
        """How long the host must rest. An error in its sitemaps does not say that the host is in trouble."""
        is_of_the_host = answer.outcome in HOST_FAILURES
        rest_s = self._rest_s(host, answer, now) if is_of_the_host else self.ledger.plan.retry.back_off_s
        if not self._was_last_try(errand.url, host, answer.outcome):
            self.errands.ask_again(host, errand)
        return rest_s

    def _take_in_sitemap(self, pages: list[str], sitemaps: list[str]) -> None:
        pages = [url for url, is_inside in zip(pages, self.ledger.scope.contains(pages), strict=True) if is_inside]
        if pages:
            self.ledger.discovered(pages)
        for url in sitemaps:
            host = self.ledger.host_named(host_of(url))
            if host is not None and self.ledger.scope.contains([url])[0]:
                self.errands.expect_sitemaps(host, [url])

    # -- the log ------------------------------------------------------------------------------------------------

    def _log_start(self) -> None:
        plan, crawl = self.ledger.plan, self.crawl
        if (upgrade := self.ledger.folder.upgrade) is not None:
            self.log.note("upgraded", detail=upgrade)
        self.log.note(
            "start", version=__version__, seeds=plan.crawl.seeds[:_SEEDS_LOGGED], n_seeds=len(plan.crawl.seeds),
            policy=plan.crawl.policy, until=plan.crawl.until, budget=plan.crawl.budget, scope=plan.scope.kind,
            epoch=self.ledger.number, workers=plan.crawl.workers, delay_s=plan.politeness.delay_s,
            robots=plan.crawl.robots, hooks=plan.crawl.hooks, n_done=len(crawl.order), n_known=len(self.ledger.seen),
        )  # fmt: skip

    def _log_end(self, why: str, elapsed_s: float) -> None:
        self.log.note(
            "end", why=why, n_done=len(self.crawl.order), n_known=len(self.ledger.seen), n_bytes=self.intake.n_bytes,
            elapsed_s=round(elapsed_s, 3),
        )  # fmt: skip
        self.log.close()


def _facts_of(answer: Fetched) -> dict[str, Any]:
    """What the log says of any answer."""
    facts = {
        "url": answer.request.url,
        "outcome": answer.reason,
        "status": answer.status,
        "bytes": len(answer.raw_headers) + len(answer.body),
        "duration_s": round(answer.duration_s, 4),
    }
    return facts | {"detail": answer.detail} if answer.detail else facts
