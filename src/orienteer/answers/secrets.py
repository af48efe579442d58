"""What goes with a request to one origin, and to nobody else: headers, cookies, a client certificate, a form.

An origin is scheme, host and port: `https://example.org`, `http://localhost:8080`. What is secret is never shown: the
`repr` of such an object names its origin alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from orienteer.answers.logged_out import LoggedOutSigns


def origin_of(url: str) -> str:
    """The origin of a canonical URL.

    >>> origin_of("https://example.org:8443/a?b")
    'https://example.org:8443'
    """
    return "/".join(url.split("/", 3)[:3])


@dataclass(frozen=True, slots=True, repr=False)
class Secrets:
    """`headers` have everything that goes into the head of a request, `form` is what is sent by POST.

    `certificate` and `key` are PEM. `hidden` are values that must not be kept where a server repeats them. `session`
    counts the logins, so that an answer can be told from one to an earlier session. `signs`: how an answer shows that
    it is none for somebody logged in. `is_login`: it is a step of a login, of whose answer nothing is kept at all.
    """

    origin: str
    headers: tuple[tuple[str, str], ...] = ()
    form: bytes | None = None
    certificate: bytes = b""
    key: bytes = b""
    key_password: str = ""
    hidden: tuple[str, ...] = ()
    session: int = 0
    signs: LoggedOutSigns | None = None
    is_login: bool = False

    @property
    def size_bytes(self) -> int:
        """About so much goes to a worker with each request."""
        texts = sum(len(name) + len(value) for name, value in self.headers) + sum(map(len, self.hidden))
        return texts + len(self.form or b"") + len(self.certificate) + len(self.key) + 200

    def __repr__(self) -> str:
        return f"<Secrets for {self.origin}>"
