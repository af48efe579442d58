"""Deliver a webhook: a POST request, signed so that the receiver can verify the sender.

    X-Orienteer-Signature: sha256=HEX     HMAC-SHA256 of the body with the shared secret
    X-Orienteer-Delivery: ID              the same for all attempts of a delivery

There are three attempts with increasing pauses. Redirects are not followed, and private addresses are refused as in a
crawl, because the URL may come from another user of the web interface. Any 2xx status confirms the delivery.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable
from dataclasses import dataclass

from orienteer.errors import InputError
from orienteer.fetch.addresses import forbidden_reason, literal_address
from orienteer.fetch.fetcher import Fetcher
from orienteer.fetch.settings import FetchSettings
from orienteer.pages.outcome import Outcome
from orienteer.responses.response import HostRequest, HostRequestKind, Request, Response
from orienteer.responses.secrets import Secrets, origin_of
from orienteer.url import canonical_url
from orienteer.wording import plain

SIGNATURE, DELIVERY = "X-Orienteer-Signature", "X-Orienteer-Delivery"
PAUSES_S = (2.0, 10.0)  # before the second and the third attempt
TIMEOUT_S = 20.0
_MAX_ANSWER_BYTES = 4096
_POLL_S = 1.0
_PERMANENT = (Outcome.FORBIDDEN_ADDRESS, Outcome.REDIRECT)  # another attempt would fail in the same way


@dataclass(frozen=True, repr=False)
class Webhook:
    """A URL, and the secret for signatures; without one messages are not signed.

    The URL may contain a secret as well, so the `repr` contains only its origin.
    """

    url: str
    secret: bytes = b""
    allow_private: bool = False

    def __post_init__(self) -> None:
        expect_webhook(self.url, self.allow_private)

    @property
    def origin(self) -> str:
        """The origin of the URL, which is safe to print."""
        return origin_of(self.url)

    def __repr__(self) -> str:
        return f"<Webhook at {self.origin}>"


def expect_webhook(url: str, allow_private: bool = False) -> None:
    """Raise an InputError for an invalid URL or a forbidden literal address; names are checked after DNS."""
    canonical = canonical_url(url) if url.startswith(("http://", "https://")) else None
    if canonical is None or "@" in origin_of(url):
        raise InputError(f"the webhook is {plain(url, 100)!r}; it must be an http or https address without a password")
    address = literal_address(url)
    reason = None if address is None or allow_private else forbidden_reason(address)
    if reason is not None:
        raise InputError(f"the webhook leads to {address}, which is {reason}; allow private addresses to use it")


def signature(secret: bytes, body: bytes) -> str:
    """
    >>> signature(b"secret", b"{}")[:20]
    'sha256=77325902caca8'
    """
    return f"sha256={hmac.new(secret, body, hashlib.sha256).hexdigest()}"


def send(webhook: Webhook, body: bytes, delivery: str, pause: Callable[[float], None] = time.sleep) -> str | None:
    """Send JSON; returns None if it was received, else the error in one line."""
    from orienteer.fetch.libcurl import LibcurlFetcher  # pages that show a schedule need no network

    headers = [("Content-Type", "application/json"), ("Accept", "*/*"), ("Expect", ""), (DELIVERY, delivery)]
    if webhook.secret:
        headers.append((SIGNATURE, signature(webhook.secret, body)))
    secrets = Secrets(origin_of(canonical_url(webhook.url) or ""), tuple(headers), form=body)
    url = canonical_url(webhook.url) or ""
    request = HostRequest(url, HostRequestKind.WEBHOOK, max_body_bytes=_MAX_ANSWER_BYTES, secrets=secrets)
    settings = FetchSettings(timeout_s=TIMEOUT_S, allow_private=webhook.allow_private)
    with LibcurlFetcher(settings) as fetcher:
        for wait_s in (*PAUSES_S, None):
            response = _fetch(fetcher, request)
            if 200 <= response.status < 300:
                return None
            if wait_s is None or response.outcome in _PERMANENT:
                break
            pause(wait_s)
    what = f"http {response.status}" if response.status else response.reason
    return f"{what} from {webhook.origin}" + (f" ({response.detail})" if response.detail else "")


def _fetch(fetcher: Fetcher, request: Request) -> Response:
    fetcher.start(request)
    while True:
        responses = fetcher.poll(_POLL_S)
        if responses:
            return responses[0]
