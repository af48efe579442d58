"""Pages of a live crawl in a browser: which ones, what they need for it, and what came of it.

A worker shows them. What a page needs comes to the crawl as a wish, and is fetched as a part of pages (`parts`): as
robots.txt allows, in its host's turn, from no private address. While a page is shown, its own host is free for others.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from orienteer.answers.answer import Fetched
from orienteer.browser.finding import find_browser
from orienteer.browser.settings import BrowserSettings
from orienteer.errors import InputError
from orienteer.ledger.ledger import Ledger
from orienteer.ledger.plan import CrawlPlan
from orienteer.live.parts import Parts
from orienteer.live.render_choice import RenderChoice
from orienteer.pages.render_reason import RenderReason
from orienteer.workers.crew import Crew
from orienteer.workers.received import Received
from orienteer.workers.showing import ShowSettings, Supply, Wish


def show_settings(plan: CrawlPlan, browser: str = "") -> ShowSettings | None:
    """How pages of a crawl are shown; None where none is to be, or `auto` finds no browser.

    `browser` is the program, found by itself where it is not named.
    """
    render = plan.render
    if render.mode == "never":
        return None
    try:
        find_browser(browser)
    except InputError:
        if browser or render.mode != "auto":
            raise
        return None
    return ShowSettings(
        BrowserSettings(browser),
        user_agent=plan.fetch.user_agent,
        scrolls=render.scrolls,
        screenshots=render.screenshots,
        pictures=render.screenshots or plan.crawl.requisites,
        max_requests=render.max_parts,
        max_bytes=render.max_bytes,
        time_s=render.time_s,
        cpu_s=render.cpu_s,
    )


class Rendering:
    """For one live crawl; without a browser it chooses no page."""

    def __init__(self, ledger: Ledger, crew: Crew, parts: Parts, has_browser: bool) -> None:
        self._ledger = ledger
        self._crew = crew
        self._parts = parts
        self._has_browser = has_browser
        self._shown: set[int] = set()  # pages that a browser shows now, as far as they needed something
        self._choice = RenderChoice(ledger.plan.render, lambda: len(ledger.crawl.order))
        for row in ledger.database.rendered():
            numbers = row.n_words_sent, row.n_words, row.n_links_sent, row.n_links
            self._choice.learn(ledger.url(row.page), *numbers)

    def reason(self, url: str) -> RenderReason:
        """For what reason the page at this URL may be shown."""
        return self._choice.reason(url) if self._has_browser else RenderReason.NONE

    def relay(self) -> None:
        """Pass on what pages need by now."""
        for wish in self._crew.wishes():
            if wish.page not in self._shown:
                self._shown.add(wish.page)
                self._ledger.crawl.answered(wish.page, time.monotonic())
            self._parts.want(wish.url, wish.kind, self._supplying(wish))

    def came(self, answer: Received) -> None:
        """A page is back, shown or not."""
        self._shown.discard(answer.request.page)
        self._choice.came(answer.request.url)
        if (shown := answer.shown) is not None:
            self._choice.learn(
                answer.request.url, shown.n_words_sent, shown.n_words, shown.n_links_sent, shown.n_links
            )  # fmt: skip

    def _supplying(self, wish: Wish) -> Callable[[Fetched | str], None]:
        def supply(found: Fetched | str) -> None:
            if isinstance(found, str):
                self._crew.supply(Supply(wish.page, wish.number, None, found))
            else:
                self._crew.supply(Supply(wish.page, wish.number, found))

        return supply
