"""Real pages as a web: a folder or an archive (.tar, .tar.gz, .tar.zst) of files `<host>/<path>`, all in memory.

It responds like a file server: for a folder with its index.html; for a folder without trailing slash with a redirect to
the one with it; for the root of a host without an index with a redirect to the nearest index below; else with 404. A
path that is a file name only after percent-decoding redirects to it, so that each page has one URL. The content type
follows the suffix; a charset is only stated if given.

A fake web has no certificates, so by default `https` links between its hosts become `http`.
"""

from __future__ import annotations

import posixpath
import re
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import BinaryIO, cast
from urllib.parse import quote, unquote

from orienteer.errors import GraphFileError, InputError
from orienteer.files.compressed import byte_blocks
from tests.fake_web.fake_response import NOT_FOUND, FakeResponse, redirect_to
from tests.fake_web.site import RequestHeaders, SiteWithRobots

MAX_SITE_BYTES = 4 << 30
ARCHIVE_ENDINGS = (".tar", ".tar.gz", ".tgz", ".tar.zst")
_INDEX_NAMES = ("index.html", "index.htm")
_SAFE = "/%!$&'()*+,;=:@~"  # not percent-encoded in paths; % stays, since some archives contain encoded names
_MAX_LINKS_IN_A_ROW = 8  # chains of symbolic links in an archive

_TYPES = {
    "html": "text/html",
    "htm": "text/html",
    "xhtml": "application/xhtml+xml",
    "txt": "text/plain",
    "css": "text/css",
    "js": "text/javascript",
    "json": "application/json",
    "xml": "application/xml",
    "rss": "application/rss+xml",
    "atom": "application/atom+xml",
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "odt": "application/vnd.oasis.opendocument.text",
    "epub": "application/epub+zip",
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "svg": "image/svg+xml",
    "ico": "image/vnd.microsoft.icon",
    "gz": "application/gzip",
    "zip": "application/zip",
}


class PageSite(SiteWithRobots):
    """The files of a folder or an archive, by host and path."""

    def __init__(
        self,
        path: str | PathLike[str],
        charset: str | None = None,
        https_as_http: bool = True,
        robots: Mapping[str, str | bytes] | None = None,
    ) -> None:
        super().__init__(robots)
        self.charset = charset
        self._files: dict[str, bytes] = {}  # by "host/path", percent-encoded
        self._folders: set[str] = set()
        for name, data in _files_at(Path(path)):
            self._add(name, data)
        if not self._files:
            raise InputError(f"{path}: no pages in it; they are expected as <host>/<path>")
        if https_as_http:
            self._drop_tls()

    @property
    def hosts(self) -> list[str]:
        """Return the names of the hosts."""
        return list(dict.fromkeys(key.partition("/")[0] for key in self._files))

    def urls(self) -> list[str]:
        """Return the URL of every file by its name (an index file is also served at its folder)."""
        return ["http://" + key for key in self._files]

    def page_response(self, host: str, target: str, headers: RequestHeaders) -> FakeResponse:
        path, question_mark, query = target.partition("?")
        key = host + path
        found = self._file_name(key)
        if found is not None:
            return FakeResponse(self._files[found], content_type=self._type(found))
        canonical = quote(unquote(key), _SAFE)
        if canonical in self._files:
            return redirect_to(canonical.removeprefix(host))
        if key + "/" in self._folders:
            return redirect_to(f"{path}/{question_mark}{query}")
        if path == "/" and host in self._homes:
            return redirect_to(self._homes[host], 302)
        return NOT_FOUND

    @cached_property
    def _homes(self) -> dict[str, str]:
        """The path of the nearest index below the root of each host that has one."""
        homes: dict[str, str] = {}
        for key in sorted(self._files, key=lambda key: (key.count("/"), len(key)), reverse=True):
            host, _, path = key.partition("/")
            if path.rpartition("/")[2] in _INDEX_NAMES:
                homes[host] = "/" + path
        return homes

    def _file_name(self, key: str) -> str | None:
        names = [key + name for name in _INDEX_NAMES] if key.endswith("/") else [key]
        return next((name for name in names if name in self._files), None)

    def _add(self, name: str, data: bytes) -> None:
        host, slash, path = name.partition("/")
        if not slash or not path:
            return
        key = quote(f"{host.lower()}/{path}", _SAFE)
        self._files[key] = data
        while (key := key.rpartition("/")[0]) and key + "/" not in self._folders:
            self._folders.add(key + "/")

    def _type(self, key: str) -> str:
        ending = posixpath.splitext(key)[1].lower().removeprefix(".")
        kind = _TYPES.get(ending)
        if kind is None:  # clean URLs, and dots that begin no suffix: detect HTML by its content
            kind = "text/html" if self._files[key][:64].lstrip().startswith(b"<") else "application/octet-stream"
        return f"{kind}; charset={self.charset}" if self.charset and kind.startswith("text/") else kind

    def _drop_tls(self) -> None:
        names = b"|".join(re.escape(host.encode()) for host in self.hosts)
        own = re.compile(b"https(?=://(?:" + names + b")[/\"'#?\\s<>])")
        for key, data in self._files.items():
            if b"https://" in data and self._type(key).startswith(("text/", "application/x")):
                self._files[key] = own.sub(b"http", data)


def _files_at(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the name (with slashes) and the content of every file."""
    files: Iterable[tuple[str, bytes]]
    try:
        if path.is_dir():
            files = _files_in_folder(path)
        elif not path.exists():
            raise InputError(f"{path}: no such file or folder")
        elif path.name.lower().endswith(ARCHIVE_ENDINGS):
            files = _files_in_archive(path)
        else:
            raise InputError(f"{path}: neither a folder nor an archive ({', '.join(ARCHIVE_ENDINGS)})")
        n_bytes = 0
        for name, data in files:
            n_bytes += len(data)
            if n_bytes > MAX_SITE_BYTES:
                raise InputError(f"{path}: more than {MAX_SITE_BYTES >> 30} GiB of pages, the maximum in memory")
            yield name, data
    except (tarfile.TarError, GraphFileError) as error:
        raise InputError(f"{path}: {error}") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def _files_in_folder(folder: Path) -> Iterator[tuple[str, bytes]]:
    inside = folder.resolve()
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.resolve().is_relative_to(inside):
            yield file.relative_to(folder).as_posix(), file.read_bytes()


def _files_in_archive(path: Path) -> Iterator[tuple[str, bytes]]:
    contents: dict[str, bytes] = {}
    links: dict[str, str] = {}
    with (
        closing(byte_blocks(path)) as blocks,  # type: ignore[type-var]
        tarfile.open(fileobj=cast(BinaryIO, _PageStream(blocks)), mode="r|") as archive,
    ):
        for member in archive:
            name = posixpath.normpath(member.name)
            if member.isreg() and (file := archive.extractfile(member)) is not None:
                contents[name] = file.read()
                yield name, contents[name]
            elif member.issym():
                links[name] = posixpath.normpath(posixpath.join(posixpath.dirname(name), member.linkname))
            elif member.islnk():
                links[name] = posixpath.normpath(member.linkname)
    for name, linked in links.items():
        for _ in range(_MAX_LINKS_IN_A_ROW):
            linked = links.get(linked, linked)
        if linked in contents:
            yield name, contents[linked]


class _PageStream:
    """Blocks of bytes as a file object for tarfile."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._block = b""
        self._at = 0

    def read(self, size: int) -> bytes:
        if self._at == len(self._block):
            self._block, self._at = next(self._blocks, b""), 0
        piece = self._block[self._at : self._at + size]
        self._at += len(piece)
        return piece
