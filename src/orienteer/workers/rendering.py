"""Render the pages of a worker in a browser while the worker continues to fetch.

The browser has no network. Each request of a page becomes an AssetRequest: the coordinator fetches it under the rules
of the crawl (robots.txt, delays, scope) and returns an AssetResponse.

    renderer.submit(response)
    renderer.asset_requests()    new requests of the pages being rendered
    renderer.fulfill(asset)      the response to one of them, or why there is none
    renderer.completed()         responses with `Response.rendered` set
    renderer.descriptor          is readable when there are asset requests or completed pages
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from orienteer.browser.job import BrowserRequest, BrowserResponse, RenderJob, RenderResult
from orienteer.browser.renderer import Renderer
from orienteer.browser.settings import BrowserSettings
from orienteer.errors import InputError
from orienteer.pages.render_reason import RenderReason
from orienteer.responses.reading import is_html
from orienteer.responses.rendered import RenderedDocument
from orienteer.responses.response import PageRequest, Response
from orienteer.responses.verdict import Verdict, VerdictKind


class AssetRequest(NamedTuple):
    """A request of a page being rendered; `number` is unique within the page. Other fields: see `BrowserRequest`.

    The first of each page has an empty URL: it reports that the page was fetched and will be rendered.
    """

    page: int
    number: int
    url: str
    kind: str
    with_credentials: bool = False
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()


class AssetResponse(NamedTuple):
    """The response to an AssetRequest, or why there is none."""

    page: int
    number: int
    response: Response | None
    refused: str = ""


@dataclass(frozen=True)
class RenderLimits:
    """How pages are rendered: `scrolls` to the end of a page, `screenshots`, and limits per page.

    Without `pictures` images, fonts and media are not requested: links do not depend on them.
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


class RenderedResponse(NamedTuple):
    """A response with `rendered` set, and the cost of rendering."""

    response: Response
    screenshot: bytes
    n_requests: int
    cpu_s: float


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

    def __init__(self, settings: RenderLimits) -> None:
        self._settings = settings
        self._renderer = Renderer(settings.browser)
        self._responses: dict[int, Response] = {}  # by job
        self._jobs: dict[int, int] = {}  # by page
        self._next_job = 0
        self._new_requests: list[AssetRequest] = []
        self._done: list[RenderedResponse] = []

    @property
    def descriptor(self) -> int:
        return self._renderer.descriptor

    @property
    def n_in_flight(self) -> int:
        return len(self._responses) + len(self._done)

    @property
    def cpu_s(self) -> float:
        return self._renderer.cpu_s

    def submit(self, response: Response) -> None:
        number, self._next_job = self._next_job, self._next_job + 1
        self._responses[number] = response
        page = _page_of(response)
        self._jobs[page] = number
        self._new_requests.append(AssetRequest(page, -1, "", ""))
        settings = self._settings
        self._renderer.start(
            RenderJob(
                number=number,
                url=response.request.url,
                status=response.status,
                headers=tuple(response.headers.items()),
                content=response.content,
                user_agent=settings.user_agent,
                scrolls=settings.scrolls,
                screenshot=settings.screenshots,
                pictures=settings.pictures,
                max_requests=settings.max_requests,
                max_bytes=settings.max_bytes,
                time_s=settings.time_s,
                cpu_s=settings.cpu_s,
                wall_s=settings.wall_s,
                with_credentials=response.request.secrets is not None,
            )
        )

    def fulfill(self, asset: AssetResponse) -> None:
        job = self._jobs.get(asset.page)
        if job is None:
            return  # cancelled, or timed out
        response = asset.response
        if response is None or not response.status:
            refused = asset.refused or ("no response" if response is None else response.reason)
            return self._renderer.fulfill(BrowserResponse(job, asset.number, 0, (), b"", refused))
        headers = tuple(response.headers.items())
        self._renderer.fulfill(BrowserResponse(job, asset.number, response.status, headers, response.content))

    def asset_requests(self) -> list[AssetRequest]:
        self._collect_events()
        asset_requests, self._new_requests = self._new_requests, []
        return asset_requests

    def completed(self) -> list[RenderedResponse]:
        self._collect_events()
        done, self._done = self._done, []
        return done

    def cancel(self) -> list[Response]:
        """Cancel all jobs; return the responses that were being rendered."""
        dropped = [*self._responses.values(), *(done.response for done in self._done)]
        self._responses, self._jobs, self._done, self._new_requests = {}, {}, [], []
        self._renderer.cancel()
        return dropped

    def close(self) -> None:
        self.cancel()
        self._renderer.close()

    def _collect_events(self) -> None:
        for event in self._renderer.events():
            response = self._responses.get(event.job)
            if response is None:
                continue  # cancelled
            if isinstance(event, BrowserRequest):
                self._new_requests.append(AssetRequest(_page_of(response), *event[1:]))
            else:
                del self._responses[event.job], self._jobs[_page_of(response)]
                self._done.append(_rendered_response(response, event))


def _page_of(response: Response) -> int:
    assert isinstance(response.request, PageRequest)  # only pages are rendered
    return response.request.page


def open_renderer(settings: RenderLimits | None) -> WorkerRenderer | None:
    """Return a renderer; None if no page is to be rendered, or if this machine of a cluster has no browser."""
    try:
        return None if settings is None else WorkerRenderer(settings)
    except InputError:
        return None


def _rendered_response(response: Response, rendered: RenderResult) -> RenderedResponse:
    links = _links(rendered)
    here = (rendered.url or response.request.url).partition("#")[0]
    document = RenderedDocument(
        url=rendered.url or response.request.url,
        document=rendered.dom,
        links=links,
        redirect=rendered.redirect,
        n_clickable=rendered.n_clickable,
        grows=rendered.can_grow,
        n_refused=rendered.n_refused,
        trouble=rendered.problem,
        named_routes=bool(rendered.named_routes),
        only_routes=here not in links and any(link.startswith(f"{here}#") for link in links),
        anchors=rendered.anchors,
    )
    return RenderedResponse(
        replace(response, rendered=document), rendered.screenshot, rendered.n_requests, rendered.cpu_s
    )


def _links(rendered: RenderResult) -> tuple[str, ...]:
    """Return the links and routes of a page; fragments are kept only if they are hash routes of an application."""
    named = frozenset(rendered.named_routes)

    def as_link(url: str) -> str:
        page, _, fragment = url.partition("#")
        is_route = url in named or (rendered.hash_routes and fragment.startswith(("/", "!")))
        return url if is_route else page

    return tuple(dict.fromkeys(map(as_link, (*rendered.links, *rendered.routes))))
