from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from orienteer.crawl.seen import siphash128
from tests.tables import over_rows


def hashed(key: bytes, message: bytes, before: bytes = b"", after: bytes = b"") -> bytes:
    text = np.frombuffer(before + message + after, np.uint8)
    halves = siphash128(np.array(np.frombuffer(key, "<u8")), text, len(before), len(before) + len(message))
    return b"".join(int(half).to_bytes(8, "little") for half in halves)


def plain_siphash128(key: bytes, message: bytes) -> bytes:
    """As the paper's figure has it, on Python's whole numbers."""
    k0, k1 = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D ^ 0xEE, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def half_round(a: int, b: int, c: int, d: int, s: int, t: int) -> None:
        v[a], v[c] = (v[a] + v[b]) % 2**64, (v[c] + v[d]) % 2**64
        v[b], v[d] = rotated(v[b], s) ^ v[a], rotated(v[d], t) ^ v[c]
        v[a] = rotated(v[a], 32)

    def rotated(x: int, n: int) -> int:
        return (x << n | x >> (64 - n)) % 2**64

    def rounds(n: int) -> int:
        for _ in range(n):
            half_round(0, 1, 2, 3, 13, 16)
            half_round(2, 1, 0, 3, 17, 21)
        return v[0] ^ v[1] ^ v[2] ^ v[3]

    padded = message + bytes(7 - len(message) % 8) + bytes([len(message) % 256])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at : at + 8], "little")
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xEE
    low = rounds(4)
    v[1] ^= 0xDD
    return low.to_bytes(8, "little") + rounds(4).to_bytes(8, "little")


@over_rows(
    ("n_bytes", "expected"),
    [
        (0, "a3817f04ba25a8e66df67214c7550293"),
        (1, "da87c1d86b99af44347659119b22fc45"),
        (2, "8177228da4a45dc7fca38bdef60affe4"),
        (3, "9c70b60c5267a94e5f33b6b02985ed51"),
        (8, "3b62a9ba6258f5610f83e264f31497b4"),
        (15, "5493e99933b0a8117e08ec0f97cfc3d9"),
        (63, "5150d1772f50834a503e069a973fbd7c"),
    ],
)
def test_the_published_vectors(n_bytes: int, expected: str) -> None:
    """From the authors' `vectors.h`: the key is 00 01 ... 0f, the message 00 01 02 ..."""
    assert hashed(bytes(range(16)), bytes(range(n_bytes))).hex() == expected
    assert plain_siphash128(bytes(range(16)), bytes(range(n_bytes))).hex() == expected


@given(
    st.binary(min_size=16, max_size=16), st.binary(max_size=300), st.binary(max_size=9), st.binary(max_size=9)
)  # fmt: skip
def test_any_span_of_a_text(key: bytes, message: bytes, before: bytes, after: bytes) -> None:
    assert hashed(key, message, before, after) == plain_siphash128(key, message)
