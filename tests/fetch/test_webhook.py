"""Webhook deliveries to real servers on loopback."""

from __future__ import annotations

import hashlib
import hmac

import pytest

from orienteer.errors import InputError
from orienteer.fetch.webhook import PAUSES_S, Webhook, send
from tests.receiver import receiving
from tests.tables import over_rows

BODY = b'{"crawl": "town"}'


def no_pause(_: float) -> None:
    raise AssertionError("there is nothing to wait for")


def test_a_message_is_signed_and_received_once() -> None:
    with receiving(204) as receiver:
        hook = Webhook(receiver.url + "hook?k=v", b"our secret", allow_private=True)
        assert send(hook, BODY, "id-3", pause=no_pause) is None
    (message,) = receiver.messages
    assert (message.path, message.body) == ("/hook?k=v", BODY)
    assert message.headers["Content-Type"] == "application/json"
    assert message.headers["X-Orienteer-Delivery"] == "id-3"
    expected = hmac.new(b"our secret", BODY, hashlib.sha256).hexdigest()
    assert message.headers["X-Orienteer-Signature"] == f"sha256={expected}"
    assert "Expect" not in message.headers


def test_without_a_secret_nothing_is_signed() -> None:
    with receiving() as receiver:
        assert send(Webhook(receiver.url, allow_private=True), BODY, "id", pause=no_pause) is None
    assert "X-Orienteer-Signature" not in receiver.messages[0].headers


def test_three_attempts_with_increasing_pauses() -> None:
    pauses: list[float] = []
    with receiving(500, 503, 200) as receiver:
        assert send(Webhook(receiver.url, b"s", allow_private=True), BODY, "id", pauses.append) is None
    assert [message.body for message in receiver.messages] == [BODY] * 3
    assert pauses == list(PAUSES_S)
    assert pauses[0] < pauses[1]
    pauses.clear()
    with receiving(500) as receiver:
        problem = send(Webhook(receiver.url + "secret-path", b"s", allow_private=True), BODY, "id", pauses.append)
    assert len(receiver.messages) == 3
    assert problem == f"http 500 from {receiver.url.rstrip('/')}"


def test_a_redirect_is_not_followed() -> None:
    with receiving() as other, receiving(307, location=other.url) as receiver:
        problem = send(Webhook(receiver.url, b"s", allow_private=True), BODY, "id", no_pause)
    assert problem is not None
    assert problem.startswith("http 307 from")
    assert other.messages == []


def test_an_unreachable_receiver() -> None:
    with receiving() as receiver:
        pass
    problem = send(Webhook(receiver.url, b"s", allow_private=True), BODY, "id", lambda _: None)
    assert problem is not None
    assert problem.startswith("no connection from")


@over_rows(
    ("url", "why"),
    [
        ("http://127.0.0.1:8080/hook", "leads to 127.0.0.1, which is loopback"),
        ("http://localhost/hook", "leads to 127.0.0.1, which is loopback"),
        ("http://169.254.169.254/latest", "leads to 169.254.169.254, which is link-local"),
        ("http://[::1]/", "leads to ::1, which is loopback"),
        ("ftp://example.org/", "it must be an http or https address without a password"),
        ("file:///etc/passwd", "it must be an http or https address"),
        ("https://user:word@example.org/", "without a password"),
        ("", "it must be an http or https address"),
        ("http://[", "it must be an http or https address"),
    ],
)
def test_addresses_that_are_refused(url: str, why: str) -> None:
    with pytest.raises(InputError) as refused:
        Webhook(url, b"s")
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_name_with_a_private_address_is_refused_when_connecting() -> None:
    """The resolved address is checked when connecting. This test bypasses the check of the URL."""
    with receiving() as receiver:
        hook = Webhook("http://example.org/", b"s")
        object.__setattr__(hook, "url", receiver.url)
        problem = send(hook, BODY, "id", no_pause)
    assert problem is not None
    assert "127.0.0.1 is loopback" in problem
    assert receiver.messages == []


def test_the_repr_contains_no_secret() -> None:
    hook = Webhook("https://example.org/token-in-path", b"our secret")
    assert repr(hook) == "<Webhook at https://example.org>"
