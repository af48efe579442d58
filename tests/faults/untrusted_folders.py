"""Untrusted crawl folders, with links, settings and damage in any combination, and commands to run on them.

`FolderAttacker(rng).spoil(folder)` turns a sound folder into one. No command may change anything outside the folder or
reach a private address, and errors must be one line.
"""

from __future__ import annotations

import io
import os
import random
import shutil
import signal
import socket
import sqlite3
import threading
import time
import tomllib
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import tomli_w

import orienteer as ori
from orienteer.cli.main import command_line
from orienteer.errors import OrienteerError
from orienteer.library.crawl_jobs import CrawlJobs
from orienteer.search.indexing import update_index
from tests.imports.made_collections import response, write
from tests.ready_process import ReadyProcess, ready

FILES = (
    "crawl.db", "crawl.db-wal", "crawl.db-shm", "crawl.toml", "crawl.lock", "crawl.allowed", "log.jsonl",
    "course.jsonl", "frontier.json", "report.json", "estimate.json", "ranks.npz", "topic.toml",
    "policy.npz", "checkpoints/latest.npz", "archive/orienteer-00000.warc.gz", "archive/orienteer-00001.warc.gz",
    "index/crawl.lock", "index/pages.db", "index/columns.npz", "index/meta.json", "index/.managed.json",
    "repair.json",
)  # fmt: skip
FOLDERS = ("archive", "checkpoints", "index", "outside")
PRIVATE = ("http://127.0.0.1:{port}/", "http://localhost:{port}/x", "http://[::1]:{port}/", "http://10.1.2.3/")
GOOD_CODES = (0, 2, 3)
_TIMEOUT_S = 120.0


@dataclass
class Tally:
    """The results of the folders that were tried; `problems` has a line for each violation."""

    n_folders: int = 0
    n_commands: int = 0
    n_refused: int = 0
    n_processes: int = 0
    n_connections: int = 0
    problems: list[str] = field(default_factory=list)


class Listener:
    """A private host: it counts who connects, and answers with a page."""

    def __init__(self) -> None:
        self.n_connections = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                self.n_connections += 1
                with connection, suppress(OSError):
                    connection.recv(4096)
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\nsecret")

    def close(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@contextmanager
def listening() -> Iterator[Listener]:
    listener = Listener()
    try:
        yield listener
    finally:
        listener.close()


def sound_folder(place: Path, port: int) -> Path:
    """A crawl with an index, in whose frontier private pages wait."""
    private = [url.format(port=port) for url in PRIVATE]
    links = "".join(f"<a href='{url}'>x</a>" for url in private)
    pages = [response(f"http://10.9.9.{k}/", f"<title>Page {k}</title>words {k} {links}") for k in range(6)]
    write(place / "x.warc", pages)
    settings = {"politeness": {"delay_s": 0.0}, "retry": {"back_off_s": 0.01}, "crawl": {"log": True}}
    ori.import_crawl(place / "x.warc", place / "sound", scope="web", settings=settings)
    update_index(place / "sound")
    return place / "sound"


class FolderAttacker:
    """Spoils folders; `home` is what belongs to the user, `port` that of a private host."""

    def __init__(self, rng: random.Random, home: Path, port: int) -> None:
        self._rng, self._home, self._port = rng, home, port

    def spoil(self, folder: Path) -> list[str]:
        """Do one to four bad things; what they were."""
        kinds: list[Callable[[Path], str]] = [self._link, self._setting, self._damage, self._row, self._arrays]
        return [self._rng.choice(kinds)(folder) for _ in range(self._rng.choice((1, 1, 2, 3, 4)))]

    def _link(self, folder: Path) -> str:
        rng = self._rng
        victim = rng.choice(sorted(self._home.iterdir()))
        if rng.random() < 0.2:
            name, kind = rng.choice(FOLDERS), "folder link"
            _remove(folder / name)
            (folder / name).symlink_to(self._home)
            return f"{kind} {name}"
        name, kind = rng.choice(FILES), rng.choice(("symbolic", "dangling", "hard", "pipe", "folder"))
        path = folder / name
        if not path.parent.is_dir() or path.parent.is_symlink():
            return "nothing"
        _remove(path)
        if kind == "hard":
            os.link(victim, path)
        elif kind == "pipe":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        else:
            path.symlink_to(victim if kind == "symbolic" else self._home / f"new-{rng.randrange(1000)}")
        return f"{kind} {name}"

    def _setting(self, folder: Path) -> str:
        rng, here = self._rng, f"127.0.0.1:{self._port}"
        choices: list[tuple[str, str, object]] = [
            ("fetch", "allow_private", True),
            ("fetch", "connect_to", here),
            ("fetch", "proxy", f"http://{here}"),
            ("fetch", "proxy", f"socks5h://{here}"),
            ("fetch", "fetcher", f"archive:path={self._home}"),
            ("fetch", "verify_tls", False),
            ("fetch", "ca_file", str(self._home / "start")),
            ("crawl", "hooks", ["evil.py"]),
            ("crawl", "hooks", [f"{self._home}/start"]),
            ("crawl", "topic", True),
            ("crawl", "policy", f"apprentice:model={self._home}/start"),
            ("crawl", "seeds", [f"http://{here}/"]),
            ("crawl", "seeds", []),
            ("crawl", "workers", 10**9),
            ("scope", "allow", ["(((((a+)+)+)+)+)$("]),
            ("fetch", "no_such", 1),
        ]
        table, key, value = rng.choice(choices)
        try:
            path = folder / "crawl.toml"
            if not path.is_file() or path.is_symlink() or path.stat().st_nlink > 1:
                return "nothing"
            tables = tomllib.loads(path.read_text())
            tables.setdefault(table, {})[key] = value
            path.write_text(tomli_w.dumps(tables))
        except (ValueError, OSError):
            return "nothing"
        (folder / "evil.py").write_text(f"open({str(self._home / 'run')!r}, 'w')\ndef on_page(page): pass\n")
        return f"{table}.{key} = {value}"

    def _damage(self, folder: Path) -> str:
        rng = self._rng
        plain = [
            path
            for path in sorted(folder.rglob("*"))
            if path.is_file() and not path.is_symlink() and path.stat().st_nlink == 1 and path.resolve() == path
        ]
        if not plain:
            return "nothing"
        path, kind = rng.choice(plain), rng.choice(("delete", "empty", "cut", "flip", "garble", "zeros", "more"))
        content = bytearray(path.read_bytes())
        if kind == "delete":
            path.unlink()
            return f"{kind} {path.name}"
        if kind == "empty":
            content.clear()
        elif kind == "cut":
            del content[rng.randrange(len(content) + 1) :]
        elif kind == "more":
            content += rng.randbytes(rng.randrange(1, 5_000))
        elif content:
            start = rng.randrange(len(content))
            n_bytes = {"flip": 1, "garble": 500, "zeros": 500}[kind]
            n_bytes = len(content[start : start + n_bytes])
            content[start : start + n_bytes] = bytes(n_bytes) if kind == "zeros" else rng.randbytes(n_bytes)
        path.write_bytes(content)
        return f"{kind} {path.name}"

    def _row(self, folder: Path) -> str:
        """A row that no crawl writes."""
        rng, path = self._rng, folder / "crawl.db"
        number = rng.choice((-1, 5, 6, 77, 2**31, 2**32 - 1, 2**40, 2**62))
        ids = np.array(rng.choices((0, 1, 5, 9, 10**6, 2**32 - 1), k=rng.randrange(4)), "<u4").tobytes()
        blob = rng.choice((ids, ids, b"abc", b"\xff" * 4, b"", b"\xff" * 40))
        one = f"(SELECT position FROM page ORDER BY position LIMIT 1 OFFSET {rng.randrange(6)})"
        statements: list[tuple[str, tuple[object, ...]]] = [
            (f"UPDATE page SET links = ? WHERE position = {one}", (blob,)),
            (f"UPDATE page SET outside = ? WHERE position = {one}", (blob,)),
            (f"UPDATE page SET id = ? WHERE position = {one}", (number,)),
            (f"UPDATE page SET state = ? WHERE position = {one}", (number,)),
            (f"UPDATE page SET redirect_to = ? WHERE position = {one}", (number,)),
            (f"UPDATE page SET archive_offset = ? WHERE position = {one}", (number,)),
            (f"UPDATE page SET archive_file = ? WHERE position = {one}", (number,)),
            (f"UPDATE page SET archive_bytes = ? WHERE position = {one}", (number,)),
            (f"UPDATE page SET title = ? WHERE position = {one}", (b"\xff\x00",)),
            (f"UPDATE page SET position = ? WHERE position = {one}", (number,)),
            (f"UPDATE page SET duplicate_of = ? WHERE position = {one}", (number,)),
            ("INSERT OR REPLACE INTO known VALUES (?, ?)", (number, blob)),
            ("INSERT OR REPLACE INTO epoch VALUES (1, 0, NULL, ?, NULL, ?, ?, ?)", (number, ids, b"\0" * 8, blob)),
            ("INSERT OR REPLACE INTO visit VALUES (?, 1, 0, 2, 0.0, ?, NULL, NULL, NULL)", (number, number)),
            ("DELETE FROM url WHERE id = ?", (rng.randrange(10),)),
            ("UPDATE url SET url = ? WHERE id = 3", (rng.choice(("", "x\ny", "file:///etc/passwd", b"\xff")),)),
            ("INSERT OR REPLACE INTO url VALUES (?, ?)", (number, f"http://127.0.0.1:{self._port}/y")),
            ("INSERT OR REPLACE INTO meta VALUES ('archive_end', ?)", (rng.choice(("[0, 9]", "[-1, -1]", "{}", "x")),)),
            ("INSERT OR REPLACE INTO meta VALUES ('figures', ?)", (rng.choice(("1", "[]", "x", "[" * 9999)),)),
            ("DROP TABLE page", ()),
            ("CREATE TRIGGER evil AFTER INSERT ON url BEGIN DELETE FROM page; END", ()),
        ]
        sql, values = rng.choice(statements)
        if not path.is_file() or path.is_symlink() or path.stat().st_nlink > 1:
            return "nothing"
        if any((folder / f"crawl.db{end}").is_symlink() for end in ("-wal", "-shm")):
            return "nothing"
        with suppress(sqlite3.Error):
            database = sqlite3.connect(path, timeout=1)
            try:
                with suppress(sqlite3.Error, OverflowError):
                    database.execute(sql, values)
                    database.commit()
            finally:
                database.close()
        return f"{sql} {values}"[:200]

    def _arrays(self, folder: Path) -> str:
        rng = self._rng
        name = rng.choice(("checkpoints/latest.npz", "index/columns.npz", "ranks.npz"))
        path = folder / name
        if path.is_symlink() or path.parent.is_symlink() or not path.parent.is_dir() or path.is_dir():
            return "nothing"
        if path.exists() and (not path.is_file() or path.stat().st_nlink > 1):
            return "nothing"
        arrays = {"pages": np.arange(3), "global": np.ones(3) / 3, "local": np.ones(3) / 3}
        with suppress(Exception), np.load(path) as saved:
            arrays = dict(saved)
        for key in rng.sample(sorted(arrays), min(len(arrays), 3)):
            wild = rng.randrange(-(2**31), 2**31)
            arrays[key] = rng.choice(
                (
                    np.full(max(arrays[key].size, 1), wild),
                    np.zeros(0),
                    np.arange(10_000, dtype=np.uint32),
                    np.array("x"),
                    np.full((2, 2), np.nan),
                )
            )
        np.savez(path, **arrays)  # type: ignore[arg-type]
        return f"arrays {name}"


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def commands(folder: Path, out: Path) -> list[list[str]]:
    """Return the commands that a user may run on an untrusted folder."""
    return [
        ["status", str(folder)],
        ["search", str(folder), "words"],
        ["crawl", str(folder), "--budget", "20", "-q"],
        ["index", str(folder)],
        ["export", str(folder), "--format", "jsonl", "-o", str(out / "pages.jsonl")],
        ["explain", str(folder), "http://10.9.9.1/"],
        ["repair", str(folder)],
        ["upload", str(folder)],
        ["crawl", str(folder), "--budget", "30", "-q"],
    ]


def snapshot(home: Path) -> dict[str, tuple[int, int, bytes]]:
    return {
        str(path): (path.lstat().st_mode, path.lstat().st_mtime_ns, path.read_bytes())
        for path in sorted(home.iterdir())
    }


def made_home(place: Path) -> Path:
    home = place / "home"
    home.mkdir()
    for name in ("start", "notes", "key"):
        (home / name).write_text(f"{name} of the user\n")
    return home


def try_folders(
    place: Path, numbers: Sequence[int], n_commands: int, in_processes_every: int, report: Callable[[str], None] = print
) -> Tally:
    """Spoil a folder for each number, and run commands on it: in this process, or each in one of its own.

    The crawl of every `in_processes_every`-th of them is also resumed as in a browser.
    """
    tally, home = Tally(), made_home(place)
    with listening() as private:
        sound = sound_folder(place, private.port)
        before = snapshot(home)
        for position, number in enumerate(numbers):
            rng = random.Random(number)
            folder, out = place / "sent", place / "out"
            shutil.copytree(sound, folder)
            out.mkdir()
            done = FolderAttacker(rng, home, private.port).spoil(folder)
            chosen = sorted(rng.sample(list(enumerate(commands(folder, out))), n_commands))
            in_process = position % in_processes_every == 0
            problems = _resumed(folder, tally) if in_process else []
            for _, command in chosen:
                problems += _run_in_process(command, tally, ready()) if in_process else _run_here(command, tally)
            if snapshot(home) != before:
                problems.append(f"home changed: {sorted(snapshot(home).keys() ^ before.keys())}")
            if private.n_connections > tally.n_connections:
                problems.append("a private host was reached")
                tally.n_connections = private.n_connections
            tally.n_folders += 1
            for one in problems:
                tally.problems.append(f"{number} ({'; '.join(done)}): {one}")
                report(tally.problems[-1])
            shutil.rmtree(out)
            shutil.rmtree(folder)
    return tally


def _resumed(folder: Path, tally: Tally) -> list[str]:
    """Go on with the crawl as the button in the browser does."""
    tally.n_processes += 1
    try:
        jobs = CrawlJobs.of_folder(folder)
        jobs.resume(budget=25)
    except OrienteerError:
        tally.n_refused += 1
        return []
    while (last := jobs.last_run()) is None or last.is_alive:
        time.sleep(0.01)
    said = jobs.problem_of(last) or ""
    return [f"resume: {said}"] if "killed" in said or "exit code" in said or "Error:" in said else []


def _run_in_process(command: list[str], tally: Tally, ready: ReadyProcess) -> list[str]:
    tally.n_commands += 1
    tally.n_processes += 1
    try:
        ended = ready.run(command, columns=100)
    except TimeoutError:
        return [f"{command[0]}: hangs"]
    tally.n_refused += ended.returncode == 2
    if "Traceback" in ended.stderr or ended.returncode not in GOOD_CODES:
        return [f"{command[0]}: {ended.returncode} {ended.stderr[-500:]}"]
    if ended.returncode == 2 and ended.stderr.count("\n") != 1:
        return [f"{command[0]}: more than a line: {ended.stderr[:300]}"]
    return []


def _run_here(command: list[str], tally: Tally) -> list[str]:
    """The same in this process, which is ten times as quick."""
    tally.n_commands += 1

    def hangs(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(int(_TIMEOUT_S))
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            command_line()(command, prog_name="orienteer", standalone_mode=False)
    except (OrienteerError, OSError, MemoryError) as error:  # as `main.run` has it
        if isinstance(error, TimeoutError):
            return [f"{command[0]}: hangs"]
        tally.n_refused += 1
    except Exception:
        return [f"{command[0]}: {traceback.format_exc()[-500:]}"]
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return []
