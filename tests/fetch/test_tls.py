"""TLS and HTTP/2, with certificates made for the test."""

from __future__ import annotations

import contextlib
import socket
import ssl

import h2.config
import h2.connection
import h2.events
import pytest
import trustme

from orienteer.fetch.libcurl import LibcurlFetcher
from orienteer.pages.outcome import Outcome
from orienteer.responses.verdict import VerdictKind, verdict_of
from tests.fetch.conftest import fetched, loopback
from tests.fetch.servers import ScriptedServer, response

PAGE = b"<p>safe"


def context(authority: trustme.CA, *names: str, alpn: tuple[str, ...] = ("http/1.1",)) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(made)
    made.set_alpn_protocols(list(alpn))
    return made


@pytest.fixture
def tls(authority) -> ssl.SSLContext:
    return context(authority, "127.0.0.1", "safe.example")


def test_a_certificate_of_a_trusted_authority_is_fine(tls, ca_file):
    with ScriptedServer(response(PAGE), tls=tls) as server, LibcurlFetcher(loopback(ca_file=ca_file)) as fetcher:
        result = fetched(fetcher, server.url)[0]
    assert (result.outcome, result.content, result.protocol) == (Outcome.OK, PAGE, "http/1.1")


def test_an_unknown_authority_is_not_trusted(tls):
    with ScriptedServer(response(PAGE), tls=tls) as server, LibcurlFetcher(loopback()) as fetcher:
        result = fetched(fetcher, server.url)[0]
    assert (result.outcome, result.status, result.body) == (Outcome.TLS_FAILED, 0, b"")
    assert "certificate" in result.detail
    assert verdict_of(result).kind is VerdictKind.BLOCKED


def test_a_certificate_must_be_for_the_host_of_the_url(tls, ca_file):
    with ScriptedServer(response(PAGE), tls=tls) as server:
        settings = {"ca_file": ca_file, "connect_to": f"127.0.0.1:{server.port}"}
        with LibcurlFetcher(loopback(**settings)) as fetcher:
            right, wrong = fetched(fetcher, "https://safe.example/", "https://other.example/")
    assert (right.outcome, wrong.outcome) == (Outcome.OK, Outcome.TLS_FAILED)


def test_certificates_need_not_be_verified(tls):
    with ScriptedServer(response(PAGE), tls=tls) as server, LibcurlFetcher(loopback(verify_tls=False)) as fetcher:
        assert fetched(fetcher, server.url)[0].outcome is Outcome.OK


class HastyServer(ScriptedServer):
    """A server that responds to the first bytes, whatever they are."""

    def _serve(self, connection, script):
        with connection:
            connection.recv(1)
            connection.sendall(script)


def test_a_server_without_tls_is_a_tls_failure():
    with HastyServer(response(PAGE)) as server, LibcurlFetcher(loopback()) as fetcher:
        result = fetched(fetcher, server.url.replace("http:", "https:"))[0]
    assert (result.outcome, result.status) == (Outcome.TLS_FAILED, 0)


def http2_script(connection: socket.socket) -> None:
    """Respond to one request in HTTP/2."""
    state = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
    state.initiate_connection()
    connection.sendall(state.data_to_send())
    while data := connection.recv(1 << 16):
        for event in state.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                state.send_headers(event.stream_id, [(":status", "200"), ("content-type", "text/html"), ("x", "ä")])
                state.send_data(event.stream_id, PAGE, end_stream=True)
        connection.sendall(state.data_to_send())


class Http2Server(ScriptedServer):
    """A server that uses HTTP/2 if the client supports it, else 1.1."""

    def _serve(self, connection, script):
        with contextlib.suppress(OSError), connection, self._tls.wrap_socket(connection, server_side=True) as safe:
            if safe.selected_alpn_protocol() == "h2":
                http2_script(safe)
            else:
                safe.recv(1 << 16)
                safe.sendall(script)


@pytest.mark.parametrize(("http2", "protocol"), [(True, "h2"), (False, "http/1.1")])
def test_http2_is_used_if_both_sides_support_it(authority, ca_file, http2, protocol):
    tls = context(authority, "127.0.0.1", alpn=("h2", "http/1.1"))
    with (
        Http2Server(response(PAGE), tls=tls) as server,
        LibcurlFetcher(loopback(ca_file=ca_file, http2=http2)) as fetcher,
    ):
        results = [fetched(fetcher, server.url)[0] for _ in range(3)]
    assert [result.outcome for result in results] == [Outcome.OK] * 3
    assert {result.protocol for result in results} == {protocol}
    assert [result.content for result in results] == [PAGE] * 3
    assert results[0].content_type == "text/html"
    assert results[0].raw_headers.endswith(b"\r\n\r\n")
    assert results[0].status_line.startswith("HTTP/2 200" if http2 else "HTTP/1.1 200")
