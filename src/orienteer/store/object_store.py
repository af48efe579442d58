"""Objects in an S3-compatible store, or in a folder used as one. The only module that uses obstore.

    s3://bucket/prefix      at AWS, or at any S3-compatible endpoint
    file:///path            a folder, on a network drive for example

Every error is one line that names the object and contains no credentials (see `aws_account`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from orienteer.errors import CrawlFolderError, InputError, MissingExtraError
from orienteer.store.aws_account import AwsAccount, without_secrets
from orienteer.wording import plain

_SHA256 = "orienteer-sha256"  # of the whole object, in its metadata
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}")
_CLIENT = {"connect_timeout": "5s", "timeout": "300s"}
_RETRY = {"max_retries": 3, "retry_timeout": timedelta(seconds=60)}
_MAX_CONCURRENCY = 4
_BLOCK_BYTES = 4 << 20
_CODE, _MESSAGE = re.compile(r"<Code>([^<]*)</Code>"), re.compile(r"<Message>([^<]*)</Message>")
_NO_ROLE = "169.254."  # the link-local metadata service of cloud machines, in errors of a machine without a role


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
