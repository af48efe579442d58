"""Archives written by hand: pages with their assets, at given times, in a crawl folder."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

from orienteer.store.folder import CrawlFolder
from orienteer.store.record import ArchivedResponse, EarlierRecord, resource_record

SETTINGS = '[crawl]\nseeds = ["http://a.org/"]\n'
T = 1_700_000_000.0
DAY = 86_400.0


class CapturedCrawl:
    """A crawl folder whose archive grows; nothing counts before `acknowledge`."""

    def __init__(self, path: Path, max_file_bytes: int = 1 << 30) -> None:
        self.path = path
        self.folder = CrawlFolder.open(path) if (path / "crawl.db").exists() else CrawlFolder.create(path, SETTINGS)
        self.folder.archive.max_file_bytes = max_file_bytes

    def __enter__(self) -> CapturedCrawl:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.acknowledge()
        self.folder.close()

    def acknowledge(self) -> None:
        self.folder.acknowledge()

    def put(
        self, url: str, time: float, body: bytes | str, kind: str = "text/html; charset=utf-8", status: str = "200 OK",
        more: str = "",
    ) -> None:  # fmt: skip
        head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{more}\r\n".encode()
        content = body.encode() if isinstance(body, str) else body
        self.folder.archive.append(ArchivedResponse(url, time, head, content))

    def unchanged(self, url: str, time: float, since: float) -> None:
        head = b"HTTP/1.1 304 Not Modified\r\n\r\n"
        self.folder.archive.append_revisit(ArchivedResponse(url, time, head, b""), EarlierRecord(url, since), True)

    def dom(self, url: str, time: float, html: str) -> None:
        self._made(f"urn:dom:{url}", time, "text/html; charset=utf-8", html.encode())

    def view(self, url: str, time: float, picture: bytes, kind: str = "image/png") -> None:
        self._made(f"urn:view:{url}", time, kind, picture)

    def _made(self, uri: str, time: float, kind: str, body: bytes) -> None:
        more = self.folder.archive.record_headers()
        self.folder.archive.append_member(resource_record(uri, time, kind, body, uri.split(":", 2)[2], more))


def png(width: int, height: int, colour: tuple[int, int, int]) -> bytes:
    """A picture of one colour."""
    rows = b"".join(b"\0" + bytes(colour) * width for _ in range(height))

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
