"""What a topic has learned, as a file: NumPy arrays (.npz) beside the settings they were learned with.

    format      the number of this format; another one when words fall into other buckets
    kind        the name of the topic's kind
    settings    its settings, as JSON
    ...         the arrays

Never a pickle: a file that a stranger has made can be wrong, but it runs nothing.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from orienteer.errors import InputError, OrienteerError
from orienteer.graph.formats.atomic import replaced
from orienteer.topics.topic import Arrays, Topic
from orienteer.topics.words import MAX_BUCKETS

FORMAT = 1
_ABOUT = ("format", "kind", "settings")
_MOST_BYTES = 2 * 8 * MAX_BUCKETS + (1 << 20)  # two numbers a bucket, and the little things


def write_model(path: Path, topic: Topic, settings: Mapping[str, Any]) -> None:
    """Keep what the topic has learned; the same knowledge gives the same bytes."""
    about = {"format": np.array(FORMAT), "kind": np.array(topic.name), "settings": np.array(_as_json(settings))}
    try:
        with replaced(path) as new, new.open("wb") as file:
            np.savez_compressed(file, **about, **topic.learned())  # type: ignore[arg-type]
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def read_model(path: Path, topic: Topic, settings: Mapping[str, Any]) -> None:
    """Let the topic know what one with the same settings had learned; whatever is wrong with the file is one line."""
    arrays = dict(_arrays(path))
    try:
        about = {name: arrays.pop(name).item() for name in _ABOUT}
        known = json.loads(str(about["settings"]))
    except (KeyError, ValueError):
        raise InputError(f"{path}: this is no model of a topic") from None
    if about["format"] != FORMAT:
        raise InputError(f"{path}: the model has format {about['format']}, not {FORMAT}; train it again")
    if about["kind"] != topic.name:
        raise InputError(f"{path}: the model is of kind {about['kind']!r}, not {topic.name!r}; train it again")
    for name, value in json.loads(_as_json(settings)).items():
        if not isinstance(known, dict) or known.get(name) != value:
            was = known.get(name) if isinstance(known, dict) else None
            raise InputError(f"{path}: the model was trained with {name} = {was}, not {value}; train it again")
    try:
        topic.take_over(arrays)
    except InputError as error:
        raise InputError(f"{path}: the model is corrupt ({error})") from None
    if not topic.is_trained:
        raise InputError(f"{path}: the model is not trained")


def _arrays(path: Path) -> Arrays:
    try:
        with path.open("rb") as file:
            with zipfile.ZipFile(file) as archive:
                if sum(entry.file_size for entry in archive.infolist()) > _MOST_BYTES:
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
