"""Drives a renderer over pages in memory: an owner without a network."""

from __future__ import annotations

import json
import select
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from orienteer.browser.job import BrowserRequest, BrowserResponse, RenderJob, RenderSettings
from orienteer.browser.process import find_browser
from orienteer.browser.renderer import Renderer
from orienteer.errors import InputError
from orienteer.pages.outcome import Outcome
from orienteer.responses.headers import Headers
from orienteer.responses.rendered import RenderedPage
from orienteer.responses.response import PageRequest, Response
from orienteer.responses.secrets import Secrets

PAGES = Path(__file__).with_name("pages")
HTML = (("Content-Type", "text/html; charset=utf-8"),)
AGENT = "Orienteer/test"
SITE = "https://site.test"
_TIMEOUT_S = 600.0  # nothing depends on it: a test that waits so long has failed
_N_LISTED, _PER_LIST = 5, 10

Responder = Callable[[BrowserRequest], BrowserResponse]


@contextmanager
def open_renderer(isolates_network: bool = True, **limits: int) -> Iterator[Renderer]:
    try:
        find_browser()
    except InputError as error:
        pytest.skip(str(error))
    renderer = Renderer(isolates_network=isolates_network, **limits)
    try:
        yield renderer
    finally:
        renderer.close()


def job_of(
    url: str,
    content: bytes,
    number: int = 0,
    *,
    status: int = 200,
    headers: Sequence[tuple[str, str]] = HTML,
    with_credentials: bool = False,
    user_agent: str = AGENT,
    pictures: bool = False,
    wall_s: float = 600.0,
    **limits: Any,
) -> RenderJob:
    """The job to render a response. Time is generous where it is not what is tested: the machine may be slow."""
    request = PageRequest(url, number, secrets=Secrets(SITE) if with_credentials else None)
    response = Response(request, Outcome.OK, status, headers=Headers(headers), content=content)
    settings = RenderSettings(**{"scrolls": 0, "time_s": 5.0, "cpu_s": 120.0} | limits)
    return RenderJob(number, response, settings, user_agent, pictures, wall_s)


def page_job(name: str, number: int = 0, content: bytes | None = None, **options: Any) -> RenderJob:
    """The job to render a page of the folder, at https://site.test/."""
    return job_of(f"{SITE}/{name}", (PAGES / name).read_bytes() if content is None else content, number, **options)


def respond(
    wanted: BrowserRequest, content: bytes | str, media_type: str = "text/plain", status: int = 200, **headers: str
) -> BrowserResponse:
    body = content.encode() if isinstance(content, str) else content
    named = [(name.replace("_", "-"), value) for name, value in headers.items()]
    outcome = Outcome.OK if status else Outcome.TIMED_OUT
    found = Headers([("content-type", media_type), *named])
    response = Response(PageRequest(wanted.url, -1), outcome, status, headers=found, content=body)
    return BrowserResponse(wanted.page, wanted.number, response)


def refused(wanted: BrowserRequest) -> BrowserResponse:
    return BrowserResponse(wanted.page, wanted.number, None, "not allowed")


def site(wanted: BrowserRequest) -> BrowserResponse:
    """The files of the folder, and a list of fifty things on five pages."""
    _, _, query = wanted.url.partition("/api/list?page=")
    if query:
        first = int(query) * _PER_LIST
        names = [str(i) for i in range(first, first + _PER_LIST)] if int(query) < _N_LISTED else []
        return respond(wanted, json.dumps(names), "application/json")
    file = PAGES / wanted.url.rpartition("/")[2]
    if file.is_file():
        return respond(wanted, file.read_bytes(), "text/html")
    return respond(wanted, "nothing here", status=404)


def render(renderer: Renderer, jobs: list[RenderJob], response: Responder = site) -> dict[int, RenderedPage]:
    """What the pages show, by number; every one comes back once."""
    found: dict[int, RenderedPage] = {}
    for job in jobs:
        renderer.start(job)
    while renderer.n_in_flight:
        assert select.select([renderer.descriptor], [], [], _TIMEOUT_S)[0], "nothing comes from the browser"
        for event in renderer.events():
            if isinstance(event, BrowserRequest):
                renderer.fulfill(response(event))
            else:
                job, rendered = event
                assert job.number not in found
                found[job.number] = rendered
    assert found.keys() == {job.number for job in jobs}
    return found


def render_page(renderer: Renderer, name: str, response: Responder = site, **options: Any) -> RenderedPage:
    return render(renderer, [page_job(name, **options)], response)[0]
