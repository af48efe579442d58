"""Kernels: loops over arrays that Numba compiles, and that can run as plain Python until they are compiled.

Numba counts references to arrays with atomic instructions, also across functions that it inlines; in a loop that calls
such functions once per link the counting took two thirds of the time. A kernel that allocates nothing needs no
counting, so it is compiled without (`_nrt=False`): it takes all its arrays as arguments. Floating point stays strict,
because ties between priorities must be resolved in the same way on every machine.

Nothing is compiled, and Numba is not imported, before a kernel is called. Compiling all kernels of a crawl takes many
seconds with an empty cache (`kernel_cache`). A crawl need not wait for that: while another process compiles
(`substituted`), kernels run as plain Python, some hundred times slower and with the same results to the bit. Therefore
they fill arrays in loops (`a[:] = 0` does not work there), and use no sums, logarithms and the like of NumPy, which
rounds them differently. For large arrays the caller waits for the compiler, unless it must not block (`never_waiting`):
an event loop with requests in flight.
"""

from __future__ import annotations

import threading
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
    """A compilation in progress, such as a process."""

    def poll(self) -> Any:
        """Return None while it is running."""

    def wait(self) -> Any:
        """Wait for its end."""


class NotCompiled(Exception):
    """A kernel that is not in the cache was called while nothing may be compiled."""


class _ThreadState(threading.local):
    is_only_loading = False
    compiles = False


_compiling: Compiling | None = None
_never_waiting: list[None] = []  # an entry for each block of `never_waiting`: those of threads may overlap
_thread = _ThreadState()
_plain_s = _AT_FIRST_S  # left to this process, of its CPU time


class Kernel:
    """A function that is compiled when it is first called. Other kernels may call it."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        update_wrapper(self, function)
        # Numba looks for these two where a kernel calls another one.
        self.py_func = function
        self.targetoptions = options

    def __call__(self, *arguments: Any) -> Any:
        if _compiling is None:
            return self.compiled(*arguments)
        compiling = None if _thread.is_only_loading or _thread.compiles else _compiling
        if compiling is not None and not self._is_ready and _is_plain_better(compiling, arguments):
            with np.errstate(over="ignore"):  # hashes are meant to
                return _as_compiled(self.plain(*map(_as_plain, arguments)))
        return self.compiled(*arguments)

    @property
    def _is_ready(self) -> bool:
        """Whether it has run compiled in this process, and no other process is compiling."""
        return isinstance(_compiling, _Later) and "compiled" in vars(self) and bool(self.compiled.signatures)

    @property
    def _numba_type_(self) -> Any:
        """The Numba type of the kernel in the code of another kernel."""
        return self.compiled._numba_type_

    @cached_property
    def compiled(self) -> Any:
        """The Numba dispatcher, which tries the cache first. All functions that it calls must be defined by now."""
        from numba import njit

        from orienteer.kernel_cache import cache_of

        _skip_scipy_linalg()
        dispatcher = njit(nogil=True, **self.targetoptions)(self.py_func)
        if "no_cpython_wrapper" not in self.targetoptions:
            dispatcher._cache = cache_of(self.py_func, _called_by(self.py_func))
        return dispatcher

    @cached_property
    def plain(self) -> Callable[..., Any]:
        """The function in plain Python, with those that it calls."""
        called = {name: value.plain for name, value in _globals_of(self.py_func).items() if isinstance(value, Kernel)}
        plain = FunctionType(self.py_func.__code__, self.py_func.__globals__ | called)
        plain.__defaults__ = self.py_func.__defaults__
        return plain


@cache
def _skip_scipy_linalg() -> None:
    """Skip Numba's import of scipy.linalg, by which it tests for BLAS before its first kernel.

    It takes as long as importing Numba, and our kernels do not need it. Where another kernel does, Numba tests again.
    """
    import numba.np.linalg

    with suppress(AttributeError):  # another version may test in another way
        ensure_blas = numba.np.linalg.ensure_blas
        numba.np.linalg.ensure_blas = lambda: None
        try:
            import numba.np.arraymath
        finally:
            numba.np.linalg.ensure_blas = ensure_blas


def kernel(function: Callable[..., Any]) -> Any:
    """Declare a kernel that allocates nothing."""
    return Kernel(function, _nrt=False)


def inlined(function: Callable[..., Any]) -> Any:
    """Declare the same, inlined into the kernels that call it."""
    return Kernel(function, _nrt=False, inline="always")


def inner(function: Callable[..., Any]) -> Any:
    """Declare the same, only for calls by other kernels: it is cached with them, and Python cannot call it."""
    return Kernel(function, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def allocating_kernel(function: _Function) -> _Function:
    """Declare a kernel that allocates arrays."""
    return cast(_Function, Kernel(function))


@contextmanager
def substituted(compiling: Compiling) -> Iterator[None]:
    """Run kernels as plain Python until they are compiled."""
    global _compiling
    before, _compiling = _compiling, compiling
    try:
        yield
    finally:
        _compiling = before


@contextmanager
def never_waiting() -> Iterator[None]:
    """Run kernels as plain Python until they are compiled, even for large arrays."""
    _never_waiting.append(None)
    try:
        yield
    finally:
        _never_waiting.pop()


def runs_plain() -> bool:
    """Whether kernels run as plain Python now, since they are being compiled."""
    return _compiling is not None and _compiling.poll() is None


@contextmanager
def only_loading() -> Iterator[None]:
    """Only load kernels from the cache in this thread; a missing one raises NotCompiled."""
    before, _thread.is_only_loading = _thread.is_only_loading, True
    try:
        yield
    finally:
        _thread.is_only_loading = before


@contextmanager
def compiled_here() -> Iterator[None]:
    """Compile kernels in this thread."""
    before, _thread.compiles = _thread.compiles, True
    try:
        yield
    finally:
        _thread.compiles = before


def is_only_loading() -> bool:
    """Whether this thread may not compile."""
    return _thread.is_only_loading


@contextmanager
def plain_at_first() -> Iterator[None]:
    """Run kernels that are not compiled yet as plain Python for the first `_AT_FIRST_S` seconds.

    Small tasks finish within that time, sooner than Numba is loaded. It is the total of all such blocks, so that many
    small tasks load Numba, too.
    """
    global _plain_s
    later = _Later(_plain_s)
    try:
        with substituted(later):
            yield
    finally:
        _plain_s = later.left_s


class _Later:
    """A compilation that begins after some seconds of CPU time; `wait` returns at once."""

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
    """Whether to run a kernel as plain Python; for large arrays it waits for the compiler instead."""
    global _compiling
    if compiling.poll() is None:
        if _never_waiting or all(_size(argument) <= _MOST_PLAIN for argument in arguments):
            return True
        compiling.wait()
    _compiling = None
    return False


def _size(argument: Any) -> int:
    if isinstance(argument, tuple):
        return max(map(_size, argument), default=0)
    return argument.size if isinstance(argument, np.ndarray) else 0


def _as_plain(argument: Any) -> Any:
    """Convert an argument so that plain Python computes the same as compiled code.

    A memoryview has Python's integers: these do not overflow, as NumPy's of 32 bits would where the compiler uses 64
    bits, and are several times as fast. Records are read by name.
    """
    if isinstance(argument, np.ndarray):
        if argument.dtype.names is not None:
            return argument.view(np.recarray)
        return argument.data if argument.ndim == 1 else argument
    if isinstance(argument, tuple):
        items = map(_as_plain, argument)
        return type(argument)(*items) if hasattr(argument, "_fields") else tuple(items)
    return argument


def _as_compiled(result: Any) -> Any:
    """Convert a result to the types that compiled code returns."""
    if isinstance(result, tuple):
        return tuple(map(_as_compiled, result))
    return result.item() if isinstance(result, np.generic) else result


def _globals_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the global names that a function uses, with their values."""
    known = function.__globals__
    return {name: known[name] for name in function.__code__.co_names if name in known}


def _called_by(function: Callable[..., Any]) -> dict[Callable[..., Any], dict[str, Any]]:
    """Return a function and all that it calls, directly or not, each with its globals."""
    result: dict[Callable[..., Any], dict[str, Any]] = {}
    waiting = [function]
    while waiting:
        one = waiting.pop()
        if one not in result:
            result[one] = _globals_of(one)
            waiting += [value.py_func for value in result[one].values() if isinstance(value, Kernel)]
    return result
