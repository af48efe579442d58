"""Collections made for tests: WARC records with dates, revisits, resources; WACZ and WAT files."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HTML = "Content-Type: text/html"


def digest(body: bytes) -> str:
    return "sha1:" + base64.b32encode(hashlib.sha1(body).digest()).decode()


def record(kind: str, url: str, block: bytes, date: str = "2024-05-01T00:00:00Z", **more: str) -> bytes:
    """Return a record; additional headers are arguments with _ for -: `WARC_Profile=...`."""
    headers = {"WARC-Type": kind, "WARC-Target-URI": url, "WARC-Date": date}
    headers |= {name.replace("_", "-"): value for name, value in more.items()} | {"Content-Length": str(len(block))}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"WARC/1.1\r\n{head}\r\n".encode() + block + b"\r\n\r\n"


def response(
    url: str,
    body: str | bytes = b"",
    *headers: str,
    status: str = "200 OK",
    date: str = "2024-05-01T00:00:00Z",
    **more: str,
) -> bytes:
    content = body.encode() if isinstance(body, str) else body
    head = "".join(f"{line}\r\n" for line in (headers or (HTML,)))
    block = f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + content
    return record("response", url, block, date, **{"WARC_Payload_Digest": digest(content), **more})


def write(path: Path, records: Iterable[bytes]) -> Path:
    """Write a file of records; each is compressed if the name ends in .gz."""
    packed = [gzip.compress(one) if path.suffix == ".gz" else one for one in records]
    path.write_bytes(b"".join(packed))
    return path


def write_wacz(path: Path, files: dict[str, bytes], stored: bool = True) -> Path:
    kind = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(path, "w", kind) as zipped:
        for name, content in files.items():
            zipped.writestr(name, content)
    return path


def wat(url: str, links: list[str | dict[str, str]], title: str = "", **more: Any) -> bytes:
    """Return a WAT record in the form of Common Crawl; `more` are `head`, `status`, `headers`, `digest`."""
    found = [link if isinstance(link, dict) else {"path": "A@/href", "url": link} for link in links]
    html = {"Head": {"Title": title} | more.get("head", {}), "Links": found}
    about = {"WARC-Type": "response", "WARC-Target-URI": url, "WARC-Date": "2024-05-01T00:00:00Z"}
    if "digest" in more:
        about["WARC-Payload-Digest"] = more["digest"]
    http = {
        "Response-Message": {"Status": more.get("status", "200"), "Version": "HTTP/1.1", "Reason": "OK"},
        "Headers": {"Content-Type": "text/html", **more.get("headers", {})},
        "HTML-Metadata": html,
    }
    envelope = {"WARC-Header-Metadata": about, "Payload-Metadata": {"HTTP-Response-Metadata": http}}
    return record("metadata", url, json.dumps({"Envelope": envelope}).encode())
