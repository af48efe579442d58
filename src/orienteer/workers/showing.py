"""Pages of a worker, shown in a browser while it goes on fetching.

What the browser needs to show a page (scripts, what they ask for) is *wished* for: the crawl gets it, by its own rules,
and supplies it. Nobody else can be reached from the browser.

    showing.give(answer)
    showing.wishes()         what pages need by now
    showing.supply(supply)   here it is, or why not
    showing.taken()          answers that are ready, with what was shown (`Fetched.shown`)
    showing.descriptor       there is something to be read here when there are wishes, or an answer is ready
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from orienteer.answers.answer import Fetched
from orienteer.answers.meaning import Meaning, Verdict
from orienteer.answers.reading import is_html
from orienteer.answers.shown import Shown
from orienteer.browser.job import Rendered, RenderJob, Supplied, Wanted
from orienteer.browser.renderer import Renderer
from orienteer.browser.settings import BrowserSettings
from orienteer.errors import InputError
from orienteer.pages.render_reason import RenderReason


class Wish(NamedTuple):
    """Something that a page needs; `number` tells it from what else the page needs."""

    page: int
    number: int
    url: str
    kind: str


class Supply(NamedTuple):
    """What came of a wish: an answer, or why there is none."""

    page: int
    number: int
    answer: Fetched | None
    refused: str = ""


@dataclass(frozen=True)
class ShowSettings:
    """How pages are shown: `scrolls` to the end of a page, a picture of it (`screenshots`), and limits.

    `pictures`: whether images, fonts and the like are wished for, which no link depends on.
    """

    browser: BrowserSettings
    user_agent: str = ""
    scrolls: int = 0
    screenshots: bool = False
    pictures: bool = False
    max_requests: int = 200
    max_bytes: int = 50 << 20
    time_s: float = 10.0
    cpu_s: float = 20.0
    wall_s: float = 60.0


class ShownAnswer(NamedTuple):
    """An answer with what was shown, and what that took."""

    answer: Fetched
    view: bytes
    n_parts: int
    cpu_s: float


def is_to_be_shown(answer: Fetched, meaning: Meaning) -> bool:
    """Whether a browser has to look at a page that was read."""
    why = answer.request.render
    if not why or answer.shown is not None or meaning.verdict is not Verdict.FETCHED or meaning.page is None:
        return False
    if not is_html(answer.content_type):
        return False
    if why == RenderReason.SUSPECT:
        return meaning.page.is_suspect
    return meaning.page.has_code or meaning.page.is_suspect or why in (RenderReason.ASKED, RenderReason.ROUTE)


class Showing:
    """The pages of one worker, by one browser, which is started when there is a page to show."""

    def __init__(self, settings: ShowSettings) -> None:
        self._settings = settings
        self._renderer = Renderer(settings.browser)
        self._answers: dict[int, Fetched] = {}  # by job
        self._jobs: dict[int, int] = {}  # by page
        self._next_job = 0
        self._wanted: list[Wish] = []
        self._done: list[ShownAnswer] = []

    @property
    def descriptor(self) -> int:
        return self._renderer.descriptor

    @property
    def n_under_way(self) -> int:
        return len(self._answers) + len(self._done)

    @property
    def cpu_s(self) -> float:
        return self._renderer.cpu_s

    def give(self, answer: Fetched) -> None:
        number, self._next_job = self._next_job, self._next_job + 1
        self._answers[number] = answer
        self._jobs[answer.request.page] = number
        settings = self._settings
        self._renderer.start(
            RenderJob(
                number=number,
                url=answer.request.url,
                status=answer.status,
                headers=tuple(answer.headers.items()),
                content=answer.content,
                user_agent=settings.user_agent,
                scrolls=settings.scrolls,
                screenshot=settings.screenshots,
                pictures=settings.pictures,
                max_requests=settings.max_requests,
                max_bytes=settings.max_bytes,
                time_s=settings.time_s,
                cpu_s=settings.cpu_s,
                wall_s=settings.wall_s,
            )
        )

    def supply(self, supply: Supply) -> None:
        job = self._jobs.get(supply.page)
        if job is None:
            return  # cancelled, or out of time
        answer = supply.answer
        if answer is None or not answer.status:
            refused = supply.refused or ("no answer" if answer is None else answer.reason)
            return self._renderer.supply(Supplied(job, supply.number, 0, (), b"", refused))
        headers = tuple(answer.headers.items())
        self._renderer.supply(Supplied(job, supply.number, answer.status, headers, answer.content))

    def wishes(self) -> list[Wish]:
        self._look()
        wishes, self._wanted = self._wanted, []
        return wishes

    def taken(self) -> list[ShownAnswer]:
        self._look()
        done, self._done = self._done, []
        return done

    def cancel(self) -> list[Fetched]:
        """Nobody wants them any more; what was under way."""
        dropped = [*self._answers.values(), *(done.answer for done in self._done)]
        self._answers, self._jobs, self._done, self._wanted = {}, {}, [], []
        self._renderer.cancel()
        return dropped

    def close(self) -> None:
        self.cancel()
        self._renderer.close()

    def _look(self) -> None:
        for event in self._renderer.events():
            answer = self._answers.get(event.job)
            if answer is None:
                continue  # cancelled
            if isinstance(event, Wanted):
                self._wanted.append(Wish(answer.request.page, event.number, event.url, event.kind))
            else:
                del self._answers[event.job], self._jobs[answer.request.page]
                self._done.append(_shown(answer, event))


def opened_showing(settings: ShowSettings | None) -> Showing | None:
    """None where no page is to be shown, or there is no browser: one machine of a cluster may have none."""
    try:
        return None if settings is None else Showing(settings)
    except InputError:
        return None


def _shown(answer: Fetched, rendered: Rendered) -> ShownAnswer:
    shown = Shown(
        url=rendered.url or answer.request.url,
        document=rendered.dom,
        links=_links(rendered),
        redirect=rendered.redirect,
        n_clickable=rendered.n_clickable,
        grows=rendered.still_growing,
        n_refused=rendered.n_refused,
        trouble=rendered.trouble,
    )
    return ShownAnswer(replace(answer, shown=shown), rendered.screenshot, rendered.n_requests, rendered.cpu_s)


def _links(rendered: Rendered) -> tuple[str, ...]:
    """Links and routes of a page; fragments name pages in an application of hash routes alone."""
    urls = (*rendered.links, *rendered.routes)
    return tuple(dict.fromkeys(urls if rendered.hash_routes else (url.partition("#")[0] for url in urls)))
