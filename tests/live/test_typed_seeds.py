"""Seeds typed without a scheme: https if the host responds by it, else http with a message."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme

from orienteer.errors import SeedError
from orienteer.fetch.settings import FetchSettings
from orienteer.ledger.plan import CrawlPlan
from orienteer.ledger.settings import CrawlSettings, canonical_seeds
from orienteer.live.seed_check import resolve_schemes
from orienteer.store.folder import CrawlFolder
from tests.fetch.servers import ScriptedServer, response

GOOD, NOT_FOUND = response(b"User-agent: *"), response(b"none", "404 Not Found")


def chosen(folder: Path, *typed: str, **fetch: Any) -> tuple[tuple[str, ...], list[str]]:
    """Return the seeds of a crawl with these typed ones, and the messages."""
    lines: list[str] = []
    plan = CrawlPlan(CrawlSettings(seeds=canonical_seeds(typed)), fetch=FetchSettings(allow_private=True, **fetch))
    return resolve_schemes(plan, typed, folder, lines.append).crawl.seeds, lines


def test_a_port_that_speaks_plain_http(tmp_path: Path) -> None:
    with ScriptedServer(GOOD) as server:
        place = f"127.0.0.1:{server.port}"
        seeds, (line,) = chosen(tmp_path, f"{place}/a")
    assert seeds == (f"http://{place}/a",)
    assert line.startswith(f"{place}/a: https was tried (")
    assert line.endswith(f"), http answers: starting at http://{place}/a")


@pytest.mark.parametrize("response", [GOOD, NOT_FOUND], ids=["robots.txt", "no robots.txt"])
def test_a_port_that_speaks_https(tmp_path: Path, response: bytes) -> None:
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with ScriptedServer(response, tls=context) as server:
        seeds, lines = chosen(tmp_path, f"127.0.0.1:{server.port}", ca_file=str(tmp_path / "ca.pem"))
        assert server.requests[0].startswith(b"GET /robots.txt ")
    assert (seeds, lines) == ((f"https://127.0.0.1:{server.port}/",), [])


def test_a_typed_scheme_is_not_changed(tmp_path: Path) -> None:
    with ScriptedServer(GOOD) as server:
        urls = (f"https://127.0.0.1:{server.port}/", "http://b.test/")
        assert chosen(tmp_path, *urls) == (urls, [])
        assert server.requests == []


def test_a_failed_seed_is_reported_if_others_respond(tmp_path: Path) -> None:
    with ScriptedServer(GOOD) as server, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        silent = f"127.0.0.1:{closed.getsockname()[1]}"
        seeds, lines = chosen(tmp_path, silent, f"http://127.0.0.1:{server.port}/")
        with pytest.raises(SeedError) as caught:
            chosen(tmp_path, silent)
    assert seeds == (f"https://{silent}/", f"http://127.0.0.1:{server.port}/")
    tried = f"{silent}/: https, then http was tried ({silent} refused the connection)"
    assert lines == [f"seed {tried}"]
    assert str(caught.value) == f"nothing was crawled: {tried}"


def test_a_name_without_an_address(tmp_path: Path) -> None:
    with pytest.raises(SeedError) as caught:
        chosen(tmp_path, "nosuchhost.invalid")
    why = "no address found for nosuchhost.invalid: is the name right?"
    assert str(caught.value) == f"nothing was crawled: nosuchhost.invalid/: https, then http was tried ({why})"


def test_private_addresses_are_not_requested(tmp_path: Path) -> None:
    with ScriptedServer(GOOD) as server:
        place = f"127.0.0.1:{server.port}"
        plan = CrawlPlan(CrawlSettings(seeds=canonical_seeds([place])))
        assert resolve_schemes(plan, [place], tmp_path).crawl.seeds == (f"https://{place}/",)
        assert server.requests == []


def test_an_existing_folder_decides(tmp_path: Path) -> None:
    plan = CrawlPlan(CrawlSettings(seeds=("http://a.test/",)))
    CrawlFolder.create(tmp_path / "c", plan.to_toml()).close()
    assert chosen(tmp_path / "c", "a.test") == (("http://a.test/",), [])
