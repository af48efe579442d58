"""Render the pages of a worker in a browser while the worker continues to fetch.

The browser has no network. Each of its requests goes to the coordinator, which fetches an asset under the rules of the
crawl (robots.txt, delays, scope), and sends a response back.

    renderer.submit(response)
    renderer.browser_requests()  new requests of the pages being rendered
    renderer.fulfill(response)   the response to one of them, or why there is none
    renderer.completed()         responses with `Response.rendered` set
    renderer.descriptor          is readable when there are requests or completed pages
"""

from __future__ import annotations

from dataclasses import replace

from orienteer.browser.job import BrowserRequest, BrowserResponse, RenderJob
from orienteer.browser.renderer import Renderer
from orienteer.errors import InputError
from orienteer.pages.render_reason import RenderReason
from orienteer.responses.reading import is_html
from orienteer.responses.response import PageRequest, Response
from orienteer.responses.verdict import Verdict, VerdictKind
from orienteer.workers.fetch_result import ReadSettings


def should_render(response: Response, verdict: Verdict) -> bool:
    """Whether a browser has to render a page that was parsed as sent by the server."""
    request = response.request
    why = request.render if isinstance(request, PageRequest) else RenderReason.NONE
    if not why or response.rendered is not None or verdict.kind is not VerdictKind.FETCHED or verdict.page is None:
        return False
    if not is_html(response.content_type):
        return False
    if why == RenderReason.SUSPECT:
        return verdict.page.is_suspect
    return verdict.page.has_code or verdict.page.is_suspect or why in (RenderReason.REQUESTED, RenderReason.ROUTE)


class WorkerRenderer:
    """The renderer of one worker. Its browser is started with the first page."""

    def __init__(self, reading: ReadSettings) -> None:
        assert reading.render is not None
        self._settings, self._user_agent = reading.render, reading.user_agent
        self._pictures = reading.render.screenshots or reading.assets
        self._renderer = Renderer(reading.browser)
        self._jobs: dict[int, RenderJob] = {}  # by page
        self._next_number = 0
        self._new_requests: list[BrowserRequest] = []
        self._done: list[Response] = []

    @property
    def descriptor(self) -> int:
        return self._renderer.descriptor

    @property
    def n_in_flight(self) -> int:
        return len(self._jobs) + len(self._done)

    @property
    def cpu_s(self) -> float:
        return self._renderer.cpu_s

    def submit(self, response: Response) -> None:
        job = RenderJob(self._next_number, response, self._settings, self._user_agent, self._pictures)
        self._next_number += 1
        self._jobs[job.page] = job
        self._new_requests.append(BrowserRequest(job.page, -1, "", ""))
        self._renderer.start(job)

    def fulfill(self, response: BrowserResponse) -> None:
        if response.page in self._jobs:  # else it was cancelled, or timed out
            self._renderer.fulfill(response)

    def browser_requests(self) -> list[BrowserRequest]:
        self._collect_events()
        new, self._new_requests = self._new_requests, []
        return new

    def completed(self) -> list[Response]:
        self._collect_events()
        done, self._done = self._done, []
        return done

    def cancel(self) -> list[Response]:
        """Cancel all jobs; return the responses that were being rendered."""
        dropped = [*(job.response for job in self._jobs.values()), *self._done]
        self._jobs, self._done, self._new_requests = {}, [], []
        self._renderer.cancel()
        return dropped

    def close(self) -> None:
        self.cancel()
        self._renderer.close()

    def _collect_events(self) -> None:
        for event in self._renderer.events():
            if isinstance(event, BrowserRequest):
                if event.page in self._jobs:
                    self._new_requests.append(event)
                continue
            job, rendered = event
            if self._jobs.get(job.page) is job:  # else it was cancelled
                del self._jobs[job.page]
                self._done.append(replace(job.response, rendered=rendered))


def open_renderer(reading: ReadSettings) -> WorkerRenderer | None:
    """Return a renderer; None if no page is to be rendered, or if this machine of a cluster has no browser."""
    try:
        return None if reading.render is None else WorkerRenderer(reading)
    except InputError:
        return None
