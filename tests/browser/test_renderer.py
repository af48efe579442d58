"""The browser is started, replaced and ended; every job comes back once, whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from orienteer.browser.connection import BrowserConnection
from orienteer.browser.job import BrowserRequest
from orienteer.browser.process import NAMES, PREFIX, find_browser, kill_session, remove_abandoned, session_members
from orienteer.browser.renderer import BrowserEvent, Renderer
from orienteer.browser.tab import Tab
from orienteer.errors import InputError
from tests.browser.rendering import open_renderer, page_job, render, render_page, site

_ROOT = Path(__file__).parents[2]
_OWNER = """
import sys, time
from tests.browser.rendering import open_renderer, page_job, render
with open_renderer(tabs=1) as renderer:
    render(renderer, [page_job("click.html")])
    renderer.start(page_job("endless_script.html"))
    print(renderer._browser.process.pid, flush=True)
    while True:
        time.sleep(0.1)  # a signal that comes just before a sleep does not shorten it
"""


def _pid(renderer: Renderer) -> int:
    assert renderer._browser is not None
    return renderer._browser.process.pid


def test_a_crashed_browser_is_replaced_and_pages_are_rendered_again() -> None:
    killed = []
    with open_renderer(tabs=2) as renderer:

        def response(wanted: BrowserRequest) -> object:
            if not killed:
                killed.append(_pid(renderer))
                kill_session(killed[0])
            return site(wanted)

        found = render(renderer, [page_job("frames.html", i) for i in range(3)], response)  # type: ignore[arg-type]
        assert [found[i].trouble for i in range(3)] == ["", "", ""]
        assert all(len(found[i].links) == 3 for i in range(3))
        assert renderer.n_browsers == 2
        assert renderer.cpu_s > 0
    assert session_members(killed[0]) == []


def test_a_page_that_takes_too_much_memory_is_identified() -> None:
    with open_renderer(tabs=2, max_memory_mb=200) as renderer:
        found = render(renderer, [page_job("memory.html", 0), page_job("history.html", 1)])
        assert found[0].trouble == "memory"
        assert found[1].trouble == ""
        assert renderer.n_browsers >= 2


def test_a_browser_is_replaced_after_many_pages_and_jobs_are_cancelled() -> None:
    with open_renderer(tabs=1, restart_after=2) as renderer:
        found = render(renderer, [page_job("history.html", i) for i in range(3)])
        assert {rendered.trouble for rendered in found.values()} == {""}
        assert renderer.n_browsers == 2
        for i in range(3):
            renderer.start(page_job("endless_script.html", i))
        renderer.cancel()
        events: list[BrowserEvent] = []
        while renderer.n_in_flight:
            events += renderer.events()
        ended = {event[0].number: event[1].trouble for event in events if not isinstance(event, BrowserRequest)}
        assert ended == dict.fromkeys(range(3), "cancelled")
        assert len(events) == 3


def test_nothing_is_left_after_close(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with open_renderer(tabs=1) as renderer:
        render(renderer, [page_job("click.html")])
        browser = _pid(renderer)
        assert len(list(tmp_path.glob(f"{PREFIX}*"))) == 1
        assert len(session_members(browser)) > 1
        renderer.start(page_job("endless_script.html"))
    assert session_members(browser) == []
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_when_the_owner_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find_or_skip()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    paths = os.environ | {
        "TMPDIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join([str(_ROOT), str(_ROOT / "src"), *filter(None, sys.path)]),
    }
    owner = subprocess.Popen([sys.executable, "-c", _OWNER], cwd=_ROOT, env=paths, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    browser = int(owner.stdout.readline())
    assert len(session_members(browser)) > 1
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    owner.stdout.close()
    while session_members(browser):  # the time-out of the test is its limit
        pass
    assert list(tmp_path.glob(f"{PREFIX}*"))  # what it could not remove: the next one does, once it is not new
    remove_abandoned(now_s=time.time() + 1e6)
    assert not list(tmp_path.glob(f"{PREFIX}*"))


def find_or_skip() -> Path:
    try:
        return find_browser()
    except InputError as error:
        pytest.skip(str(error))


def test_a_browser_is_found_or_missed_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / NAMES[-1]
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("orienteer.browser.process._PATHS", ())
    assert find_browser() == find_browser(NAMES[-1]) == find_browser(str(program)) == program
    program.unlink()
    with pytest.raises(InputError, match="install chromium-headless-shell"):
        find_browser()
    with pytest.raises(InputError, match="no browser at '/nowhere'"):
        Renderer("/nowhere")


def test_a_program_that_is_no_browser_gives_jobs_back(tmp_path: Path) -> None:
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    renderer = Renderer(str(program))
    found = render(renderer, [page_job("click.html", i) for i in range(2)])
    renderer.close()
    assert {rendered.trouble for rendered in found.values()} == {"crashed"}


def test_the_first_request_may_come_before_the_reply_that_the_page_was_created(monkeypatch: pytest.MonkeyPatch) -> None:
    on_message, held, paused = BrowserConnection._on_message, [], set()

    def received(self: BrowserConnection, message: dict[str, Any]) -> None:
        if message.get("method") == "Fetch.requestPaused":
            paused.add(message["params"]["frameId"])
        held.append(message)
        for waiting in held.copy():
            target = waiting.get("result", {}).get("targetId")
            if target is None or target in paused:
                held.remove(waiting)
                on_message(self, waiting)

    monkeypatch.setattr(BrowserConnection, "_on_message", received)
    with open_renderer() as renderer:
        rendered = render_page(renderer, "history.html")
    assert (rendered.trouble, rendered.url) == ("", "https://site.test/third")


def test_an_error_page_of_the_browser_is_no_rendered_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tab, "_main_document", lambda self, request: self.refuse(request))
    with open_renderer() as renderer:
        rendered = render_page(renderer, "history.html")
    assert (rendered.trouble, rendered.url, rendered.document) == ("not loaded", "https://site.test/history.html", b"")
