"""Credentials of a request, for one origin only: headers, cookies, a client certificate, a login form.

An origin is scheme, host and port: `https://example.org`, `http://localhost:8080`. The `repr` of such an object
contains only the origin, so that no log or traceback leaks a secret.
"""

from __future__ import annotations

from dataclasses import dataclass

from orienteer.responses.logged_out import LoggedOutSigns


def origin_of(url: str) -> str:
    """The origin of a canonical URL.

    >>> origin_of("https://example.org:8443/a?b")
    'https://example.org:8443'
    """
    return "/".join(url.split("/", 3)[:3])


@dataclass(frozen=True, slots=True, repr=False)
class Secrets:
    """`headers` include cookies, `form` is the body of a POST.

    `certificate` and `key` are PEM. `redacted` are values to redact if a server repeats them. `session` counts the
    logins, to distinguish responses of different sessions. `signs` recognize a response without a valid session.
    `is_login`: a step of a login, whose response is not archived.
    """

    origin: str
    headers: tuple[tuple[str, str], ...] = ()
    form: bytes | None = None
    certificate: bytes = b""
    key: bytes = b""
    key_password: str = ""
    redacted: tuple[str, ...] = ()
    session: int = 0
    signs: LoggedOutSigns | None = None
    is_login: bool = False

    @property
    def size_bytes(self) -> int:
        """The approximate size of a message with these secrets to a worker."""
        texts = sum(len(name) + len(value) for name, value in self.headers) + sum(map(len, self.redacted))
        return texts + len(self.form or b"") + len(self.certificate) + len(self.key) + 200

    def __repr__(self) -> str:
        return f"<Secrets for {self.origin}>"
