"""Responses in archives."""

from __future__ import annotations

import gzip
import random

import pytest

from orienteer.files.compressed import zstd
from orienteer.responses.body import BodyTooLargeError
from orienteer.responses.headers import Headers
from orienteer.warc.archived_responses import Message, content_of, resource_of, response_of, truly_coded, without_chunks

BODY = b"<p>some words and some more"


def test_a_response_is_parsed() -> None:
    message = response_of(b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nX: a\r\nX: b\r\n\r\n" + BODY)
    assert message is not None
    assert (message.status, message.body) == (404, BODY)
    assert message.headers.get_all("x") == ["a", "b"]
    assert message.raw_headers.endswith(b"X: b\r\n\r\n")


def test_malformed_responses() -> None:
    assert response_of(b"") is None
    assert response_of(b"GET / HTTP/1.1\r\n\r\n") is None
    assert response_of(b"HTTP/1.1 2000 Odd\r\n\r\n") is None
    bare = response_of(b"HTTP/2 200\nA: b\n\nbody")
    assert bare is not None
    assert (bare.status, bare.body, bare.headers.get("a")) == (200, b"body", "b")
    assert response_of(b"HTTP/1.0 200 OK\r\nA: b") is None  # cut off in its headers


def test_chunks_are_decoded() -> None:
    chunked = b"5\r\n<p>so\r\n16 ; a=b\r\nme words and some more\r\n0\r\n\r\n"
    assert without_chunks(chunked) == BODY
    assert without_chunks(BODY) == BODY  # only the header was archived
    assert without_chunks(chunked[:-15]) == BODY[:-8]  # cut off
    assert without_chunks(b"0\r\n\r\n") == b""
    message = response_of(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n" + chunked)
    assert message is not None
    assert message.body == BODY


def test_a_wrong_content_encoding_is_removed() -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n"
    coded, plain = response_of(head + gzip.compress(BODY)), response_of(head + BODY)
    assert coded is not None
    assert plain is not None
    assert truly_coded(coded, 1000) is coded
    assert truly_coded(coded, 10) is coded  # too large, but a gzip
    corrected = truly_coded(plain, 1000)
    assert "content-encoding" not in corrected.headers
    assert b"X-Crawler-Content-Encoding: gzip" in corrected.raw_headers
    assert corrected.body == BODY


def test_the_received_part_of_a_truncated_body_is_used() -> None:
    body = random.Random(3).randbytes(400_000)  # several blocks, however it is packed
    for coding, whole in (("gzip", gzip.compress(body)), ("zstd", zstd.compress(body))):
        message = response_of(f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\n\r\n".encode() + whole[:-50])
        assert message is not None
        came = content_of(message, 1 << 20)
        assert came == body[: len(came)]
        corrected = truly_coded(message, 1 << 20)
        assert (corrected.body, "content-encoding" in corrected.headers) == (came, False)
        assert len(came) > 200_000
    many = gzip.compress(b"one ") + gzip.compress(body)[:-50]
    message = response_of(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + many)
    assert message is not None
    assert content_of(message, 1 << 20).startswith(b"one " + body[:200_000])


def test_content_is_the_decoded_body_or_unchanged() -> None:
    for coding, body in (("gzip", gzip.compress(BODY)), ("br", BODY), ("deflate", BODY), ("zstd", BODY), ("x", BODY)):
        message = response_of(f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\n\r\n".encode() + body)
        assert message is not None
        assert content_of(message, 1000) == BODY
    with pytest.raises(BodyTooLargeError):
        content_of(Message(200, Headers([("Content-Encoding", "gzip")]), b"", gzip.compress(bytes(2000))), 1000)


def test_a_file_becomes_a_response() -> None:
    message = resource_of(BODY, "text/html; charset=utf-8\r\nX: injected")
    assert (message.status, message.body) == (200, BODY)
    assert message.headers.get("content-type") == "text/html; charset=utf-8X: injected"
    assert message.raw_headers.count(b"\r\n") == 3
