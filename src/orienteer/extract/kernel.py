"""How the loops over bytes are compiled.

They allocate nothing, so Numba need not count references (`_nrt=False`), which took half of their time. They take pages
and texts in UTF-8, as arrays of bytes.
"""

from __future__ import annotations

from typing import Any

from numba import njit

_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": False}

kernel: Any = njit(**_OPTIONS)
