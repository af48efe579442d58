"""What a topic has learned, as a file (see `orienteer.model_file`), beside the settings it was learned with."""

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
    """Keep what the topic has learned; the same knowledge gives the same bytes."""
    write_arrays(path, FORMAT, topic.name, settings, topic.learned())


def read_model(path: Path, topic: Topic, settings: Mapping[str, Any]) -> None:
    """Let the topic know what one with the same settings had learned; whatever is wrong with the file is one line."""
    model = read_arrays(path, FORMAT, "topic", _MOST_BYTES)
    expect_kind(path, model, topic.name)
    expect_settings(path, model, settings)
    try:
        topic.take_over(model.arrays)
    except InputError as error:
        raise InputError(f"{path}: the model is corrupt ({error})") from None
    if not topic.is_trained:
        raise InputError(f"{path}: the model is not trained")
