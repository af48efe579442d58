"""A topic as a small file that people write:

    [topic]
    kind = "bayes"                    # or linear, keywords, url-pattern, labels
    positive = ["good/"]              # pages on topic, and pages that are not: see `examples`
    negative = ["bad/", "more.warc.gz"]
    threshold = 0.5                   # a page of at least this relevance is on topic

Further keys are the settings of the kind (`words`, `patterns`, `prior`, ...), and `model`, where what was learned is
kept: unless it says otherwise beside the file, in NAME.npz. Paths start from the folder of the file.
"""

from __future__ import annotations

import tomllib
import typing
from dataclasses import dataclass, fields, make_dataclass
from pathlib import Path
from typing import Any

from orienteer.errors import InputError, unknown_name
from orienteer.files.compressed import text_of
from orienteer.progress import Progress, silent
from orienteer.settings import from_table
from orienteer.topics import make_topic, settings_of
from orienteer.topics.examples import Examples, ExampleSettings, read_examples
from orienteer.topics.model_file import read_model, write_model
from orienteer.topics.topic import TOPICS, Topic

_TABLE = "topic"


@dataclass(frozen=True)
class _FileSettings(ExampleSettings):
    """What the file of any kind may say."""

    kind: str = ""
    threshold: float = 0.5
    model: str = ""


@dataclass(frozen=True)
class TopicFile:
    """What a topic file says; `settings` are those of the kind, all of them."""

    path: Path
    kind: str
    settings: dict[str, Any]
    where: ExampleSettings
    threshold: float
    model: Path

    @classmethod
    def read(cls, path: str | Path) -> TopicFile:
        """Whatever is wrong with the file is one line."""
        file = Path(path)
        table = _table(file)
        if "kind" not in table:
            raise InputError(f"{file}: kind is missing (choices: {', '.join(TOPICS.names())})")
        kind = TOPICS.find(str(table["kind"]), where=f" in {file}")
        said = from_table(_settings_class(kind), table, str(file))
        if not 0 < said.threshold <= 1:
            raise InputError(f"{file}: threshold is {said.threshold}; it must be above 0 and at most 1")
        return cls(
            path=file,
            kind=kind.name,
            settings={name: getattr(said, name) for name in settings_of(kind)},
            where=ExampleSettings(*(getattr(said, field.name) for field in fields(ExampleSettings))),
            threshold=said.threshold,
            model=file.parent / said.model if said.model else file.with_suffix(".npz"),
        )

    def topic(self) -> Topic:
        """The topic, which knows nothing yet that it would have to learn."""
        files = {name: self.settings[name] for name in TOPICS.find(self.kind).file_settings}
        places = {name: str(self.path.parent / file) if file else "" for name, file in files.items()}
        try:
            made = make_topic(self.kind, **{**self.settings, **places})
        except InputError as error:
            raise InputError(f"{self.path}: {error}") from None
        made.threshold = self.threshold
        return made

    def examples(self, progress: Progress = silent) -> Examples:
        """The example pages."""
        try:
            return read_examples(self.where, self.path.parent, progress)
        except InputError as error:
            raise InputError(f"{self.path}: {error}") from None

    def keep(self, topic: Topic, model: Path | None = None) -> Path:
        """Write what the topic has learned to its model file, or another one."""
        place = model or self.model
        write_model(place, topic, self.settings)
        return place

    def trained_topic(self) -> Topic:
        """The topic, with what it has learned: an InputError where it was not trained."""
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
    """The topic that a topic file describes, ready to say what pages are relevant.

    One that learns must have been trained: `orienteer topic train FILE`, or `train` and `TopicFile.keep`.
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
    """All that a file with a topic of this kind may say, with types and defaults."""
    hints = typing.get_type_hints(kind.__init__)
    own = [(name, hints.get(name, type(default)), default) for name, default in settings_of(kind).items()]
    return make_dataclass("TopicSettings", own, bases=(_FileSettings,), frozen=True)
