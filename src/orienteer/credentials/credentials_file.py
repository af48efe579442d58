"""The credentials file, in TOML: credentials by origin. It must be private, and outside the crawl folder.

    ["https://wiki.example.org"]                     an origin: scheme, host, and port unless it is the default
    headers = { X-Api-Key = "${API_KEY}" }           ${NAME} is taken from the environment
    basic = { user = "me", password = "${PASSWORD}" }
    bearer = "${TOKEN}"
    cookies = "cookies.txt"                          a file in Netscape format, relative to this file
    certificate = "me.pem"                           client certificate; the key is in the same file or in `key`

    ["https://wiki.example.org".login]               see `LoginSettings`
    page = "/login"
    fields = { username = "me", password = "${PASSWORD}" }

    ["https://wiki.example.org".logged_out]          see `responses/secrets`; default: login page, login form, 401
    text = "Please log in"

Error messages contain names of tables and keys, never values of the file.
"""

from __future__ import annotations

import base64
import os
import re
import ssl
import time
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orienteer.credentials.cookies import Cookie, cookies_for, cookies_in_header
from orienteer.errors import InputError, unknown_name
from orienteer.files.plain import read_private
from orienteer.responses.redaction import is_redactable, looks_secret
from orienteer.responses.secrets import LoggedOutSigns, origin_of
from orienteer.url import canonical_url

_KEYS = ("headers", "basic", "bearer", "cookies", "certificate", "key", "key_password", "login", "logged_out")
_LOGIN_KEYS = ("page", "fields", "form", "failed_text", "success_text", "check")
_SIGN_KEYS = ("page", "text", "status", "form")
_REFERENCE = re.compile(r"(\$?)\$\{(\w*)\}")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_RESERVED_HEADERS = frozenset(("host", "content-length", "transfer-encoding", "connection", "expect", "upgrade"))
_SECRET_NAME = re.compile(r"auth|token|key|secret|pass|session", re.IGNORECASE)

Environment = Mapping[str, str]


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


def read_credentials(path: Path, folder: Path | None = None, environment: Environment = os.environ) -> Credentials:
    """Read a credentials file; the message of an InputError contains no secret.

    The file must not be in the crawl folder (`folder`), because crawls are copied and shared.
    """
    if folder is not None and path.resolve().is_relative_to(folder.resolve()):
        raise InputError(
            f"{path}: the credentials file must be outside the crawl folder, which may be copied and shared"
        )
    try:
        tables = tomllib.loads(read_private(path).decode("utf-8"))
    except UnicodeDecodeError:
        raise InputError(f"{path}: it is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        position = re.search(r"\((at [^()]+)\)\s*$", str(error))  # the rest of the message may quote a secret
        raise InputError(f"{path}: invalid TOML" + (f" ({position[1]})" if position else "")) from None
    if not tables:
        raise InputError(f'{path}: it has no tables; a table is like ["https://example.org"]')
    reader = _FileReader(path, environment)
    grants = [reader.grant(name, table) for name, table in tables.items()]
    by_origin = {grant.origin: grant for grant in grants}
    if len(by_origin) < len(grants):
        raise InputError(f"{path}: two tables are for the same origin")
    for grant in grants:
        if grant.login is not None and origin_of(grant.login.page) not in by_origin:
            other = origin_of(grant.login.page)
            raise InputError(f'{path}: [{grant.origin}] logs in at {other}; name it, too: ["{other}"]')
    return Credentials(by_origin)


class _FileReader:
    """Parses the tables of one file; `_where` is the position for messages."""

    def __init__(self, path: Path, environment: Environment) -> None:
        self._path = path
        self._environment = environment
        self._where = str(path)

    def grant(self, name: str, table: Any) -> Grant:
        self._where = f"{self._path} [{name}]"
        if not isinstance(table, dict):
            raise InputError(f'{self._path}: {name} is outside a table; a table is like ["https://example.org"]')
        self._expect_keys(table, _KEYS, "key")
        origin = self._origin(name)
        if "basic" in table and "bearer" in table:
            raise InputError(f"{self._where}: basic and bearer exclude each other: both are the header Authorization")
        headers, redacted = self._headers(table)
        stated = dict(headers)
        cookies = cookies_in_header(stated.pop("cookie", ""), origin)
        if "cookies" in table:
            cookies += cookies_for(self._file(table, "cookies"), origin, time.time())
        certificate, key = self._certificate(table, origin)
        login = self._login(table["login"], origin) if "login" in table else None
        signs = self._signs(table.get("logged_out"), login, origin)
        sent = tuple((key, value) for key, value in headers if key.lower() != "cookie")
        return Grant(
            origin, sent, tuple(redacted), tuple(cookies), certificate, key,
            self._text(table, "key_password"), login, signs,
        )  # fmt: skip

    def _origin(self, name: str) -> str:
        url = canonical_url(name if "://" in name else f"https://{name}")
        if url is None or url.count("/") != 3 or not url.endswith("/") or "@" in name:
            raise InputError(f"{self._where}: a table is named after scheme and host, like https://example.org")
        return origin_of(url)

    def _headers(self, table: dict[str, Any]) -> tuple[list[tuple[str, str]], list[str]]:
        """Return names and values of headers, and the values to redact."""
        headers = self._texts(table, "headers")
        redacted = [value for name, value in headers.items() if _SECRET_NAME.search(name) or looks_secret(value)]
        for name in headers:
            if not _HEADER_NAME.fullmatch(name) or name.lower() in _RESERVED_HEADERS:
                raise InputError(f"{self._where}: the header {name[:60]!r} cannot be set")
        if "basic" in table:
            basic = self._texts(table, "basic")
            if set(basic) != {"user", "password"} or ":" in basic["user"]:
                raise InputError(f"{self._where}: basic needs a user, without a colon, and a password")
            packed = base64.b64encode(f"{basic['user']}:{basic['password']}".encode()).decode()
            headers["Authorization"] = f"Basic {packed}"
            redacted += [basic["password"], packed]
        if "bearer" in table:
            token = self._text(table, "bearer")
            headers["Authorization"] = f"Bearer {token}"
            redacted.append(token)
        words = dict.fromkeys(word for value in redacted for word in (value, value.rpartition(" ")[2]))
        redacted = list(filter(is_redactable, words))
        return [
            (name.lower() if name.lower() == "cookie" else name, value) for name, value in headers.items()
        ], redacted

    def _certificate(self, table: dict[str, Any], origin: str) -> tuple[bytes, bytes]:
        if "certificate" not in table:
            if "key" in table or "key_password" in table:
                raise InputError(f"{self._where}: a key needs its certificate")
            return b"", b""
        if not origin.startswith("https://"):
            raise InputError(f"{self._where}: a certificate requires https://")
        path = self._file(table, "certificate")
        key_path = self._file(table, "key") if "key" in table else path
        key = read_private(key_path)
        certificate = key if key_path == path else _public_file(path)
        if b"-----BEGIN CERTIFICATE-----" not in certificate:
            raise InputError(f"{path}: it has no certificate in PEM")
        if b"PRIVATE KEY-----" not in key:
            raise InputError(f"{key_path}: it has no private key in PEM")
        password = self._text(table, "key_password")
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(path, key_path, lambda: password)
        except (ssl.SSLError, OSError, ValueError):
            why = "it does not match the certificate, or key_password is wrong"
            raise InputError(f"{self._where}: the key cannot be used: {why}") from None
        return certificate, key

    def _login(self, table: Any, origin: str) -> LoginSettings:
        self._where = f"{self._path} [{origin}.login]"
        if not isinstance(table, dict):
            raise InputError(f"{self._where}: it must be a table with page and fields")
        self._expect_keys(table, _LOGIN_KEYS, "key")
        fields = self._texts(table, "fields", any_letters=True)
        if not self._text(table, "page") or not fields:
            raise InputError(f"{self._where}: a login needs a page and fields")
        page, check = self._url(table, "page", origin), ""
        if "check" in table:
            check = self._url(table, "check", origin)
            if origin_of(check) != origin:
                raise InputError(f"{self._where}: check must be a page of {origin}")
        if page.startswith("http:") and origin.startswith("https:"):
            raise InputError(f"{self._where}: a password for {origin} is not sent by http")
        texts = {key: self._text(table, key) for key in ("form", "failed_text", "success_text")}
        return LoginSettings(page, fields, check=check, **texts)

    def _signs(self, table: Any, login: LoginSettings | None, origin: str) -> LoggedOutSigns | None:
        self._where = f"{self._path} [{origin}.logged_out]"
        if table is None and login is None:
            return None
        table = {} if table is None else table
        if not isinstance(table, dict):
            raise InputError(f"{self._where}: it must be a table with page, text, status or form")
        self._expect_keys(table, _SIGN_KEYS, "key")
        pages = (self._url(table, "page", origin),) if "page" in table else ()
        if login is not None and login.page != f"{origin}/":  # a redirect to the front page may have other reasons
            pages = (login.page, *pages)
        if not isinstance(table.get("form", True), bool):
            raise InputError(f"{self._where}: form must be true or false")
        fields = tuple(login.fields) if login is not None and table.get("form", True) else ()
        statuses = table.get("status", [401])
        statuses = statuses if isinstance(statuses, list) else [statuses]
        if not all(isinstance(status, int) and 400 <= status < 500 for status in statuses):
            raise InputError(f"{self._where}: status must be a list of HTTP statuses from 400 to 499")
        texts = table.get("text", [])
        texts = texts if isinstance(texts, list) else [texts]
        if not all(isinstance(text, str) and text for text in texts):
            raise InputError(f"{self._where}: text must be a text, or a list of texts")
        return LoggedOutSigns(pages, tuple(texts), tuple(statuses), fields)

    # -- values -------------------------------------------------------------------------------------------------

    def _expect_keys(self, table: dict[str, Any], allowed: tuple[str, ...], kind: str) -> None:
        for key in table:
            if key not in allowed:
                raise unknown_name(f"{kind} in {self._where}", key, allowed)

    def _text(self, table: dict[str, Any], key: str) -> str:
        return self._filled(table[key], key) if key in table else ""

    def _texts(self, table: dict[str, Any], key: str, any_letters: bool = False) -> dict[str, str]:
        texts = table.get(key, {})
        if not isinstance(texts, dict):
            raise InputError(f'{self._where}: {key} must be names with texts, like {{ name = "value" }}')
        return {name: self._filled(value, f"{key}.{name}", any_letters) for name, value in texts.items()}

    def _filled(self, value: Any, key: str, any_letters: bool = False) -> str:
        """Return a text with its environment variables replaced."""
        if not isinstance(value, str):
            raise InputError(f"{self._where}: {key} must be a text")
        text = _REFERENCE.sub(lambda match: self._from_environment(match, key), value)
        if not any_letters and not text.isprintable():
            raise InputError(f"{self._where}: {key} must be one line of text")
        return text

    def _from_environment(self, match: re.Match[str], key: str) -> str:
        if match[1]:
            return match[0][1:]  # $${NAME} is an escaped ${NAME}
        value = self._environment.get(match[2])
        if not value:
            raise InputError(f"{self._where}: {key} needs the environment variable {match[2]}, which is not set")
        return value

    def _file(self, table: dict[str, Any], key: str) -> Path:
        return self._path.parent / Path(self._text(table, key)).expanduser()

    def _url(self, table: dict[str, Any], key: str, origin: str) -> str:
        url = canonical_url(self._text(table, key), f"{origin}/")
        if url is None:
            raise InputError(f"{self._where}: {key} is not a URL")
        return url


def _public_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
