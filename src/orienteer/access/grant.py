"""What one origin is shown, and all origins together: what an access file says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from orienteer.access.cookies import Cookie
from orienteer.answers.logged_out import LoggedOutSigns
from orienteer.answers.secrets import origin_of


@dataclass(frozen=True, slots=True, repr=False)
class LoginSettings:
    """A login by a form: its `page`, the `fields` to fill in, and how to see that it failed.

    `form` is the id or the name of the form, where the page has several. `failed_text` stands in the HTML of the answer
    when it failed, `success_text` when it did not. `check` is a page that only somebody logged in can see.
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
    """What goes to an origin. `hidden` are those values of `headers` that are secret; `signs` show a lost session."""

    origin: str
    headers: tuple[tuple[str, str], ...] = ()
    hidden: tuple[str, ...] = ()
    cookies: tuple[Cookie, ...] = ()
    certificate: bytes = b""
    key: bytes = b""
    key_password: str = ""
    login: LoginSettings | None = None
    signs: LoggedOutSigns | None = None

    @property
    def has_session(self) -> bool:
        """Whether one can be logged out there."""
        return bool(self.cookies) or self.login is not None or self.signs is not None

    def __repr__(self) -> str:
        return f"<Grant for {self.origin}>"


@dataclass(frozen=True, slots=True, repr=False)
class Access:
    """What a crawl may show to whom, by origin; nothing to any other."""

    grants: Mapping[str, Grant] = field(default_factory=dict)

    @property
    def origins(self) -> tuple[str, ...]:
        return tuple(self.grants)

    def concerns(self, urls: Iterable[str]) -> bool:
        """Whether one of these pages is shown anything."""
        return any(origin_of(url) in self.grants for url in urls)

    def __repr__(self) -> str:
        return f"<Access to {', '.join(self.origins) or 'nothing'}>"
