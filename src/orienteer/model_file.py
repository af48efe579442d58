"""Model files: NumPy arrays (.npz) of a trained model, with its kind and settings.

    format      the number of the format; another one when words fall into other buckets
    kind        the name of the trained class
    settings    its settings, as JSON
    ...         the arrays

Never a pickle: an untrusted file can be wrong, but it runs no code.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import InputError, OrienteerError
from orienteer.files.plain import replaced

Arrays = Mapping[str, NDArray[Any]]

_ABOUT = ("format", "kind", "settings")
_MORE_BYTES = 1 << 20  # of a file in addition to its large arrays


class Model(NamedTuple):
    """The content of a model file; the settings are plain JSON values."""

    kind: str
    settings: dict[str, Any]
    arrays: Arrays


def write_arrays(path: Path, format: int, kind: str, settings: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a model; the same arrays and settings give the same bytes."""
    about = {"format": np.array(format), "kind": np.array(kind), "settings": np.array(_as_json(settings))}
    try:
        with replaced(path) as new, new.open("wb") as file:
            np.savez_compressed(file, **about, **arrays)  # type: ignore[arg-type]
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def read_arrays(path: Path, format: int, whose: str, most_bytes: int) -> Model:
    """Read the model of a topic or a policy (`whose`); an invalid file is an InputError of one line."""
    arrays = _arrays(path, most_bytes + _MORE_BYTES)
    try:
        about = {name: arrays.pop(name).item() for name in _ABOUT}
        settings = json.loads(str(about["settings"]))
    except (KeyError, ValueError):
        raise InputError(f"{path}: this is no model of a {whose}") from None
    if about["format"] != format:
        raise InputError(f"{path}: the model has format {about['format']}, not {format}; train it again")
    return Model(str(about["kind"]), settings if isinstance(settings, dict) else {}, arrays)


def expect_kind(path: Path, model: Model, kind: str) -> None:
    if model.kind != kind:
        raise InputError(f"{path}: the model is of kind {model.kind!r}, not {kind!r}; train it again")


def expect_settings(path: Path, model: Model, settings: Mapping[str, Any]) -> None:
    """Refuse a model that was trained with other settings."""
    for name, value in json.loads(_as_json(settings)).items():
        if model.settings.get(name) != value:
            was = model.settings.get(name)
            raise InputError(f"{path}: the model was trained with {name} = {was}, not {value}; train it again")


def checked_array(learned: Arrays, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return an array of a model after checking that it has this shape and finite numbers."""
    array = learned.get(name)
    if array is None:
        raise InputError(f"no array {name!r} in it")
    if array.shape != shape or array.dtype.kind not in "iuf":
        raise InputError(f"{name} is {array.dtype} of shape {array.shape}; expected numbers of shape {shape}")
    if not np.isfinite(array).all():
        raise InputError(f"{name} has numbers that are not finite")
    return array


def _arrays(path: Path, most_bytes: int) -> dict[str, NDArray[Any]]:
    try:
        with path.open("rb") as file:
            with zipfile.ZipFile(file) as archive:
                if sum(entry.file_size for entry in archive.infolist()) > most_bytes:
                    raise InputError("it is larger than any model")
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                return {name: arrays[name] for name in arrays.files}
    except FileNotFoundError:
        raise InputError(f"{path}: no such model; train it first") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except Exception as error:  # NumPy and zipfile have many ways to say that a file is broken
        reason = str(error).partition("\n")[0] if isinstance(error, OrienteerError | ValueError) else "truncated"
        raise InputError(f"{path}: the model is corrupt ({reason})") from None


def _as_json(settings: Mapping[str, Any]) -> str:
    return json.dumps(dict(settings), sort_keys=True)
