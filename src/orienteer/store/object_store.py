"""Objects in an S3-compatible store, or in a folder used as one, and the settings that name it.

    s3://bucket/prefix      at AWS, or at any S3-compatible endpoint
    file:///path            a folder, on a network drive for example

The only module that uses obstore. Every error is one line that names the object and contains no credentials. Endpoint,
region and credentials are found as the AWS tools find them; nothing of this is stored in the crawl folder:

    AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
    the profile AWS_PROFILE of ~/.aws/credentials and ~/.aws/config
    the role of the machine, unless AWS_EC2_METADATA_DISABLED is true
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from orienteer.errors import CrawlFolderError, InputError, MissingExtraError
from orienteer.settings import check, setting
from orienteer.wording import plain

_SECRETS = ("access_key_id", "secret_access_key", "session_token")
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
# Any of these shows that the machine has a role.
_ROLES = ("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI")
_ANONYMOUS = "AWS_SKIP_SIGNATURE"
_SHA256 = "orienteer-sha256"  # of the whole object, in its metadata
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}")
_CLIENT = {"connect_timeout": "5s", "timeout": "300s"}
_RETRY = {"max_retries": 3, "retry_timeout": timedelta(seconds=60)}
_MAX_CONCURRENCY = 4
_BLOCK_BYTES = 4 << 20
_CODE, _MESSAGE = re.compile(r"<Code>([^<]*)</Code>"), re.compile(r"<Message>([^<]*)</Message>")
_NO_ROLE = "169.254."  # the link-local metadata service of cloud machines, in errors of a machine without a role


@dataclass(frozen=True)
class AwsAccount:
    """Endpoint, region and credentials; "" leaves it to the defaults."""

    endpoint: str
    region: str
    secrets: dict[str, str] = field(repr=False)

    @classmethod
    def found(cls, endpoint: str | None, region: str | None) -> AwsAccount:
        """Take each value from the settings, else from the environment, else from the files of AWS."""
        profile, environment = _profile(), os.environ
        in_environment = {name: environment[key] for name in _SECRETS if (key := _variable(name)) in environment}
        secrets = in_environment if "access_key_id" in in_environment else _secrets_of(profile)
        has_no_role_service = environment.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true"
        if not secrets and has_no_role_service and not any(name in environment for name in (*_ROLES, _ANONYMOUS)):
            raise CrawlFolderError("no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE")
        return cls(
            endpoint or _first(_ENDPOINTS) or profile.get("endpoint_url", ""),
            region or _first(_REGIONS) or profile.get("region", ""),
            secrets,
        )

    def settings(self) -> dict[str, Any]:
        """Return the options for obstore. Both names of the endpoint are set, or the environment would win."""
        where = {"endpoint": self.endpoint, "aws_endpoint_url_s3": self.endpoint, "region": self.region}
        return {name: value for name, value in where.items() if value} | self.secrets


def without_secrets(text: str) -> str:
    """Return a message of a store with credentials that it quotes replaced."""
    secrets = _secrets_of(_profile())
    values = [os.environ.get(_variable(name), "") for name in _SECRETS] + list(secrets.values())
    for value in filter(None, values):
        text = text.replace(value, "…")
    return text


def _variable(name: str) -> str:
    return f"AWS_{name.upper()}"


def _first(names: tuple[str, ...]) -> str:
    return next((os.environ[name] for name in names if os.environ.get(name)), "")


def _secrets_of(profile: dict[str, str]) -> dict[str, str]:
    return {name: profile[f"aws_{name}"] for name in _SECRETS if profile.get(f"aws_{name}")}


def _profile() -> dict[str, str]:
    """Return the chosen profile from the files of AWS; empty if they cannot be read."""
    import configparser

    name = os.environ.get("AWS_PROFILE") or "default"
    found: dict[str, str] = {}
    for variable, file, heading in (
        ("AWS_CONFIG_FILE", "config", name if name == "default" else f"profile {name}"),
        ("AWS_SHARED_CREDENTIALS_FILE", "credentials", name),
    ):
        parser = configparser.RawConfigParser()
        try:
            path = os.environ.get(variable) or Path("~/.aws").expanduser() / file
            parser.read(path, encoding="utf-8")
        except (OSError, RuntimeError, ValueError, configparser.Error):
            continue
        if parser.has_section(heading):
            found |= dict(parser[heading])
    return found


@dataclass(frozen=True)
class StoreLocation:
    """An object store and a prefix in it; endpoint and region if the settings name them."""

    url: str
    endpoint: str | None = None
    region: str | None = None

    def address(self, name: str) -> str:
        """Return the URL of an object for messages."""
        return plain(f"{self.url}/{name}", 300)


class FoundObject(NamedTuple):
    """An existing object; `sha256` is from its metadata, "" if it has none."""

    size_bytes: int
    e_tag: str
    sha256: str


def parse_location(url: str, endpoint: str | None = None, region: str | None = None) -> StoreLocation:
    """Validate an object store URL and return the location; InputError if it is malformed.

    >>> parse_location("s3://bucket/a/b/").url
    's3://bucket/a/b'
    """
    if endpoint is not None and urlsplit(endpoint).scheme not in ("http", "https"):
        raise InputError(f"endpoint is {plain(endpoint, 200)}; write it like https://s3.example.org")
    try:
        split = urlsplit(url)
    except ValueError:
        split = urlsplit("")
    is_bucket = split.scheme == "s3" and _BUCKET.fullmatch(split.netloc) is not None
    is_folder = split.scheme == "file" and not split.netloc and split.path.startswith("/") and split.path != "/"
    is_odd = split.query or split.fragment or {"..", "."} & set(split.path.split("/"))
    if not (is_bucket or is_folder) or is_odd or not url.isprintable():
        raise InputError(f"archive_to is {plain(url, 200)}; write it like s3://bucket/prefix or file:///path")
    return StoreLocation(url.rstrip("/"), endpoint, region)


def expect_obstore(doing: str) -> None:
    """Raise MissingExtraError unless obstore is installed; `doing` says what needs it."""
    try:
        import obstore  # noqa: F401
    except ImportError:
        raise MissingExtraError(doing, "obstore", "storage") from None


class ObjectStore:
    """The objects at a location."""

    def __init__(self, location: StoreLocation) -> None:
        expect_obstore(f"an archive at {plain(location.url, 200)}")
        self.location = location
        self._is_s3 = location.url.startswith("s3:")
        with self._mapped_errors("") as obstore:
            self._store = _opened(obstore, location)

    def find(self, name: str) -> FoundObject | None:
        """Return the object with this name; None if there is none."""
        with self._mapped_errors(name) as obstore:
            try:
                found = obstore.get(self._store, name, options={"head": True})
            except FileNotFoundError:
                return None
            sha256 = found.attributes.get(_SHA256, "")
            return FoundObject(found.meta["size"], str(found.meta["e_tag"] or "").strip('"'), sha256)

    def read(self, name: str, start: int, stop: int) -> tuple[bytes, int]:
        """Return the bytes in [start, stop) of an object, in one request, and the size of the whole object."""
        with self._mapped_errors(name) as obstore:
            found = obstore.get(self._store, name, options={"range": (start, stop)})
            return bytes(found.bytes()), found.meta["size"]

    def blocks(self, name: str) -> Iterator[bytes]:
        """Yield a whole object in blocks."""
        with self._mapped_errors(name) as obstore:
            for block in obstore.get(self._store, name).stream(min_chunk_size=_BLOCK_BYTES):
                yield bytes(block)

    def write(self, name: str, path: Path, sha256: str, part_bytes: int) -> None:
        """Upload a file; the object appears when it is complete."""
        more: dict[str, Any] = {"attributes": {_SHA256: sha256}} if self._is_s3 else {}
        with self._mapped_errors(name) as obstore:
            obstore.put(self._store, name, path, chunk_size=part_bytes, max_concurrency=_MAX_CONCURRENCY, **more)

    @contextmanager
    def _mapped_errors(self, name: str) -> Iterator[Any]:
        """Map errors of the store to a one-line CrawlFolderError."""
        import obstore
        from obstore.exceptions import BaseError

        try:
            yield obstore
        except FileNotFoundError as error:
            raise CrawlFolderError(f"{self.location.address(name)}: {_why(error, 'it is not there')}") from None
        except (BaseError, OSError, ValueError) as error:
            raise CrawlFolderError(f"{self.location.address(name)}: {_why(error)}") from None


def _opened(obstore: Any, location: StoreLocation) -> Any:
    url = urlsplit(location.url)
    if url.scheme == "file":
        return obstore.store.LocalStore(unquote(url.path), mkdir=True)
    account = AwsAccount.found(location.endpoint, location.region)
    client = _CLIENT | {"allow_http": account.endpoint.startswith("http:")}
    return obstore.store.S3Store(
        url.netloc, prefix=url.path.strip("/") or None, client_options=client, retry_config=_RETRY,
        **account.settings(),
    )  # fmt: skip


def _why(error: Exception, instead: str = "") -> str:
    """Return the message of a store in one short line without credentials."""
    text, _, details = str(error).partition("\n\nDebug source")
    code, message = _CODE.search(text), _MESSAGE.search(text)
    if code is not None:
        reason = f"{code[1]}: {message[1]}" if message is not None and message[1] else code[1]
    elif _NO_ROLE in text:
        reason = "no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
    elif "kind: Connect" in details:
        reason = "no connection to the object store"
    elif "TimedOut" in details or "kind: Timeout" in details:
        reason = "the object store did not answer in time"
    else:
        reason = instead or text.rpartition(" - ")[2].removeprefix("Server returned non-2xx status code: ")
    return plain(without_secrets(reason.strip().partition("\n")[0]), 200)


@dataclass(frozen=True)
class StoreSettings:
    """Where the files of the archive are stored. Credentials come from the environment or the files of AWS."""

    archive_to: str | None = setting(
        None,
        "Upload complete files to an object store, such as s3://bucket/prefix (extra: storage), or a folder such as "
        "file:///path. Each crawl needs its own prefix.",
        option="--archive-to", metavar="URL", group="Stored",
    )  # fmt: skip
    endpoint: str | None = setting(None, "Endpoint of an S3-compatible store; default: AWS_ENDPOINT_URL.")
    region: str | None = setting(None, "Its region; default: AWS_REGION.")
    drop_local: bool = setting(False, "Delete local files once their upload is confirmed; they are then read remotely.")
    max_file_mb: float = setting(1024.0, "A file of this size is complete, and a new one begins.", least=1e-6, most=1e6)

    def __post_init__(self) -> None:
        object.__setattr__(self, "archive_to", self.archive_to or None)
        check(self)
        self.location()

    @property
    def max_file_bytes(self) -> int:
        return max(1, int(self.max_file_mb * (1 << 20)))

    def expect_usable(self) -> None:
        """Raise MissingExtraError if the settings name an object store and obstore is not installed."""
        if self.archive_to is not None:
            expect_obstore(f"an archive at {plain(self.archive_to, 200)}")

    def location(self) -> StoreLocation | None:
        """Return the object store for complete files; None if files stay local."""
        return None if self.archive_to is None else parse_location(self.archive_to, self.endpoint, self.region)
