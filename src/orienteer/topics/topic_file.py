"""Topic files, which describe a topic in TOML:

    [topic]
    kind = "bayes"                    # or linear, keywords, url-pattern, labels
    positive = ["good/"]              # pages on topic, and pages that are not: see `examples`
    negative = ["bad/", "more.warc.gz"]
    threshold = 0.5                   # a page of at least this relevance is on topic

Further keys are the settings of the kind (`words`, `patterns`, `prior`, ...), and `model`, the path of the trained
model: by default NAME.npz in the same folder. Paths are relative to the folder of the file.
"""

from __future__ import annotations

import tomllib
import typing
from collections.abc import Mapping
from dataclasses import dataclass, fields, make_dataclass
from pathlib import Path
from typing import Any

from orienteer.errors import InputError, unknown_name
from orienteer.files.compressed import text_of
from orienteer.model_file import expect_kind, expect_settings, read_arrays, write_arrays
from orienteer.progress import Progress, silent
from orienteer.settings import from_table
from orienteer.topics import make_topic, settings_of
from orienteer.topics.examples import Examples, ExampleSettings, read_examples
from orienteer.topics.topic import TOPICS, Topic
from orienteer.topics.words import MAX_BUCKETS

_TABLE = "topic"
FORMAT = 1
_MOST_BYTES = 2 * 8 * MAX_BUCKETS  # two numbers a bucket


@dataclass(frozen=True)
class _FileSettings(ExampleSettings):
    """The settings of topic files of all kinds."""

    kind: str = ""
    threshold: float = 0.5
    model: str = ""


@dataclass(frozen=True)
class TopicFile:
    """The content of a topic file; `settings` has all settings of the kind, with defaults."""

    path: Path
    kind: str
    settings: dict[str, Any]
    example_source: ExampleSettings
    threshold: float
    model: Path

    @classmethod
    def read(cls, path: str | Path) -> TopicFile:
        """Read a topic file; InputError if it is unusable."""
        file = Path(path)
        table = _table(file)
        if "kind" not in table:
            raise InputError(f"{file}: kind is missing (choices: {', '.join(TOPICS.names())})")
        kind = TOPICS.find(str(table["kind"]), where=f" in {file}")
        values = from_table(_settings_class(kind), table, str(file))
        if not 0 < values.threshold <= 1:
            raise InputError(f"{file}: threshold is {values.threshold}; it must be above 0 and at most 1")
        return cls(
            path=file,
            kind=kind.name,
            settings={name: getattr(values, name) for name in settings_of(kind)},
            example_source=ExampleSettings(*(getattr(values, field.name) for field in fields(ExampleSettings))),
            threshold=values.threshold,
            model=file.parent / values.model if values.model else file.with_suffix(".npz"),
        )

    def topic(self) -> Topic:
        """Create the topic, untrained."""
        files = {name: self.settings[name] for name in TOPICS.find(self.kind).file_settings}
        places = {name: str(self.path.parent / file) if file else "" for name, file in files.items()}
        try:
            made = make_topic(self.kind, **{**self.settings, **places})
        except InputError as error:
            raise InputError(f"{self.path}: {error}") from None
        made.threshold = self.threshold
        return made

    def examples(self, progress: Progress = silent) -> Examples:
        """Read the example pages."""
        try:
            return read_examples(self.example_source, self.path.parent, progress)
        except InputError as error:
            raise InputError(f"{self.path}: {error}") from None

    def save_model(self, topic: Topic, model: Path | None = None) -> Path:
        """Write what the topic has learned to its model file, or to `model`; return the path."""
        place = model or self.model
        write_model(place, topic, self.settings)
        return place

    def trained_topic(self) -> Topic:
        """Load the topic with its model; InputError if it was not trained."""
        topic = self.topic()
        if topic.needs_training:
            if not self.model.exists():
                raise InputError(
                    f"{self.path}: the topic is not trained ({self.model} does not exist); "
                    f"train it first: orienteer topic train {self.path}"
                )
            read_model(self.model, topic, self.settings)
        return topic


def load_topic(path: str | Path) -> Topic:
    """Load the topic of a topic file, ready to score pages.

    A topic that learns must be trained before: `orienteer topic train FILE`, or `train` and `TopicFile.save_model`.
    """
    return TopicFile.read(path).trained_topic()


def _table(path: Path) -> dict[str, Any]:
    try:
        tables = tomllib.loads(text_of(path, str(path), "no such topic file"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path}: this is no TOML ({error})") from None
    for name in tables:
        if name != _TABLE:
            raise unknown_name(f"table in {path}", name, [_TABLE])
    table = tables.get(_TABLE)
    if not isinstance(table, dict):
        raise InputError(f"{path}: there is no table [{_TABLE}] in it")
    return table


def _settings_class(kind: type[Topic]) -> type[Any]:
    """Return a dataclass of all settings of a topic file of this kind, with types and defaults."""
    hints = typing.get_type_hints(kind.__init__)
    own = [(name, hints.get(name, type(default)), default) for name, default in settings_of(kind).items()]
    return make_dataclass("TopicSettings", own, bases=(_FileSettings,), frozen=True)


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
