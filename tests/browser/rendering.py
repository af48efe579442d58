"""Drives a renderer over pages in memory: an owner without a network."""

from __future__ import annotations

import json
import select
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orienteer.browser.executable import find_browser
from orienteer.browser.job import BrowserRequest, BrowserResponse, RenderJob, RenderResult
from orienteer.browser.renderer import Renderer
from orienteer.browser.settings import BrowserSettings
from orienteer.errors import InputError

PAGES = Path(__file__).with_name("pages")
HTML = (("Content-Type", "text/html; charset=utf-8"),)
AGENT = "Orienteer/test"
_TIMEOUT_S = 600.0  # nothing depends on it: a test that waits so long has failed
_N_LISTED, _PER_LIST = 5, 10

Responder = Callable[[BrowserRequest], BrowserResponse]


@contextmanager
def open_renderer(isolates_network: bool = True, **settings: int | str) -> Iterator[Renderer]:
    try:
        find_browser()
    except InputError as error:
        pytest.skip(str(error))
    renderer = Renderer(BrowserSettings(**settings), isolates_network=isolates_network)  # type: ignore[arg-type]
    try:
        yield renderer
    finally:
        renderer.close()


def page_job(name: str, number: int = 0, **limits: object) -> RenderJob:
    """A page of the folder, at https://site.test/."""
    job = RenderJob(number, f"https://site.test/{name}", 200, HTML, (PAGES / name).read_bytes(), AGENT)
    # Time is generous where it is not what is tested: the machine may be slow.
    return job._replace(cpu_s=120.0, wall_s=600.0)._replace(**limits)  # type: ignore[arg-type]


def respond(
    wanted: BrowserRequest, content: bytes | str, media_type: str = "text/plain", status: int = 200, **headers: str
) -> BrowserResponse:
    body = content.encode() if isinstance(content, str) else content
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return BrowserResponse(wanted.job, wanted.number, status, (("content-type", media_type), *named), body)


def refused(wanted: BrowserRequest) -> BrowserResponse:
    return BrowserResponse(wanted.job, wanted.number, 0, (), b"", refused="not allowed")


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


def render(renderer: Renderer, jobs: list[RenderJob], response: Responder = site) -> dict[int, RenderResult]:
    """What the pages show, by number; every one comes back once."""
    found: dict[int, RenderResult] = {}
    for job in jobs:
        renderer.start(job)
    while renderer.n_in_flight:
        assert select.select([renderer.descriptor], [], [], _TIMEOUT_S)[0], "nothing comes from the browser"
        for event in renderer.events():
            if isinstance(event, BrowserRequest):
                renderer.fulfill(response(event))
            else:
                assert event.job not in found
                found[event.job] = event
    assert found.keys() == {job.number for job in jobs}
    return found


def render_page(renderer: Renderer, name: str, response: Responder = site, **limits: object) -> RenderResult:
    return render(renderer, [page_job(name, **limits)], response)[0]
