"""Objects in an S3-compatible store, or in a folder that stands in for one. The only place that uses obstore.

    s3://bucket/prefix      at AWS, or at any S3-compatible endpoint
    file:///path            a folder, on a network drive for example

Whatever goes wrong is one line that names the object, and never a credential (see `aws_account`).
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
_PARTS_AT_ONCE = 4
_BLOCK_BYTES = 4 << 20
_CODE, _MESSAGE = re.compile(r"<Code>([^<]*)</Code>"), re.compile(r"<Message>([^<]*)</Message>")
_NO_ROLE = "169.254."  # where a machine in a cloud is told its role


@dataclass(frozen=True)
class Place:
    """An object store, and a prefix in it; endpoint and region where settings name them."""

    url: str
    endpoint: str | None = None
    region: str | None = None

    def address(self, name: str) -> str:
        """Of an object, as messages name it."""
        return plain(f"{self.url}/{name}", 300)


class FoundObject(NamedTuple):
    """An object that is there; `sha256` is what its writer said of it, "" where nothing is said."""

    size_bytes: int
    e_tag: str
    sha256: str


def checked_place(url: str, endpoint: str | None = None, region: str | None = None) -> Place:
    """The place that settings name; one line where they name none.

    >>> checked_place("s3://bucket/a/b/").url
    's3://bucket/a/b'
    """
    if endpoint is not None and urlsplit(endpoint).scheme not in ("http", "https"):
        raise InputError(f"endpoint is {plain(endpoint, 200)}; write it like https://s3.example.org")
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    is_bucket = parts.scheme == "s3" and _BUCKET.fullmatch(parts.netloc) is not None
    is_folder = parts.scheme == "file" and not parts.netloc and parts.path.startswith("/") and parts.path != "/"
    is_odd = parts.query or parts.fragment or {"..", "."} & set(parts.path.split("/"))
    if not (is_bucket or is_folder) or is_odd or not url.isprintable():
        raise InputError(f"archive_to is {plain(url, 200)}; write it like s3://bucket/prefix or file:///path")
    return Place(url.rstrip("/"), endpoint, region)


def expect_obstore(doing: str) -> None:
    """Say in one line what is missing to keep an archive in an object store."""
    try:
        import obstore  # noqa: F401
    except ImportError:
        raise MissingExtraError(doing, "obstore", "storage") from None


class ObjectStore:
    """The objects at a place."""

    def __init__(self, place: Place) -> None:
        expect_obstore(f"an archive at {plain(place.url, 200)}")
        self.place = place
        self._is_s3 = place.url.startswith("s3:")
        with self._explained("") as obstore:
            self._store = _opened(obstore, place)

    def find(self, name: str) -> FoundObject | None:
        """What is there under this name."""
        with self._explained(name) as obstore:
            try:
                found = obstore.get(self._store, name, options={"head": True})
            except FileNotFoundError:
                return None
            said = found.attributes.get(_SHA256, "")
            return FoundObject(found.meta["size"], str(found.meta["e_tag"] or "").strip('"'), said)

    def read(self, name: str, start: int, stop: int) -> tuple[bytes, int]:
        """These bytes of an object, in one request, and the size of the whole object."""
        with self._explained(name) as obstore:
            found = obstore.get(self._store, name, options={"range": (start, stop)})
            return bytes(found.bytes()), found.meta["size"]

    def blocks(self, name: str) -> Iterator[bytes]:
        """A whole object, block by block."""
        with self._explained(name) as obstore:
            for block in obstore.get(self._store, name).stream(min_chunk_size=_BLOCK_BYTES):
                yield bytes(block)

    def write(self, name: str, path: Path, sha256: str, part_bytes: int) -> None:
        """The file becomes an object; it appears when it is complete."""
        more: dict[str, Any] = {"attributes": {_SHA256: sha256}} if self._is_s3 else {}
        with self._explained(name) as obstore:
            obstore.put(self._store, name, path, chunk_size=part_bytes, max_concurrency=_PARTS_AT_ONCE, **more)

    @contextmanager
    def _explained(self, name: str) -> Iterator[Any]:
        """Whatever the store refuses inside becomes one line."""
        import obstore
        from obstore.exceptions import BaseError

        try:
            yield obstore
        except FileNotFoundError as error:
            raise CrawlFolderError(f"{self.place.address(name)}: {_why(error, 'it is not there')}") from None
        except (BaseError, OSError, ValueError) as error:
            raise CrawlFolderError(f"{self.place.address(name)}: {_why(error)}") from None


def _opened(obstore: Any, place: Place) -> Any:
    parts = urlsplit(place.url)
    if parts.scheme == "file":
        return obstore.store.LocalStore(unquote(parts.path), mkdir=True)
    account = AwsAccount.found(place.endpoint, place.region)
    client = _CLIENT | {"allow_http": account.endpoint.startswith("http:")}
    return obstore.store.S3Store(
        parts.netloc, prefix=parts.path.strip("/") or None, client_options=client, retry_config=_RETRY,
        **account.settings(),
    )  # fmt: skip


def _why(error: Exception, instead: str = "") -> str:
    """What a store has said, in one short line without credentials."""
    text, _, details = str(error).partition("\n\nDebug source")
    code, message = _CODE.search(text), _MESSAGE.search(text)
    if code is not None:
        said = f"{code[1]}: {message[1]}" if message is not None and message[1] else code[1]
    elif _NO_ROLE in text:
        said = "no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
    elif "kind: Connect" in details:
        said = "no connection to the object store"
    elif "TimedOut" in details or "kind: Timeout" in details:
        said = "the object store did not answer in time"
    else:
        said = instead or text.rpartition(" - ")[2].removeprefix("Server returned non-2xx status code: ")
    return plain(without_secrets(said.strip().partition("\n")[0]), 200)
