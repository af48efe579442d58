"""Runs the blocks of one document, as a reader would who follows it from its first line to its last."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from tests.docs.blocks import Block, missing_line
from tests.plugins.packages import python_path
from tests.ready_process import TEST_TIMEOUT_S, ReadyPopen, ReadyProcess

# Servers: they run as real processes until the end of the page, and their first URL is requested.
_SERVERS = re.compile(r"^orienteer (?:serve|demo --serve-only)\b")
_TOWN_PORT = ":8642"
ROOT = Path(__file__).parents[2]


class PageRunner:
    """A folder, a shell with `orienteer` in its PATH, and a Python session.

    Servers (`serve`, the town) are stopped at the end of the page.
    """

    def __init__(self, folder: Path, tools: Path) -> None:
        self.folder = folder
        self._town = _TOWN_PORT
        self._servers: list[subprocess.Popen[str]] = []
        self._python: subprocess.Popen[str] | None = None
        self._environment = {
            **os.environ,
            "PATH": f"{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "COLUMNS": "100",
            "BROWSER": "true",  # what --open would start
        }
        self._tools = tools
        self._installed = folder / "installed"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._servers:
            process.send_signal(signal.SIGINT)
        for process in self._servers:
            try:
                process.wait(TEST_TIMEOUT_S)
            finally:
                process.kill()
                process.communicate()
        if self._python is not None:
            self._python.communicate(timeout=TEST_TIMEOUT_S)

    def run(self, block: Block) -> None:
        """Run the block; AssertionError if it fails, or its output differs from the document."""
        code = self._here(block.code)
        if block.file is not None:
            path = self.folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(code, encoding="utf-8")
            return
        output = self._run_python(code) if block.kind == "python" else self._run_shell(code)
        missing = missing_line([self._here(line) for line in block.expected], output, block.kind == "sh")
        assert missing is None, f"line {block.line}: it did not print {missing!r}, but:\n{output}"

    def give_clone(self) -> None:
        """Make a copy of the package to which files can be added. Commands also see packages installed in a folder of
        the page."""
        shutil.copytree(ROOT / "src", self.folder / "src")
        (self.folder / "tests").symlink_to(ROOT / "tests")
        self._installed.mkdir()
        self._environment["PYTHONPATH"] = python_path(self._installed, self.folder / "src", self.folder)
        self._give_ready("orienteer", "tests.docs.clone")

    def give_pip(self) -> None:
        """Provide `pip install FOLDER` without a network; after a clone."""
        self._give_program("pip", f'#!/bin/sh\nexec python -m tests.plugins.packages "$2" {self._installed}\n')

    def give_proxy(self, address: str) -> None:
        """Let Scrapy reach example.org through this proxy."""
        self._environment["http_proxy"] = f"http://{address}"
        self._give_ready("scrapy", "tests.scrapy.all_of_scrapy")

    def _give_ready(self, program: str, module: str) -> None:
        """Provide `python` and this program by a process with the page's environment that has imported a module."""
        ready = ReadyProcess(module, environment=self._environment)
        self._give_program("python", ready.python())
        self._give_program(program, f'#!/bin/sh\nexec python -m {program} "$@"\n')

    def _give_program(self, name: str, text: str) -> None:
        tools = self.folder / "tools"
        if not tools.exists():
            tools.mkdir()
            self._environment["PATH"] = f"{tools}:{self._environment['PATH']}"
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)

    def _here(self, text: str) -> str:
        """Adapt a text: example.org has no certificate here, and the town may be at another port."""
        return re.sub(r"https://([\w.]*example\.org)", r"http://\1", text).replace(_TOWN_PORT, self._town)

    def _run_shell(self, code: str) -> str:
        output = ""
        for command in _commands(code):
            if _SERVERS.match(command):
                output += self._start(command)
                continue
            done = subprocess.run(
                ["bash", "-e", "-o", "pipefail", "-c", command], cwd=self.folder, env=self._environment,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                timeout=TEST_TIMEOUT_S,
            )  # fmt: skip
            assert done.returncode == 0, f"exit code {done.returncode} of {command}\n{done.stdout}"
            assert "Traceback" not in done.stdout, done.stdout
            output += done.stdout
        return output

    def _start(self, command: str) -> str:
        """Start a server, and request the URL that it prints."""
        arguments = shlex.split(command, comments=True)
        start = [sys.executable, "-m", "orienteer", *arguments[1:]]
        if "serve" in arguments and "--port" not in arguments:
            start += ["--port", "0"]
        process = ReadyPopen(
            start if arguments[0] == "orienteer" else [sys.executable, *arguments[1:]], cwd=self.folder,
            env=self._environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._servers.append(process)
        assert process.stdout is not None
        # Killed if it never prints a URL, which also ends its output.
        killer = threading.Timer(TEST_TIMEOUT_S, process.kill)
        killer.start()
        said, found = "", None
        for line in process.stdout:
            said += line
            if (found := re.search(r"http://[^\s]+", line)) is not None:
                break
        killer.cancel()
        assert found is not None, f"{command} said {said!r}"
        address = found[0]
        place = urlsplit(address)
        here = place._replace(netloc=f"127.0.0.1:{place.port}").geturl()
        request = urllib.request.Request(here, headers={"Host": place.netloc})
        with urllib.request.build_opener(urllib.request.HTTPCookieProcessor()).open(
            request, timeout=TEST_TIMEOUT_S
        ) as answer:
            assert answer.status == 200
        if "--serve-only" in arguments:
            self._town = f":{place.port}"
        return said

    def _run_python(self, code: str) -> str:
        if self._python is None:
            self._python = subprocess.Popen(
                [self._tools / "orienteer", "--page"], cwd=self.folder, env=self._environment, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            )  # fmt: skip
        assert self._python.stdin is not None
        assert self._python.stdout is not None
        self._python.stdin.write(json.dumps(code) + "\n")
        self._python.stdin.flush()
        output, error = json.loads(self._python.stdout.readline())
        assert not error, f"{code}\n{output}{error}"
        return output


def _commands(code: str) -> Iterator[str]:
    """Yield servers one by one, and the lines between them together."""
    together: list[str] = []
    for line in re.sub(r"\\\n\s*", " ", code).splitlines():
        if _SERVERS.match(line):
            if together:
                yield "\n".join(together)
            together = []
            yield line
        else:
            together.append(line)
    if together:
        yield "\n".join(together)
