"""Files that are not HTML: a PDF and pictures, minimal but valid."""

from __future__ import annotations

import random
import struct
import zlib

from orienteer.fake_web.fake_response import FakeResponse

_WIDTH, _HEIGHT = 320, 180
_SKIES = ((186, 214, 235), (240, 205, 170), (205, 210, 216), (150, 180, 215))
_HILLS = ((86, 122, 80), (120, 112, 82), (70, 100, 96), (143, 128, 100))
_SEAS = ((74, 112, 139), (58, 92, 104), (104, 132, 142), (64, 84, 120))


def pdf(text: str) -> FakeResponse:
    """Return a PDF with one line of text."""
    line = text.replace("\\", "").replace("(", "[").replace(")", "]")
    drawn = f"BT /F1 14 Tf 60 760 Td ({line}) Tj ET".encode("latin-1", "replace")
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%b\nendstream" % (len(drawn), drawn),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj%b\nendobj\n" % (number, content)
    table = b"".join([b"%010d 00000 n \n" % place for place in places])
    end = b"xref\n0 6\n0000000000 65535 f \n%btrailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n"
    return FakeResponse(out + end % (table, len(out)), content_type="application/pdf")


def picture(rng: int, name: str) -> FakeResponse:
    """Return a PNG of hills, sea and sky, determined by its name."""
    draw = random.Random(f"{rng}/{name}")
    sky, hill, sea = (draw.choice(colours) for colours in (_SKIES, _HILLS, _SEAS))
    horizon, peak = draw.randrange(60, 110), draw.randrange(40, _WIDTH - 40)
    rows = []
    for y in range(_HEIGHT):
        half = max(0, (y - horizon + 50) * 3)
        left, right = max(0, peak - half), min(_WIDTH, peak + half)
        land = bytes(sky) * left + bytes(hill) * (right - left) + bytes(sky) * (_WIDTH - right)
        rows.append(b"\0" + (land if y < horizon else bytes(sea) * _WIDTH))
    head = struct.pack(">2I5B", _WIDTH, _HEIGHT, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(b"".join(rows), 9)), (b"IEND", b""))
    body = b"".join([_chunk(kind, data) for kind, data in chunks])
    return FakeResponse(b"\x89PNG\r\n\x1a\n" + body, content_type="image/png")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
