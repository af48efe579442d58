"""Instantaneous codes: the integers in the bit stream of a BV graph.

Each code is a prefix code of the integers n >= 0.

    unary      n zeros and a one
    gamma      the number of bits of n + 1 after its highest one, in unary; then those bits
    delta      the same, with that number in gamma
    zeta k     h in unary, where n + 1 has from hk to hk + k - 1 bits after its highest one; then a minimal binary code
               among the numbers of these lengths
    pi k       like gamma, with the number of bits split: its high bits in unary, its last k in binary
    golomb k   n // k in unary, n % k in minimal binary
    nibble     n in octal, four bits a digit: a bit that is 1 for the last digit only, and the digit

The minimal binary code of n < b has floor(log2 b) bits for the first numbers, and one bit more for the others.

Zeta: Boldi & Vigna, "Codes for the World Wide Web", Internet Mathematics 2 (2005). Pi: Apostolico & Drovandi, "Graph
Compression by BFS", Algorithms 2 (2009), in the form that WebGraph's Rust version writes.

Bits are stored in words, the first bit highest. WebGraph can also fill its bytes from the lowest bit up
(`endianness=little`): such bytes are mirrored on load, so that counting zeros works the same way, and only fields of
several bits have to be reversed.

Invariant: a function takes a position within the stream, reads at most into the padding that follows it, and returns
(number, position after it) or a negative number, ENDED or TOO_LARGE, which its caller returns as well.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from orienteer.kernel import allocating_kernel

ENDED = -1
TOO_LARGE = -2

# Numba adds a parameter to the decorated function, which mypy cannot infer.
_intrinsic: Any = intrinsic

# The longest field of bits. Page ids have 32 bits, so longer ones are corrupt.
_MOST_BITS = 60

# A window may begin at the end of the stream, and spans two words.
_PADDING_WORDS = 2
_BLOCK_BYTES = 1 << 24
_MIRRORED_BYTES = np.packbits(np.unpackbits(np.arange(256, dtype=np.uint8)).reshape(256, 8)[:, ::-1])

UNARY, GAMMA, DELTA, ZETA, PI, GOLOMB, NIBBLE = range(7)
_KINDS = {"UNARY": UNARY, "GAMMA": GAMMA, "DELTA": DELTA, "ZETA": ZETA, "PI": PI, "GOLOMB": GOLOMB, "NIBBLE": NIBBLE}


class BitCode(NamedTuple):
    kind: int
    k: int


class Bits(NamedTuple):
    """A bit stream in memory."""

    words: NDArray[np.uint64]
    n_bits: int
    mirrored: bool


class Stream(NamedTuple):
    """The bit stream as an address, for kernels, which are twice as fast without counting references to an array."""

    address: Any
    n_bits: int
    mirrored: bool


def code_named(name: str, default_k: int) -> BitCode | None:
    """Return the code of a flag such as GAMMA, ZETA, ZETA5 or PI2; `default_k` applies to names without a number."""
    match = re.fullmatch(r"(UNARY|GAMMA|DELTA|GOLOMB|NIBBLE|ZETA)|(ZETA|PI)([1-9])", name)
    if match is None:
        return None
    return BitCode(_KINDS[match[1] or match[2]], int(match[3] or default_k))


def load_bits(path: Path, mirrored: bool) -> Bits:
    size_bytes = path.stat().st_size
    words = np.zeros(-(-size_bytes // 8) + _PADDING_WORDS, np.uint64)
    n_bytes = 0
    with path.open("rb") as file:
        while block := file.read(min(_BLOCK_BYTES, size_bytes - n_bytes)):
            data = np.frombuffer(block + bytes(-len(block) % 8), np.uint8)
            data = _MIRRORED_BYTES[data] if mirrored else data
            words[n_bytes // 8 : (n_bytes + len(data)) // 8] = data.view(">u8")
            n_bytes += len(block)
    return Bits(words, 8 * n_bytes, mirrored)


@_intrinsic
def _count_zeros(typing_context: Any, word: Any) -> Any:
    """Count the zeros before the highest one of a word; 64 if the word is 0."""

    def instruction(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], context.get_constant(types.boolean, False))

    return types.int64(types.uint64), instruction


@_intrinsic
def _reversed_bits(typing_context: Any, word: Any) -> Any:
    """Reverse the bits of a word."""

    def instruction(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitreverse(arguments[0])

    return types.uint64(types.uint64), instruction


@_intrinsic
def _word_at(typing_context: Any, address: Any) -> Any:
    def instruction(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = context.get_value_type(types.uint64).as_pointer()
        return builder.load(builder.inttoptr(arguments[0], pointer))

    return types.uint64(types.int64), instruction


@allocating_kernel
def stream_of(bits: Any) -> Any:
    """Return the stream of these bits, valid as long as their array."""
    return Stream(np.int64(bits.words.ctypes.data), bits.n_bits, bits.mirrored)


@allocating_kernel
def _window(stream: Any, position: int) -> Any:
    """Return the 64 bits from a position on."""
    address = stream.address + 8 * (position >> 6)
    shift = np.uint64(position & 63)
    # In two steps, because a shift by 64 is undefined.
    ahead = _word_at(address + 8) >> np.uint64(1) >> (np.uint64(63) - shift)
    return _word_at(address) << shift | ahead


@allocating_kernel
def _field(stream: Any, window: Any, n: int) -> Any:
    """Return the first n < 64 bits of a window as a number."""
    if stream.mirrored:
        return np.int64(_reversed_bits(window) & ((np.uint64(1) << np.uint64(n)) - np.uint64(1)))
    return np.int64(window >> np.uint64(1) >> np.uint64(63 - n))


@allocating_kernel
def _unary(stream: Any, position: int) -> tuple[int, int]:
    start = position
    zeros = _count_zeros(_window(stream, position))
    while zeros == 64:
        position += 64
        if position > stream.n_bits:
            return ENDED, position
        zeros = _count_zeros(_window(stream, position))
    position += zeros + 1
    if position > stream.n_bits:
        return ENDED, position
    return position - start - 1, position


@allocating_kernel
def _binary(stream: Any, position: int, n: int) -> tuple[int, int]:
    if n > _MOST_BITS:
        return TOO_LARGE, position
    if position + n > stream.n_bits:
        return ENDED, position
    return _field(stream, _window(stream, position), n), position + n


@allocating_kernel
def _minimal_binary(stream: Any, position: int, bound: int) -> tuple[int, int]:
    n = 63 - _count_zeros(np.uint64(bound))
    n_short = (2 << n) - bound
    number, position = _binary(stream, position, n)
    if number < n_short:  # or negative
        return number, position
    bit, position = _binary(stream, position, 1)
    if bit < 0:
        return bit, position
    return 2 * number + bit - n_short, position


@allocating_kernel
def _after_highest_one(stream: Any, position: int, n: int) -> tuple[int, int]:
    """Read the n bits of number + 1 after its highest one; a negative n is returned as is."""
    if n < 0:
        return n, position
    rest, position = _binary(stream, position, n)
    if rest < 0:
        return rest, position
    return (1 << n) + rest - 1, position


@allocating_kernel
def _gamma(stream: Any, position: int) -> tuple[int, int]:
    n, position = _unary(stream, position)
    return _after_highest_one(stream, position, n)


@allocating_kernel
def _delta(stream: Any, position: int) -> tuple[int, int]:
    n, position = _gamma(stream, position)
    return _after_highest_one(stream, position, n)


@allocating_kernel
def _zeta(stream: Any, position: int, k: int) -> tuple[int, int]:
    h, position = _unary(stream, position)
    if h < 0:
        return h, position
    if h > _MOST_BITS or (h + 1) * k > _MOST_BITS:
        return TOO_LARGE, position
    low = 1 << (h * k)
    rest, position = _minimal_binary(stream, position, (low << k) - low)
    if rest < 0:
        return rest, position
    return low + rest - 1, position


@allocating_kernel
def _pi(stream: Any, position: int, k: int) -> tuple[int, int]:
    high, position = _unary(stream, position)
    if high < 0:
        return high, position
    low, position = _binary(stream, position, k)
    if low < 0:
        return low, position
    return _after_highest_one(stream, position, (high << k) + low)


@allocating_kernel
def _golomb(stream: Any, position: int, k: int) -> tuple[int, int]:
    quotient, position = _unary(stream, position)
    if quotient < 0:
        return quotient, position
    if quotient > (1 << _MOST_BITS) // k:
        return TOO_LARGE, position
    rest, position = _minimal_binary(stream, position, k)
    if rest < 0:
        return rest, position
    return quotient * k + rest, position


@allocating_kernel
def _nibble(stream: Any, position: int) -> tuple[int, int]:
    number = 0
    for _ in range(_MOST_BITS // 3):
        last, position = _binary(stream, position, 1)
        if last < 0:
            return last, position
        digit, position = _binary(stream, position, 3)
        if digit < 0:
            return digit, position
        number = 8 * number + digit
        if last == 1:
            return number, position
    return TOO_LARGE, position


@allocating_kernel
def read_any_number(stream: Any, code: Any, position: int) -> tuple[int, int]:
    """Read like `read_number`, in any code and for numbers of any length."""
    if code.kind == UNARY:
        return _unary(stream, position)
    if code.kind == GAMMA:
        return _gamma(stream, position)
    if code.kind == DELTA:
        return _delta(stream, position)
    if code.kind == ZETA:
        return _zeta(stream, position, code.k)
    if code.kind == PI:
        return _pi(stream, position, code.k)
    if code.kind == GOLOMB:
        return _golomb(stream, position, code.k)
    return _nibble(stream, position)


@allocating_kernel
def read_number(stream: Any, code: Any, position: int) -> tuple[int, int]:
    """Read the number at a position; return it and the position of the next one.

    Fast path: a number in one of the default codes mostly fits into one window.
    """
    window = _window(stream, position)
    zeros = _count_zeros(window)
    rest = window << np.uint64(zeros + 1)
    if code.kind == GAMMA and zeros < 32:
        number = (1 << zeros) + _field(stream, rest, zeros) - 1
        position += 2 * zeros + 1
    elif code.kind == ZETA and (zeros + 1) * (code.k + 1) < 64:
        n = (zeros + 1) * code.k - 1
        low = 1 << (zeros * code.k)
        number = _field(stream, rest, n)
        position += zeros + 1 + n
        if number < low:
            number += low - 1
        else:
            number = 2 * number + np.int64(rest >> np.uint64(63 - n) & np.uint64(1)) - 1
            position += 1
    elif code.kind == UNARY and zeros < 64:
        number = zeros
        position += zeros + 1
    else:
        return read_any_number(stream, code, position)
    if position > stream.n_bits:
        return ENDED, position
    return number, position
