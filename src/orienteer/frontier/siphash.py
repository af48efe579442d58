"""SipHash-2-4 with 128 bits (Aumasson & Bernstein 2012): without the key, collisions cannot be constructed."""

from __future__ import annotations

from typing import Any

import numpy as np

from orienteer.kernel import inlined, kernel

_U = np.uint64


@inlined
def _rotated(x: Any, n_bits: int) -> Any:
    return (x << _U(n_bits)) | (x >> _U(64 - n_bits))


@inlined
def _round(v0: Any, v1: Any, v2: Any, v3: Any) -> Any:
    v0 += v1
    v2 += v3
    v1 = _rotated(v1, 13) ^ v0
    v3 = _rotated(v3, 16) ^ v2
    v0 = _rotated(v0, 32)
    v2 += v1
    v0 += v3
    v1 = _rotated(v1, 17) ^ v2
    v3 = _rotated(v3, 21) ^ v0
    v2 = _rotated(v2, 32)
    return v0, v1, v2, v3


@inlined
def _eight_bytes(text: Any, at: int) -> Any:
    word = _U(0)
    for k in range(8):
        word |= _U(text[at + k]) << _U(8 * k)
    return word


@kernel
def siphash128(key: Any, text: Any, start: int, end: int) -> Any:
    """The hash of the bytes `text[start:end]` as two uint64, the low half first; `key` is two uint64 as well."""
    v0, v1 = key[0] ^ _U(0x736F6D6570736575), key[1] ^ _U(0x646F72616E646F6D ^ 0xEE)
    v2, v3 = key[0] ^ _U(0x6C7967656E657261), key[1] ^ _U(0x7465646279746573)
    whole = end - (end - start) % 8
    for at in range(start, whole, 8):
        word = _eight_bytes(text, at)
        v3 ^= word
        for _ in range(2):
            v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        v0 ^= word
    word = _U(end - start) << _U(56)
    for at in range(whole, end):
        word |= _U(text[at]) << _U(8 * (at - whole))
    v3 ^= word
    for _ in range(2):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0 ^= word
    v2 ^= _U(0xEE)
    for _ in range(4):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    low = v0 ^ v1 ^ v2 ^ v3
    v1 ^= _U(0xDD)
    for _ in range(4):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return low, v0 ^ v1 ^ v2 ^ v3
