"""The cache of compiled kernels, and when a kernel is compiled again.

A kernel is compiled again when a source file of it, or of a kernel that it calls, has changed; when a constant that one
of them uses has changed; or when the fields of a tuple argument have changed. A file that cannot be read is compiled
again, and one that cannot be written is not cached: neither is an error.

The cache has several versions of a kernel, so that two copies of the package do not compile in turns; those that were
compiled longest ago are removed.
"""

from __future__ import annotations

import glob
import hashlib
import inspect
import pickle
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numba.core import caching
from numba.core.serialize import dumps

from orienteer.kernel import NotCompiled, is_only_loading
from orienteer.kernel_folder import NOT_STORED, folder

_PACKAGE = "orienteer"
_VERSIONS = 8  # of a kernel that are cached

_Called = Mapping[Callable[..., Any], Mapping[str, Any]]


def cache_of(function: Callable[..., Any], called: _Called) -> Any:
    """Return the cache of one kernel; `called` are the functions that it consists of, with their globals."""
    if folder() is None:
        return _NoCache()
    return _KernelCache(function, _stamp(called))


def _stamp(called: _Called) -> bytes:
    """Return a digest of everything that the compiled code depends on."""
    files = {inspect.getfile(function) for function in called}
    constants = sorted(
        f"{function.__module__}.{name} = {value.tobytes() if isinstance(value, np.ndarray) else value!r}"
        for function, result in called.items()
        for name, value in result.items()
        if isinstance(value, (bool, int, float, str, bytes, tuple, np.generic, np.ndarray, np.dtype))
    )
    text = "\n".join([*sorted(map(_digest, files)), *constants])
    return hashlib.sha256(text.encode()).digest()


@cache
def _digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


class _Locator(caching._CacheLocator):
    """Locates the cache of the kernels of a source file for Numba."""

    def __init__(self, path: str) -> None:
        self._py_file = path

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator:
        return cls(py_file)

    def get_cache_path(self) -> str:
        return str((folder() or Path()) / self._folder_name())

    def _folder_name(self) -> str:
        """Return a name without the location of the package, so that copies of it share a cache; stamps differ."""
        parts = Path(self._py_file).parent.parts
        if _PACKAGE not in parts:
            return str(self.get_suitable_cache_subpath(self._py_file))
        return ".".join(parts[len(parts) - parts[::-1].index(_PACKAGE) - 1 :])

    def get_source_stamp(self) -> bytes:
        return b""  # _KernelCache has its own stamp

    def get_disambiguator(self) -> str:
        return ""


class _Files(caching.CompileResultCacheImpl):
    """Compiled code with a checksum, since Numba would run a truncated file, or one of another version."""

    _locator_classes: list[type[object]] = [_Locator]  # noqa: RUF012  # as in Numba

    stamp: bytes

    def reduce(self, result: Any) -> tuple[bytes, bytes]:
        packed = dumps(super().reduce(result))
        return hashlib.sha256(self.stamp + packed).digest(), packed

    def rebuild(self, target_context: Any, stored: tuple[bytes, bytes]) -> Any:
        digest, packed = stored
        if hashlib.sha256(self.stamp + packed).digest() != digest:
            raise ValueError("a damaged file")
        return super().rebuild(target_context, pickle.loads(packed))


class _KernelCache(caching.FunctionCache):
    """Numba's cache of one function, which ignores damaged files and full disks."""

    _impl_class = _Files

    def __init__(self, function: Callable[..., Any], stamp: bytes) -> None:
        super().__init__(function)
        self._impl.stamp = stamp
        self._name = self._impl.filename_base
        version = f"{self._name}-{stamp.hex()[:12]}"
        self._cache_file = caching.IndexDataCacheFile(self._cache_path, version, stamp)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        try:
            result = super().load_overload(signature, target_context)
        except Exception:
            result = None
            with suppress(OSError):
                self.flush()
        return _loaded(result)

    def save_overload(self, signature: Any, result: Any) -> None:
        try:
            super().save_overload(signature, result)
            self._remove_old()
        except OSError as error:
            _warn_once(error.strerror or str(error))

    def _remove_old(self) -> None:
        versions = sorted(Path(self._cache_path).glob(f"{glob.escape(self._name)}-*.nbi"), key=_last_written)
        for old in versions[:-_VERSIONS]:
            for file in old.parent.glob(f"{glob.escape(old.stem)}.*"):
                file.unlink(missing_ok=True)

    def _index_key(self, signature: Any, codegen: Any) -> Any:
        fields = tuple(getattr(kind, "fields", None) for kind in getattr(signature, "args", signature))
        return (*super()._index_key(signature, codegen), str(fields))


class _NoCache(caching.NullCache):
    def load_overload(self, signature: Any, target_context: Any) -> Any:
        return _loaded(None)


def _loaded(result: Any) -> Any:
    if result is None and is_only_loading():
        raise NotCompiled
    return result


def _last_written(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:  # another process has removed it
        return 0.0


@cache
def _warn_once(why: str) -> None:
    warnings.warn(f"{NOT_STORED}: {why}", stacklevel=2)
