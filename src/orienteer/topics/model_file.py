"""Model files of topics: what a topic has learned, with its settings (see `orienteer.model_file`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orienteer.errors import InputError
from orienteer.model_file import expect_kind, expect_settings, read_arrays, write_arrays
from orienteer.topics.topic import Topic
from orienteer.topics.words import MAX_BUCKETS

FORMAT = 1
_MOST_BYTES = 2 * 8 * MAX_BUCKETS  # two numbers a bucket


def write_model(path: Path, topic: Topic, settings: Mapping[str, Any]) -> None:
    """Write what the topic has learned; the file is deterministic."""
    write_arrays(path, FORMAT, topic.name, settings, topic.learned())


def read_model(path: Path, topic: Topic, settings: Mapping[str, Any]) -> None:
    """Load a model into a topic with the same settings; InputError if the file is unusable."""
    model = read_arrays(path, FORMAT, "topic", _MOST_BYTES)
    expect_kind(path, model, topic.name)
    expect_settings(path, model, settings)
    try:
        topic.load_learned(model.arrays)
    except InputError as error:
        raise InputError(f"{path}: the model is corrupt ({error})") from None
    if not topic.is_trained:
        raise InputError(f"{path}: the model is not trained")
