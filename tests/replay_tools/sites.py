"""Sites with assets: pages of real manuals, and a page with every kind of asset."""

from __future__ import annotations

import mimetypes
import struct
import zlib
from pathlib import Path

from tests.fake_web.fake_response import FakeResponse

HOME = "http://made.test/"
ASKED_BY_SCRIPT = "http://made.test/api/items.json?of=reeds"
N_REAL = 4

_FOLDERS = {"faq.test": "usr/share/doc/debian/FAQ", "click.test": "usr/share/doc/python-click-doc/html"}
_PAGE = """<!doctype html><title>Made</title><link rel=stylesheet href="/style.css?v=2&amp;a=1">
<script src=/words.js></script><script defer src=/main.js></script>
<h1>Made</h1><p id=said></p><img src=/a.png srcset="/a.png 1x, /b.png 2x"><img src=/copy.png>
<img src=http://pictures.test/far.png><svg><image href=/drawn.png width=9 height=9></image></svg>
<iframe src=/frame/></iframe><div class=with-picture>x</div><a href=/frame/>frame</a>"""
_MAIN = """fetch("/api/items.json?of=" + word).then(answer => answer.json()).then(items => {
  document.getElementById("said").textContent = items.join(" and ");
});"""


def png(red: int) -> bytes:
    """Return an image of one pixel that a browser can render."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    dot = zlib.compress(bytes((0, red, 0, 0)))
    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", dot) + chunk(b"IEND", b"")


def made_site() -> dict[str, FakeResponse]:
    """A page with scripts and styles; `copy.png` equals `a.png`, and one image is on another host."""
    css, script, image = "text/css", "text/javascript", "image/png"
    return {
        HOME: FakeResponse(_PAGE),
        "http://made.test/frame/": FakeResponse(
            "<title>Frame</title><link rel=stylesheet href=frame.css><p>In a frame."
        ),
        "http://made.test/frame/frame.css": FakeResponse("p { color: green }", content_type=css),
        "http://made.test/style.css?v=2&a=1": FakeResponse(
            '@import "more.css"; .with-picture { background: url(b.png) }', content_type=css, gzip=True
        ),
        "http://made.test/more.css": FakeResponse("h1 { color: rgb(1, 2, 3) }", content_type=css),
        "http://made.test/main.js": FakeResponse(_MAIN, content_type=script, gzip=True),
        "http://made.test/words.js": FakeResponse(
            'var word = "reeds"; document.title += " by scripts";', content_type=script
        ),
        ASKED_BY_SCRIPT: FakeResponse('["bulrush", "sedge"]', content_type="application/json"),
        "http://made.test/a.png": FakeResponse(png(10), content_type=image),
        "http://made.test/b.png": FakeResponse(png(20), content_type=image),
        "http://made.test/copy.png": FakeResponse(png(10), content_type=image),
        "http://made.test/drawn.png": FakeResponse(png(30), content_type=image),
        "http://pictures.test/far.png": FakeResponse(png(40), content_type=image),
    }


def real_site(root: Path) -> tuple[dict[str, FakeResponse], list[str]]:
    """The files of two manuals, of which `N_REAL` are pages: the largest ones of each, sorted by name.

    The second value are their URLs.
    """
    answers: dict[str, FakeResponse] = {}
    pages: list[str] = []
    for host, folder in _FOLDERS.items():
        files = {path.relative_to(root / folder).as_posix(): path for path in (root / folder).rglob("*.*")}
        whole = {name: path.read_bytes() for name, path in sorted(files.items()) if path.is_file()}
        html = [name for name in whole if name.endswith(".html") and not files[name].is_symlink()]
        chosen = sorted(sorted(html, key=lambda name: len(whole[name]))[-N_REAL // 2 :])
        pages += [f"http://{host}/{name}" for name in chosen]
        for name, body in whole.items():
            if name in chosen or not name.endswith(".html"):
                kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
                answers[f"http://{host}/{name}"] = FakeResponse(body, content_type=kind)
    return answers, pages
