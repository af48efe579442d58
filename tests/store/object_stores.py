"""An object store for tests: moto's S3 server behind a proxy that can refuse, truncate and count requests."""

from __future__ import annotations

import http.client
import importlib.util
import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

import pytest

BUCKET = "crawls"
SECRET = "a-secret-that-must-not-leak"
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "AKIAORIENTEERTEST",
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}
needs_store = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("obstore", "moto", "flask", "flask_cors")),
    reason="needs obstore and moto's server: pip install -e '.[dev]'",
)


class S3Server:
    """A store with one bucket.

    `is_open` False: it closes every connection; `is_silent`: it never answers; `cut_to`: the bytes passed on of a PUT.
    """

    def __init__(self, **environment: str) -> None:
        self._environment = dict(os.environ) | environment
        self.is_open, self.is_silent = True, False
        self.is_over = threading.Event()
        self.cut_to: int | None = None
        self.requests: list[str] = []  # method and path of each

    def __enter__(self) -> S3Server:
        import boto3

        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
        self._process = subprocess.Popen(
            command, env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self._process.stdout is not None
        found = next(filter(None, (re.search(r"127\.0\.0\.1:(\d+)", line) for line in self._process.stdout)))
        self.port = int(found[1])
        threading.Thread(target=self._process.stdout.read, daemon=True).start()  # or the pipe would fill up
        self._proxy = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._proxy.daemon_threads = True
        threading.Thread(target=self._proxy.serve_forever, daemon=True).start()
        self.endpoint = f"http://127.0.0.1:{self._proxy.server_address[1]}"
        self._client = boto3.client(
            "s3", endpoint_url=f"http://127.0.0.1:{self.port}", region_name="us-east-1",
            aws_access_key_id="x", aws_secret_access_key="y",
        )  # fmt: skip
        self._client.create_bucket(Bucket=BUCKET)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.is_over.set()
        self._client.close()
        self._proxy.shutdown()
        self._proxy.server_close()
        self._process.kill()
        self._process.communicate()

    def get(self, key: str) -> bytes:
        return bytes(self._client.get_object(Bucket=BUCKET, Key=key)["Body"].read())

    def put(self, key: str, content: bytes) -> None:
        self._client.put_object(Bucket=BUCKET, Key=key, Body=content)

    def delete(self, key: str) -> None:
        self._client.delete_object(Bucket=BUCKET, Key=key)

    def contents(self, prefix: str = "") -> dict[str, bytes]:
        """All objects, by key."""
        objects = self._client.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", [])
        return {entry["Key"]: self.get(entry["Key"]) for entry in objects}

    def count(self, method: str) -> int:
        """Return the number of requests with this method, without those of the methods above."""
        return sum(request.startswith(method) for request in self.requests)


def _handler(server: S3Server) -> type[BaseHTTPRequestHandler]:
    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            server.requests.append(f"{self.command} {self.path}")
            if server.is_silent:
                server.is_over.wait()
            if not server.is_open or server.is_silent:
                self.close_connection = True
                return
            headers = dict(self.headers)
            if self.command == "PUT" and server.cut_to is not None:
                body = body[: server.cut_to]
                headers["Content-Length"] = str(len(body))
            upstream = http.client.HTTPConnection("127.0.0.1", server.port)
            upstream.request(self.command, self.path, body or None, headers)
            response = upstream.getresponse()
            content = response.read()
            self.send_response_only(response.status, response.reason)
            for name, value in response.getheaders():
                if name.lower() not in ("transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)
            upstream.close()

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _forward

        def log_message(self, *_: Any) -> None:
            pass

    return Proxy
