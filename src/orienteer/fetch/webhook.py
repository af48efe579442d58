"""A message to an address that the user has named, by POST, signed so that the receiver can check who sent it.

    X-Orienteer-Signature: sha256=HEX     HMAC-SHA256 of the body, with the secret that both have
    X-Orienteer-Delivery: ID              the same when a message is sent again

Three tries, with growing pauses. A redirect is not followed, and what a crawl must not connect to is refused here, too:
the address may have been typed into a page by somebody else. Any 2xx is a receipt.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable
from dataclasses import dataclass

from orienteer.answers.answer import Fetched, Request
from orienteer.answers.secrets import Secrets, origin_of
from orienteer.errors import InputError
from orienteer.fetch.addresses import forbidden_reason, literal_address
from orienteer.fetch.libcurl import LibcurlFetcher
from orienteer.fetch.settings import FetchSettings
from orienteer.pages.outcome import Outcome
from orienteer.url import canonical_url
from orienteer.wording import plain

SIGNATURE, DELIVERY = "X-Orienteer-Signature", "X-Orienteer-Delivery"
PAUSES_S = (2.0, 10.0)  # before the second try and the third
TIMEOUT_S = 20.0
_MAX_ANSWER_BYTES = 4096
_POLL_S = 1.0
_HOPELESS = (Outcome.FORBIDDEN_ADDRESS, Outcome.REDIRECT)  # the next try would end in the same


@dataclass(frozen=True, repr=False)
class Webhook:
    """Where to send messages, and the secret that they are signed with; without one they are not.

    The address may hold a secret as well: it is not shown.
    """

    url: str
    secret: bytes = b""
    allow_private: bool = False

    def __post_init__(self) -> None:
        expect_webhook(self.url, self.allow_private)

    @property
    def place(self) -> str:
        """Where it leads, without what may be secret in it."""
        return origin_of(self.url)

    def __repr__(self) -> str:
        return f"<Webhook at {self.place}>"


def expect_webhook(url: str, allow_private: bool = False) -> None:
    """Refuse an address that cannot be one, or that names a forbidden address by itself; the rest DNS will tell."""
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
    """Send JSON; None when it was received, or else why not, in one line."""
    headers = [("Content-Type", "application/json"), ("Accept", "*/*"), ("Expect", ""), (DELIVERY, delivery)]
    if webhook.secret:
        headers.append((SIGNATURE, signature(webhook.secret, body)))
    secrets = Secrets(origin_of(canonical_url(webhook.url) or ""), tuple(headers), form=body)
    request = Request(
        canonical_url(webhook.url) or "", 0, any_type=True, max_body_bytes=_MAX_ANSWER_BYTES, secrets=secrets
    )
    settings = FetchSettings(timeout_s=TIMEOUT_S, allow_private=webhook.allow_private)
    with LibcurlFetcher(settings) as fetcher:
        for wait_s in (*PAUSES_S, None):
            answer = _asked(fetcher, request)
            if 200 <= answer.status < 300:
                return None
            if wait_s is None or answer.outcome in _HOPELESS:
                break
            pause(wait_s)
    what = f"http {answer.status}" if answer.status else answer.reason
    return f"{what} from {webhook.place}" + (f" ({answer.detail})" if answer.detail else "")


def _asked(fetcher: LibcurlFetcher, request: Request) -> Fetched:
    fetcher.start(request)
    while True:
        answers = fetcher.poll(_POLL_S)
        if answers:
            return answers[0]
