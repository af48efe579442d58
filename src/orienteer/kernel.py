"""How kernels that call each other are compiled.

Numba counts references to arrays with atomic instructions, also across functions that it inlines; in a loop that calls
such functions once per link the counting took two thirds of the time. A kernel that allocates nothing needs no
counting, so it is compiled without (`_nrt=False`): it takes all its arrays as arguments. Floating point stays strict,
because ties between priorities must come out the same everywhere.

Numba's cache does not notice a change in a function that a kernel takes from another module: after editing one, delete
the `__pycache__` folders.
"""

from __future__ import annotations

from typing import Any

from numba import njit

_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": False}

kernel: Any = njit(**_OPTIONS)
inlined: Any = njit(**_OPTIONS, inline="always")

# For what is called by other kernels only, in numbers: it stands in their caches, and Python cannot call it.
_INNER: dict[str, Any] = {"nogil": True, "_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
inner: Any = njit(**_INNER)
