"""The contents of a credentials file: one Grant per origin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from orienteer.credentials.cookies import Cookie
from orienteer.responses.logged_out import LoggedOutSigns
from orienteer.responses.secrets import origin_of


@dataclass(frozen=True, slots=True, repr=False)
class LoginSettings:
    """A login by a form: its `page`, the `fields` to fill in, and how to recognize a failure.

    `form` is the id or the name of the form if the page has several. The response contains `failed_text` after a failed
    login and `success_text` after a successful one. `check` is a page that is visible only when logged in.
    """

    page: str
    fields: Mapping[str, str]
    form: str = ""
    failed_text: str = ""
    success_text: str = ""
    check: str = ""

    def __repr__(self) -> str:
        return f"<LoginSettings for {self.page}>"


@dataclass(frozen=True, slots=True, repr=False)
class Grant:
    """Credentials for one origin. `redacted` are the secret values of `headers`; `signs` recognize a lost session."""

    origin: str
    headers: tuple[tuple[str, str], ...] = ()
    redacted: tuple[str, ...] = ()
    cookies: tuple[Cookie, ...] = ()
    certificate: bytes = b""
    key: bytes = b""
    key_password: str = ""
    login: LoginSettings | None = None
    signs: LoggedOutSigns | None = None

    @property
    def has_session(self) -> bool:
        """Whether there is a session that can end."""
        return bool(self.cookies) or self.login is not None or self.signs is not None

    def __repr__(self) -> str:
        return f"<Grant for {self.origin}>"


@dataclass(frozen=True, slots=True, repr=False)
class Credentials:
    """All credentials of a crawl, by origin; other origins get none."""

    grants: Mapping[str, Grant] = field(default_factory=dict)

    @property
    def origins(self) -> tuple[str, ...]:
        return tuple(self.grants)

    def covers(self, urls: Iterable[str]) -> bool:
        """Whether there are credentials for any of these URLs."""
        return any(origin_of(url) in self.grants for url in urls)

    def __repr__(self) -> str:
        return f"<Access to {', '.join(self.origins) or 'nothing'}>"


def without_secrets_for(origins: Iterable[str]) -> Credentials:
    """Grant empty credentials for these origins: an archive knows what was fetched with credentials."""
    return Credentials({origin: Grant(origin) for origin in origins})
