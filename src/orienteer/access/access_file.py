"""The access file: what to show to which hosts, in TOML. It stands outside the crawl folder; others must not read it.

    ["https://wiki.example.org"]                     an origin: scheme, host, and port where it is an unusual one
    headers = { X-Api-Key = "${API_KEY}" }           ${NAME} is taken from the environment
    basic = { user = "me", password = "${PASSWORD}" }
    bearer = "${TOKEN}"
    cookies = "cookies.txt"                          a file in Netscape's format, seen from this one
    certificate = "me.pem"                           of the client; with its key, or with that in `key`

    ["https://wiki.example.org".login]               see `grant.LoginSettings`
    page = "/login"
    fields = { username = "me", password = "${PASSWORD}" }

    ["https://wiki.example.org".logged_out]          see `answers/logged_out`; a login has its page, its form, and 401
    text = "Please log in"

No message holds a value of the file: only names of tables and keys.
"""

from __future__ import annotations

import base64
import os
import re
import ssl
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orienteer.access.cookie_file import cookies_for
from orienteer.access.cookies import cookies_in_header
from orienteer.access.grant import Access, Grant, LoginSettings
from orienteer.answers.hiding import can_be_hidden, looks_secret
from orienteer.answers.logged_out import LoggedOutSigns
from orienteer.answers.secrets import origin_of
from orienteer.errors import InputError, unknown_name
from orienteer.files.private import read_private
from orienteer.url import canonical_url

_KEYS = ("headers", "basic", "bearer", "cookies", "certificate", "key", "key_password", "login", "logged_out")
_LOGIN_KEYS = ("page", "fields", "form", "failed_text", "success_text", "check")
_SIGN_KEYS = ("page", "text", "status", "form")
_REFERENCE = re.compile(r"(\$?)\$\{(\w*)\}")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NOT_YOURS = frozenset(("host", "content-length", "transfer-encoding", "connection", "expect", "upgrade"))
_SECRET_NAME = re.compile(r"auth|token|key|secret|pass|session", re.IGNORECASE)

Environment = Mapping[str, str]


def read_access(path: Path, folder: Path | None = None, environment: Environment = os.environ) -> Access:
    """What an access file says; InputError, in one line without any secret, where it cannot be used.

    `folder` is that of the crawl: secrets must not stand there, since crawls are copied and passed on.
    """
    if folder is not None and path.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"{path}: secrets do not belong into the crawl folder; keep the access file outside")
    try:
        tables = tomllib.loads(read_private(path).decode("utf-8"))
    except UnicodeDecodeError:
        raise InputError(f"{path}: it is no text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"\((at [^()]+)\)\s*$", str(error))  # what stands there may be a secret
        raise InputError(f"{path}: no valid TOML" + (f" ({place[1]})" if place else "")) from None
    if not tables:
        raise InputError(f'{path}: it names no host; a table is like ["https://example.org"]')
    reader = _Reader(path, environment)
    grants = [reader.grant(name, table) for name, table in tables.items()]
    by_origin = {grant.origin: grant for grant in grants}
    if len(by_origin) < len(grants):
        raise InputError(f"{path}: two tables are for the same origin")
    for grant in grants:
        if grant.login is not None and origin_of(grant.login.page) not in by_origin:
            other = origin_of(grant.login.page)
            raise InputError(f'{path}: [{grant.origin}] logs in at {other}; name it, too: ["{other}"]')
    return Access(by_origin)


class _Reader:
    """Tables of one file; `_where` is what messages name."""

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
        headers, hidden = self._headers(table)
        stated = dict(headers)
        cookies = cookies_in_header(stated.pop("cookie", ""), origin)
        if "cookies" in table:
            cookies += cookies_for(self._file(table, "cookies"), origin, time.time())
        certificate, key = self._certificate(table, origin)
        login = self._login(table["login"], origin) if "login" in table else None
        signs = self._signs(table.get("logged_out"), login, origin)
        sent = tuple((key, value) for key, value in headers if key.lower() != "cookie")
        return Grant(
            origin, sent, tuple(hidden), tuple(cookies), certificate, key,
            self._text(table, "key_password"), login, signs,
        )  # fmt: skip

    def _origin(self, name: str) -> str:
        url = canonical_url(name if "://" in name else f"https://{name}")
        if url is None or url.count("/") != 3 or not url.endswith("/") or "@" in name:
            raise InputError(f"{self._where}: a table is named after scheme and host, like https://example.org")
        return origin_of(url)

    def _headers(self, table: dict[str, Any]) -> tuple[list[tuple[str, str]], list[str]]:
        """Names and values, and which of the values are to be hidden."""
        headers = self._texts(table, "headers")
        hidden = [value for name, value in headers.items() if _SECRET_NAME.search(name) or looks_secret(value)]
        for name in headers:
            if not _HEADER_NAME.fullmatch(name) or name.lower() in _NOT_YOURS:
                raise InputError(f"{self._where}: {name[:60]!r} is no header that can be set")
        if "basic" in table:
            basic = self._texts(table, "basic")
            if set(basic) != {"user", "password"} or ":" in basic["user"]:
                raise InputError(f"{self._where}: basic has a user, without a colon, and a password")
            packed = base64.b64encode(f"{basic['user']}:{basic['password']}".encode()).decode()
            headers["Authorization"] = f"Basic {packed}"
            hidden += [basic["password"], packed]
        if "bearer" in table:
            token = self._text(table, "bearer")
            headers["Authorization"] = f"Bearer {token}"
            hidden.append(token)
        words = dict.fromkeys(word for value in hidden for word in (value, value.rpartition(" ")[2]))
        hidden = list(filter(can_be_hidden, words))
        return [(name.lower() if name.lower() == "cookie" else name, value) for name, value in headers.items()], hidden

    def _certificate(self, table: dict[str, Any], origin: str) -> tuple[bytes, bytes]:
        if "certificate" not in table:
            if "key" in table or "key_password" in table:
                raise InputError(f"{self._where}: a key needs its certificate")
            return b"", b""
        if not origin.startswith("https://"):
            raise InputError(f"{self._where}: a certificate goes with https:// only")
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
            why = "is of another certificate, or key_password is wrong"
            raise InputError(f"{self._where}: the key cannot be used: it {why}") from None
        return certificate, key

    def _login(self, table: Any, origin: str) -> LoginSettings:
        self._where = f"{self._path} [{origin}.login]"
        if not isinstance(table, dict):
            raise InputError(f"{self._where}: it must be a table with page and fields")
        self._expect_keys(table, _LOGIN_KEYS, "key")
        fields = self._texts(table, "fields", any_letters=True)
        if not self._text(table, "page") or not fields:
            raise InputError(f"{self._where}: a login has a page and fields")
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
        if login is not None and login.page != f"{origin}/":  # the front page has a meaning of its own
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

    def _expect_keys(self, table: dict[str, Any], known: tuple[str, ...], kind: str) -> None:
        for key in table:
            if key not in known:
                raise unknown_name(f"{kind} in {self._where}", key, known)

    def _text(self, table: dict[str, Any], key: str) -> str:
        return self._filled(table[key], key) if key in table else ""

    def _texts(self, table: dict[str, Any], key: str, any_letters: bool = False) -> dict[str, str]:
        found = table.get(key, {})
        if not isinstance(found, dict):
            raise InputError(f'{self._where}: {key} must be names with texts, like {{ name = "value" }}')
        return {name: self._filled(value, f"{key}.{name}", any_letters) for name, value in found.items()}

    def _filled(self, value: Any, key: str, any_letters: bool = False) -> str:
        """A text, with what it takes from the environment."""
        if not isinstance(value, str):
            raise InputError(f"{self._where}: {key} must be a text")
        text = _REFERENCE.sub(lambda found: self._from_environment(found, key), value)
        if not any_letters and not text.isprintable():
            raise InputError(f"{self._where}: {key} must be one line of text")
        return text

    def _from_environment(self, found: re.Match[str], key: str) -> str:
        if found[1]:
            return found[0][1:]  # $${NAME} stands for itself
        value = self._environment.get(found[2])
        if not value:
            raise InputError(f"{self._where}: {key} wants the environment variable {found[2]}, which is not set")
        return value

    def _file(self, table: dict[str, Any], key: str) -> Path:
        return self._path.parent / Path(self._text(table, key)).expanduser()

    def _url(self, table: dict[str, Any], key: str, origin: str) -> str:
        url = canonical_url(self._text(table, key), f"{origin}/")
        if url is None:
            raise InputError(f"{self._where}: {key} is no URL")
        return url


def _public_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
