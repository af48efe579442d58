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

import heapq
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from orienteer import __version__
from orienteer.access.keyring import Keyring
from orienteer.access.session import Step
from orienteer.answers.answer import Request
from orienteer.answers.meaning import Verdict
from orienteer.frontier.frontier import LAST
from orienteer.frontier.host_health import HostHealth
from orienteer.hooks.hook_names import Hook
from orienteer.ledger.intake import Intake
from orienteer.ledger.ledger import Ledger
from orienteer.live.errands import Errand, Errands
from orienteer.live.host_turns import HostTurns
from orienteer.live.impossible_goal import ImpossibleGoal
from orienteer.live.parts import Parts, facts_of
from orienteer.live.rendering import Rendering
from orienteer.live.under_way import UnderWay
from orienteer.live.worker_shares import WorkerShares
from orienteer.pages.outcome import Outcome
from orienteer.pages.stop_reason import StopReason
from orienteer.store.log import Log, NoLog
from orienteer.url import canonical_url, host_of
from orienteer.workers.crew import Crew
from orienteer.workers.received import Received
from orienteer.workers.showing import ShowSettings

_TICK_S = 0.25  # the longest wait before looking at the clock again
# These are failures of the host: no page must be lost to a short outage. Only where the host is well by what other
# pages say does "slow down" count against the page.
HOST_FAILURES = frozenset((Outcome.SLOW_DOWN, Outcome.NO_ADDRESS, Outcome.NO_CONNECTION))

_IS_THERE = frozenset((Verdict.FETCHED, Verdict.NOT_MODIFIED, Verdict.SKIPPED))
_SEEDS_LOGGED = 20
_MAX_UNASKED = 1000  # pages that may be dealt with in a row without looking for answers


class LiveCrawl:
    """Drives a ledger's crawl over the network until its goal is reached, or somebody asks it to stop."""

    def __init__(
        self, ledger: Ledger, crew: Crew, hooks: Sequence[Hook] = (), keyring: Keyring | None = None,
        show: ShowSettings | None = None,
    ) -> None:  # fmt: skip
        """`show`: how pages are shown in a browser, where there is one."""
        plan = ledger.plan
        self.ledger = ledger
        self.crawl = ledger.crawl
        self.log = (Log if plan.crawl.log else NoLog)(ledger.folder.log_path)
        self.intake = Intake(ledger, hooks, self.log)
        self.crew = crew
        self.keyring = keyring or Keyring()
        show = show if crew.asks_web else None
        crew.begin(replace(self.intake.reading, show=show))
        self.workers = min(plan.crawl.workers, crew.max_under_way)
        self.health = HostHealth(plan.retry)
        self.shares = WorkerShares(self.crawl.frontier, self.workers)
        asks_robots = plan.crawl.robots and crew.asks_web
        self.errands = Errands(plan.fetch.user_agent, asks_robots, plan.crawl.sitemaps, plan.crawl.guess_sitemap)
        self.turns = HostTurns(ledger, self.errands)
        self.parts = Parts(ledger, crew, self.turns, self.health, self.keyring, self.log, self.workers)
        self.rendering = Rendering(ledger, crew, self.parts, show is not None)
        self.stop_wanted = 0  # 1: finish what is under way; 2: stop at once
        self.hear: Callable[[Received], None] = lambda answer: None  # told every answer, before it is taken in
        self.tell: Callable[[str], None] = lambda line: None  # told in one line what a person should know
        self.impossible_goal = ImpossibleGoal(ledger)
        self.n_under_way = 0  # fetches, as of the last time that pages were asked for
        self.under_way = UnderWay()  # which those are, without the parts of pages
        self._errand_of: dict[int, Errand | Step] = {}  # the page whose turn it took
        self._held: dict[int, list[int]] = {}  # by host: pages that wait for an errand under way
        self._attempts: Counter[int | str] = Counter()  # that failed, by page; by URL for sitemaps
        self._good_then: dict[int | str, int] = {}  # the good answers of its host when it failed last
        self._put_off: list[tuple[float, int]] = []  # a heap: when a page that failed is tried again, and the page

    def run(self, tick: Callable[[], None] = lambda: None) -> StopReason:
        """Crawl until the goal is reached, nothing is left, or somebody asks it to stop; why it ended.

        `tick` is called several times a second.
        """
        self._log_start()
        self.crew.record_headers = self.ledger.folder.archive.record_headers()
        self.turns.know_hosts()
        self.parts.want_of_earlier_pages()
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
            self.under_way.drop_ended()
            is_through = self._ask()
            self._look_at_goal()
            self.n_under_way = self.crew.n_under_way
            if self.crew.n_under_way == 0 and self._is_over():
                break
            wait_s = self._patience() if is_through else 0.0
            if self.crew.n_under_way:
                self._take_in_all(self.crew.poll(wait_s))
                self.rendering.relay()
            else:
                time.sleep(wait_s)  # a host must rest
            now = time.monotonic()
            self.turns.look(now)
            if now - acknowledged >= commit_every_s:
                self.parts.acknowledge()
                self.ledger.acknowledge()
                self.crew.record_headers = self.ledger.folder.archive.record_headers()
                self.log.flush()
                self.ledger.checkpoint_if_due(now)
                acknowledged = now
            tick()
        self._bring_back(math.inf)
        self.crawl.certificate()  # settles it, so that the report has no news
        self._look_at_goal()
        self.parts.acknowledge()
        self.ledger.checkpoint()
        paused = StopReason.LOGIN_FAILED if self.keyring.trouble else StopReason.INTERRUPTED
        return self.crawl.stopped_because or paused

    def _look_at_goal(self) -> None:
        news = self.impossible_goal.news()
        if news is not None:
            self.log.note("goal impossible", **news.facts)
            self.tell(news.line)
        if self.crawl.stopped_because is not None and (line := self.parts.news()):
            self.tell(line)

    # -- asking -------------------------------------------------------------------------------------------------

    def _ask(self) -> bool:
        """Start fetches while workers are free and a host may be asked; False if it should be called again at once."""
        if self.keyring.trouble and not self.stop_wanted:
            self._pause(self.keyring.trouble)
        if self.stop_wanted >= 2:
            self.crew.cancel()
            self.parts.cancel()
        self.parts.ask(time.monotonic(), only_awaited=bool(self.stop_wanted))
        if self.stop_wanted:
            return True
        self._bring_back(time.monotonic())
        for _ in range(self.workers + _MAX_UNASKED):
            if self.crew.n_under_way >= self.workers:
                return True
            page = self.crawl.next(time.monotonic(), self.shares.only_quick())
            if page is None:
                return True
            self._ask_for(page)
        return False

    def _pause(self, why: str) -> None:
        """Rather no page than those for strangers; whoever resumes it begins with a new login."""
        self.stop_wanted = 1
        self.ledger.note(StopReason.LOGIN_FAILED, None, why)
        self.log.note(StopReason.LOGIN_FAILED, why=why)

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
        if (refusal := self.keyring.refusal(url)) is not None:
            return self.intake.block(page, refusal, now)
        if host in self._held:
            self._held[host].append(page)
            return
        if self.turns.are_shared(host) and (rest_s := self.health.rest_left_s(host, now)) > 0:
            return self._wait(page, now, rest_s)
        errand = self.keyring.next_step(url) or self.errands.next(host, url, now)
        if errand is not None:
            self._held[host] = []
            self._errand_of[page] = errand
            self._start(self._request_of(errand, url, page), host)
        elif not self.errands.allows(host, url):
            self.intake.block(page, Outcome.ROBOTS, now)
        else:
            headers, secrets = self.ledger.library.request_headers(page), self.keyring.secrets_for(url)
            self._start(Request(url, page, headers, secrets=secrets, render=self.rendering.reason(url)), host)

    def _request_of(self, errand: Errand | Step, page_url: str, page: int) -> Request:
        if isinstance(errand, Step):
            return self.keyring.request_of(errand, page_url, page)
        secrets = self.keyring.secrets_for(errand.url)
        return Request(errand.url, page, any_type=True, max_body_bytes=errand.max_body_bytes, secrets=secrets)

    def _start(self, request: Request, host: int) -> None:
        self.turns.asked(host)
        self.shares.started(request.page, host)
        is_login = isinstance(self._errand_of.get(request.page), Step)
        told = request.url.partition("?")[0] if is_login else request.url  # there may be a ticket in it
        self.under_way.started(request.page, told, time.monotonic())
        self.crew.start(request)

    def _wait(self, page: int, now: float, wait_s: float) -> None:
        """The page is tried again after this time; its host is free for other pages."""
        self.crawl.put_off(page, now)
        heapq.heappush(self._put_off, (now + wait_s, page))

    def _bring_back(self, now: float) -> None:
        """The pages that were put off until now wait with the others again."""
        while self._put_off and self._put_off[0][0] <= now:
            self.crawl.retry(heapq.heappop(self._put_off)[1], now)

    def _patience(self) -> float:
        """How long to wait for answers before there is something else to do."""
        if self.stop_wanted:
            return _TICK_S
        times = [self.parts.next_time()]
        if not self.crawl.is_closed and self.crew.n_under_way < self.workers:
            times += [self.crawl.frontier.next_time(), self._put_off[0][0] if self._put_off else None]
        due = min((due for due in times if due is not None), default=math.inf)
        return min(max(due - time.monotonic(), 0.0), _TICK_S)

    def _is_over(self) -> bool:
        if self.stop_wanted:
            return True
        if self.parts.n_waiting:
            return False
        if self.crawl.stopped_because is not None:
            return True
        return len(self.crawl.frontier) == 0 and not self._put_off

    # -- answers ------------------------------------------------------------------------------------------------

    def _take_in_all(self, answers: list[Received]) -> None:
        for part in [answer for answer in answers if answer.request.page < 0]:
            self.parts.take_in(part)
        answers = [answer for answer in answers if answer.request.page >= 0]
        self.intake.completed([answer for answer in answers if answer.request.page not in self._errand_of])
        for answer in answers:
            self.intake.n_bytes += answer.n_bytes
            self.hear(answer)
            host = self.ledger.host(answer.request.page)
            errand = self._errand_of.pop(answer.request.page, None)
            self.shares.ended(host, answer)
            self.under_way.ended(answer.request.page)
            if errand is None:
                self.turns.answered(host, answer.meaning.verdict is Verdict.FETCHED)
                self._take_in(answer)
            else:
                self.turns.answered(host, False)
                rest_s = self._take_in_errand(errand, host, answer)
                is_forbidden = answer.outcome is Outcome.FORBIDDEN_ADDRESS and not isinstance(errand, Step)
                self._let_go_on(host, answer, rest_s, is_forbidden)
            if self.turns.are_shared(host):
                self.turns.keep_delay(host, time.monotonic())
            self.parts.freed(host)
        self.turns.know_hosts()

    def _take_in(self, answer: Received) -> None:
        page, now = answer.request.page, time.monotonic()
        host = self.ledger.host(page)
        self.log.note("fetch", **facts_of(answer), retry=self._attempts[page])
        self.rendering.came(answer)
        if answer.outcome is Outcome.CANCELLED:
            self.crawl.retry(page, now, 0.0)
        elif answer.outcome is Outcome.LOST:
            self._retry(page, host, now, 0.0)
        elif answer.outcome is Outcome.LOGGED_OUT:
            self.keyring.looked_logged_out(answer.request)
            self._retry(page, host, now, 0.0)
        elif answer.meaning.verdict is Verdict.TRY_AGAIN:
            self._try_again(page, host, answer, now)
        else:
            if answer.status:
                self.health.answered(host)
            self._forget_attempts(page)
            self.keyring.heard(answer.request, answer.meaning.verdict in _IS_THERE, answer.cookies)
            self.intake.take_in(page, answer, now)
            self.parts.want_of_page(page, answer)
            self.turns.follow_links(page, host)

    def _try_again(self, page: int, host: int, answer: Received, now: float) -> None:
        """The page, or its host, has a difficulty: it is tried again later, unless it has been often enough."""
        self.intake.outcomes[answer.reason] += 1
        is_of_host = answer.outcome in HOST_FAILURES
        is_refused_probe = answer.outcome is Outcome.SLOW_DOWN and self.crawl.is_probe(page)
        first = page if is_refused_probe and self.crawl.frontier.has_pages(host) else None
        rest_s = self._rest_s(host, answer, now, None if is_of_host else page, first)
        if self._was_last_try(page, host, answer.outcome):
            self.ledger.blocked(page, answer.reason, answer, now)
            self._rest(host, now, rest_s)
        elif is_of_host and not is_refused_probe:
            self._retry(page, host, now, rest_s)
            if answer.outcome is Outcome.SLOW_DOWN and page in self.crawl.frontier:
                self.crawl.frontier.put([page], [LAST], [host])  # perhaps for this page alone: any other goes first
        else:
            wait_s = rest_s + self.health.page_rest_s(host, self._attempts[page])
            self._wait(page, now, wait_s)
            self._rest(host, now, rest_s)
            self.log.note("page waits", url=answer.request.url, wait_s=round(wait_s, 3), why=answer.reason)

    def _retry(self, page: int, host: int, now: float, rest_s: float) -> None:
        """The page waits in the frontier while its host rests; or outside, where the others of its turn need not."""
        if rest_s and self.turns.are_shared(host):
            self._wait(page, now, rest_s)
        else:
            self.crawl.retry(page, now)
            self._rest(host, now, rest_s)

    def _rest(self, host: int, now: float, rest_s: float) -> None:
        if rest_s and not self.turns.are_shared(host):
            self.crawl.frontier.rest(host, now + rest_s)

    def _was_last_try(self, wanted: int | str, host: int, outcome: Outcome) -> bool:
        """Whether a page, or the sitemap with this URL, has failed often enough."""
        n_good = self.health.n_good(host)
        is_well = outcome is Outcome.SLOW_DOWN and n_good > self._good_then.get(wanted, n_good)
        self._good_then[wanted] = n_good
        self._attempts[wanted] += is_well or outcome not in HOST_FAILURES
        is_over = self._attempts[wanted] >= self.ledger.plan.retry.max_attempts
        if is_over or self.health.is_given_up(host) or self.health.is_refused(host, wanted):
            self._forget_attempts(wanted)
            return True
        return False

    def _forget_attempts(self, wanted: int | str) -> None:
        self._attempts.pop(wanted, None)
        self._good_then.pop(wanted, None)

    def _rest_s(
        self, host: int, answer: Received, now: float, page: int | None = None, first: int | None = None
    ) -> float:
        """How long a host in trouble rests; one that is given up need not, since it is not asked any more.

        The failure is that of the `page`, or of the host itself; `first` is a page that goes before others of the host.
        """
        if self.health.is_given_up(host):
            return 0.0
        why, name = answer.reason, self.ledger.seen.host_name(host)
        if page is None:
            rest_s = self.health.failed(host, now, answer.retry_after_s, why, first)
        else:
            rest_s = self.health.page_failed(host, page, now, bool(answer.status), why)
        if rest_s is None:
            self._give_up(host, name, now)
            return 0.0
        if rest_s:
            self.log.note("host rests", host=name, rest_s=round(rest_s, 3), why=why)
        return rest_s

    def _give_up(self, host: int, name: str, now: float) -> None:
        """Its pages are not waited for any longer."""
        self.ledger.note(Outcome.HOST_GIVEN_UP, host, self.health.reason(host))
        self.log.note("host given up", host=name, why=self.health.reason(host))
        self._put_off = [(now if self.ledger.host(page) == host else due, page) for due, page in self._put_off]
        heapq.heapify(self._put_off)
        self.crawl.frontier.wake(host)

    def _leave(self, page: int, now: float) -> None:
        """The page is too deep: for good in the first crawl, for this time in an epoch."""
        if self.ledger.epoch is None:
            return self.intake.block(page, Outcome.TOO_DEEP, now)
        self.ledger.left(page, now)

    # -- errands ------------------------------------------------------------------------------------------------

    def _take_in_errand(self, errand: Errand | Step, host: int, answer: Received) -> float:
        """How long the host must rest because of it; 0: no longer than usual."""
        now = time.monotonic()
        if isinstance(errand, Step):
            return self._take_in_step(errand, host, answer, now)
        self.log.note("robots" if errand.is_robots else "sitemap", **facts_of(answer))
        if answer.outcome is Outcome.LOST and not errand.is_robots:
            self.errands.ask_again(host, errand)
        elif answer.outcome in (Outcome.CANCELLED, Outcome.LOST):
            pass
        elif errand.is_robots:
            return self._take_in_robots(host, answer, now)
        elif answer.meaning.verdict is Verdict.TRY_AGAIN:
            return self._try_sitemap_again(host, errand, answer, now)
        else:
            assert answer.whole is not None
            pages, sitemaps = self.errands.sitemap_came(answer.whole)
            self._take_in_sitemap(pages, sitemaps)
        return 0.0

    def _take_in_step(self, step: Step, host: int, answer: Received, now: float) -> float:
        """A step of a login; its URL may hold a ticket, so the log does not have all of it."""
        page_url = self.ledger.url(answer.request.page)
        self.log.note("login", step=step.kind, url=step.url.partition("?")[0], outcome=answer.reason)
        if answer.outcome in (Outcome.CANCELLED, Outcome.LOST):
            return 0.0
        assert answer.whole is not None
        if self.keyring.must_repeat(step, answer.whole):
            self.keyring.start_over(page_url)
            return self._rest_s(host, answer, now)
        self.health.answered(host)
        self.keyring.came(step, page_url, answer.whole, answer.cookies)
        return 0.0

    def _let_go_on(self, host: int, answer: Received, rest_s: float, is_forbidden: bool) -> None:
        """The pages that waited for an errand wait for their turn again; or are no more allowed than robots.txt."""
        now = time.monotonic()
        for waiting in (answer.request.page, *self._held.pop(host)):
            if is_forbidden:
                self.intake.block(waiting, answer.reason, now)
            elif answer.outcome is Outcome.CANCELLED:
                self.crawl.retry(waiting, now, 0.0)
            else:
                self._retry(waiting, host, now, rest_s)

    def _take_in_robots(self, host: int, answer: Received, now: float) -> float:
        """How long the host must rest because its robots.txt is out of reach; 0: no longer than usual."""
        assert answer.whole is not None
        robots = self.errands.robots_came(host, answer.whole, now)
        if robots is None and answer.outcome is Outcome.REDIRECT:
            return 0.0
        if robots is None:
            # Where no server answered, that is what is wrong, and not its robots.txt.
            is_answered = answer.status or answer.outcome is Outcome.FORBIDDEN_ADDRESS
            self.intake.outcomes[Outcome.ROBOTS_OUT_OF_REACH if is_answered else answer.reason] += 1
            return self._rest_s(host, answer, now)
        self.health.answered(host)
        self.turns.keep_delay(host, now)
        self._take_in_sitemap([], robots.sitemaps)
        guess = canonical_url("/sitemap.xml", self.ledger.url(answer.request.page))
        if guess is not None and self.ledger.scope.contains([guess])[0]:
            self.errands.guess_sitemap(host, guess)
        return 0.0

    def _try_sitemap_again(self, host: int, errand: Errand, answer: Received, now: float) -> float:
        """How long the host must rest. An error in its sitemaps does not say that the host is in trouble."""
        is_of_the_host = answer.outcome in HOST_FAILURES
        back_off_s = 0.0 if errand.is_guess else self.ledger.plan.retry.back_off_s
        rest_s = self._rest_s(host, answer, now) if is_of_the_host else back_off_s
        if not errand.is_guess and not self._was_last_try(errand.url, host, answer.outcome):
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
            epoch=self.ledger.number, workers=self.workers, delay_s=plan.politeness.delay_s,
            robots=plan.crawl.robots, hooks=plan.crawl.hooks, access=plan.crawl.access, n_done=len(crawl.order),
            n_known=len(self.ledger.seen),
        )  # fmt: skip

    def _log_end(self, why: str, elapsed_s: float) -> None:
        self.log.note(
            "end", why=why, n_done=len(self.crawl.order), n_known=len(self.ledger.seen), n_bytes=self.intake.n_bytes,
            n_parts=self.parts.n_done, n_parts_failed=self.parts.n_failed, parts_bytes=self.parts.n_bytes,
            elapsed_s=round(elapsed_s, 3),
        )  # fmt: skip
        self.log.close()
