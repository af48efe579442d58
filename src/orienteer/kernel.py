"""Kernels: loops over arrays that Numba compiles, and that can run as plain Python until they are compiled.

Numba counts references to arrays with atomic instructions, also across functions that it inlines; in a loop that calls
such functions once per link the counting took two thirds of the time. A kernel that allocates nothing needs no
counting, so it is compiled without (`_nrt=False`): it takes all its arrays as arguments. Floating point stays strict,
because ties between priorities must come out the same everywhere.

Nothing is compiled, and Numba is not imported, before a kernel is called. Compiling everything that a crawl needs takes
many seconds where nothing is in the cache (`kernel_cache`). A crawl need not wait for that: while another process
compiles (`standing_in`), kernels run as plain Python, some hundred times slower and with the same results to the bit.
For that they fill arrays in loops (`a[:] = 0` would not do), and take no sums, logarithms and the like from NumPy,
which rounds them otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, cached_property, update_wrapper
from types import FunctionType
from typing import Any, Protocol, TypeVar, cast

import numpy as np

_Function = TypeVar("_Function", bound=Callable[..., Any])

_AT_FIRST_S = 1.0  # about as long as loading Numba and the kernels of a command takes
_MOST_PLAIN = 1 << 18  # entries in an array: from there on plain Python would take longer than the compiler


class Compiling(Protocol):
    """Somebody who compiles, such as a process."""

    def poll(self) -> Any:
        """None while it goes on."""

    def wait(self) -> Any:
        """Wait for its end."""


_elsewhere: Compiling | None = None
_plain_s = _AT_FIRST_S  # left to this process, of its CPU time


class Kernel:
    """A function that is compiled when it is first called. Other kernels may call it."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        update_wrapper(self, function)
        # Numba looks for these two where a kernel calls another one.
        self.py_func = function
        self.targetoptions = options

    def __call__(self, *arguments: Any) -> Any:
        if _elsewhere is not None and not self._is_ready and _is_plain_better(_elsewhere, arguments):
            with np.errstate(over="ignore"):  # hashes are meant to
                return _as_compiled(self.plain(*map(_as_plain, arguments)))
        return self.compiled(*arguments)

    @property
    def _is_ready(self) -> bool:
        """Whether it has run compiled in this process, and nobody else compiles it now."""
        return isinstance(_elsewhere, _Later) and "compiled" in vars(self) and bool(self.compiled.signatures)

    @property
    def _numba_type_(self) -> Any:
        """What Numba takes this for in the code of another kernel."""
        return self.compiled._numba_type_

    @cached_property
    def compiled(self) -> Any:
        """The compiler's object, which looks into the cache first. All that the function calls must be defined."""
        from numba import njit

        from orienteer.kernel_cache import cache_of

        _pass_over_linear_algebra()
        dispatcher = njit(nogil=True, **self.targetoptions)(self.py_func)
        if "no_cpython_wrapper" not in self.targetoptions:
            dispatcher._cache = cache_of(self.py_func, _called_by(self.py_func))
        return dispatcher

    @cached_property
    def plain(self) -> Callable[..., Any]:
        """The function as Python runs it, with those that it calls."""
        called = {name: value.plain for name, value in _globals_of(self.py_func).items() if isinstance(value, Kernel)}
        plain = FunctionType(self.py_func.__code__, self.py_func.__globals__ | called)
        plain.__defaults__ = self.py_func.__defaults__
        return plain


@cache
def _pass_over_linear_algebra() -> None:
    """Before its first kernel Numba imports scipy.linalg, only to see that it is there. That takes as long as importing
    Numba, and no kernel of ours needs it. Others may: where one is used, Numba looks for it again."""
    import numba.np.linalg

    with suppress(AttributeError):  # another version may look in another way
        ensure_blas = numba.np.linalg.ensure_blas
        numba.np.linalg.ensure_blas = lambda: None
        try:
            import numba.np.arraymath
        finally:
            numba.np.linalg.ensure_blas = ensure_blas


def kernel(function: Callable[..., Any]) -> Any:
    """A kernel that allocates nothing."""
    return Kernel(function, _nrt=False)


def inlined(function: Callable[..., Any]) -> Any:
    """The same, copied into the kernels that call it."""
    return Kernel(function, _nrt=False, inline="always")


def inner(function: Callable[..., Any]) -> Any:
    """The same, for what is called by other kernels only: it stands in their caches, and Python cannot call it."""
    return Kernel(function, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def allocating_kernel(function: _Function) -> _Function:
    """A kernel that makes arrays itself."""
    return cast(_Function, Kernel(function))


@contextmanager
def standing_in(compiling: Compiling) -> Iterator[None]:
    """Plain Python stands in for the compiled kernels until these are there."""
    global _elsewhere
    before, _elsewhere = _elsewhere, compiling
    try:
        yield
    finally:
        _elsewhere = before


@contextmanager
def plain_at_first() -> Iterator[None]:
    """Plain Python for some seconds, but for what is compiled already: what is small is done by then, and sooner than
    Numba is loaded. These are the seconds of all such blocks together: who does many small things loads it, too."""
    global _plain_s
    later = _Later(_plain_s)
    try:
        with standing_in(later):
            yield
    finally:
        _plain_s = later.left_s


class _Later:
    """Compiles nothing for some seconds, and then whatever is called; need not be waited for."""

    def __init__(self, left_s: float) -> None:
        self._until = time.process_time() + left_s

    @property
    def left_s(self) -> float:
        return max(0.0, self._until - time.process_time())

    def poll(self) -> bool | None:
        return None if self.left_s else True

    def wait(self) -> None:
        pass


def _is_plain_better(compiling: Compiling, arguments: tuple[Any, ...]) -> bool:
    """Whether to run a kernel as plain Python; where there is too much to do, the compiler is waited for."""
    global _elsewhere
    if compiling.poll() is None:
        if all(_size(argument) <= _MOST_PLAIN for argument in arguments):
            return True
        compiling.wait()
    _elsewhere = None
    return False


def _size(argument: Any) -> int:
    if isinstance(argument, tuple):
        return max(map(_size, argument), default=0)
    return argument.size if isinstance(argument, np.ndarray) else 0


def _as_plain(argument: Any) -> Any:
    """An argument with which Python counts as compiled code does.

    A memoryview holds Python's numbers: these do not overflow, as NumPy's of 32 bits would, where the compiler counts
    in 64, and are several times as fast. Records are read by name.
    """
    if isinstance(argument, np.ndarray):
        if argument.dtype.names is not None:
            return argument.view(np.recarray)
        return argument.data if argument.ndim == 1 else argument
    if isinstance(argument, tuple):
        parts = map(_as_plain, argument)
        return type(argument)(*parts) if hasattr(argument, "_fields") else tuple(parts)
    return argument


def _as_compiled(result: Any) -> Any:
    """A result with the types that compiled code returns."""
    if isinstance(result, tuple):
        return tuple(map(_as_compiled, result))
    return result.item() if isinstance(result, np.generic) else result


def _globals_of(function: Callable[..., Any]) -> dict[str, Any]:
    """What a function finds outside of itself, by name."""
    known = function.__globals__
    return {name: known[name] for name in function.__code__.co_names if name in known}


def _called_by(function: Callable[..., Any]) -> dict[Callable[..., Any], dict[str, Any]]:
    """A function and all that it calls, near or far, each with what it finds outside of itself."""
    found: dict[Callable[..., Any], dict[str, Any]] = {}
    waiting = [function]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found[one] = _globals_of(one)
            waiting += [value.py_func for value in found[one].values() if isinstance(value, Kernel)]
    return found
