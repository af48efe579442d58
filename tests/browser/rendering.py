"""Drives a renderer over pages in memory: an owner without a network."""

from __future__ import annotations

import json
import select
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orienteer.browser.finding import find_browser
from orienteer.browser.job import Rendered, RenderJob, Supplied, Wanted
from orienteer.browser.renderer import Renderer
from orienteer.browser.settings import BrowserSettings
from orienteer.errors import InputError

PAGES = Path(__file__).with_name("pages")
HTML = (("Content-Type", "text/html; charset=utf-8"),)
AGENT = "Orienteer/test"
_PATIENCE_S = 600.0  # nothing depends on it: a test that waits so long has failed
_N_LISTED, _PER_LIST = 5, 10

Answer = Callable[[Wanted], Supplied]


@contextmanager
def opened_renderer(is_cut_off: bool = True, **settings: int | str) -> Iterator[Renderer]:
    try:
        find_browser()
    except InputError as error:
        pytest.skip(str(error))
    renderer = Renderer(BrowserSettings(**settings), is_cut_off=is_cut_off)  # type: ignore[arg-type]
    try:
        yield renderer
    finally:
        renderer.close()


def page_job(name: str, number: int = 0, **limits: object) -> RenderJob:
    """A page of the folder, at https://site.test/."""
    job = RenderJob(number, f"https://site.test/{name}", 200, HTML, (PAGES / name).read_bytes(), AGENT)
    # Time is generous where it is not what is tested: the machine may be slow.
    return job._replace(cpu_s=120.0, wall_s=600.0)._replace(**limits)  # type: ignore[arg-type]


def supplied(
    wanted: Wanted, content: bytes | str, media_type: str = "text/plain", status: int = 200, **headers: str
) -> Supplied:
    body = content.encode() if isinstance(content, str) else content
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Supplied(wanted.job, wanted.number, status, (("content-type", media_type), *named), body)


def refused(wanted: Wanted) -> Supplied:
    return Supplied(wanted.job, wanted.number, 0, (), b"", refused="not allowed")


def site(wanted: Wanted) -> Supplied:
    """The files of the folder, and a list of fifty things on five pages."""
    _, _, query = wanted.url.partition("/api/list?page=")
    if query:
        first = int(query) * _PER_LIST
        names = [str(i) for i in range(first, first + _PER_LIST)] if int(query) < _N_LISTED else []
        return supplied(wanted, json.dumps(names), "application/json")
    file = PAGES / wanted.url.rpartition("/")[2]
    if file.is_file():
        return supplied(wanted, file.read_bytes(), "text/html")
    return supplied(wanted, "nothing here", status=404)


def shown(renderer: Renderer, jobs: list[RenderJob], answer: Answer = site) -> dict[int, Rendered]:
    """What the pages show, by number; every one comes back once."""
    found: dict[int, Rendered] = {}
    for job in jobs:
        renderer.start(job)
    while renderer.n_under_way:
        assert select.select([renderer.descriptor], [], [], _PATIENCE_S)[0], "nothing comes from the browser"
        for event in renderer.events():
            if isinstance(event, Wanted):
                renderer.supply(answer(event))
            else:
                assert event.job not in found
                found[event.job] = event
    assert found.keys() == {job.number for job in jobs}
    return found


def shown_page(renderer: Renderer, name: str, answer: Answer = site, **limits: object) -> Rendered:
    return shown(renderer, [page_job(name, **limits)], answer)[0]
