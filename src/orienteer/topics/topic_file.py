"""Topic files, which describe a topic in TOML:

    [topic]
    kind = "bayes"                    # or linear, keywords, url-pattern, labels
    positive = ["good/"]              # pages on topic, and pages that are not: see below
    negative = ["bad/", "more.warc.gz"]
    threshold = 0.5                   # a page of at least this relevance is on topic

Further keys are the settings of the kind (`words`, `patterns`, `prior`, ...), and `model`, the path of the trained
model: by default NAME.npz in the same folder. Paths are relative to the folder of the file.

Example pages are read from

    good/            a folder: all HTML files and WARC files below it; for a crawl folder, its archive
    pages.warc.gz    an archive (.warc, .warc.gz, .warc.zst, .wacz): all HTML pages in it
    page.html        a page
    pages.txt        a list of URLs, one per line: pages of the archive that `crawl` names

A file is HTML if it has tags, or by its suffix; binary files are not. Its URL is its path in the folder; if the path
begins with the name of a host, as in a mirror, it is `http://` and the path. Of several captures of a URL the last one
is used.
"""

from __future__ import annotations

import re
import tomllib
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, make_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orienteer.errors import GraphFileError, InputError, unknown_name
from orienteer.extract.page import extract_page
from orienteer.files.compressed import text_of
from orienteer.model_file import expect_kind, expect_settings, read_arrays, write_arrays
from orienteer.progress import Progress, silent
from orienteer.settings import from_table
from orienteer.topics import make_topic, settings_of
from orienteer.topics.rules import compiled
from orienteer.topics.topic import TOPICS, PageContent, Topic
from orienteer.topics.words import MAX_BUCKETS
from orienteer.url import canonical_url
from orienteer.warc.archived_responses import MAX_PAGE_BYTES, html_pages, warn_of_damage
from orienteer.warc.files import is_warc, warc_files
from orienteer.warc.records import RecordCounts

_TABLE = "topic"
FORMAT = 1
_MOST_BYTES = 2 * 8 * MAX_BUCKETS  # two numbers a bucket

_SNIFFED_BYTES = 4096
_TAG = re.compile(
    rb"<(?:!doctype\s+html|html|head|title|meta|link|script|style|body|h[1-6]|p|a|b|i|div|span|table|br|hr|ul|ol|dl"
    rb"|center|font|img|pre)\b",
    re.IGNORECASE,
)
_HOST_NAME = re.compile(r"[\w-]+(\.[\w-]+)*\.[a-z]{2,}(:\d+)?", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True)
class ExampleSettings:
    """The sources of examples.

    `positive` and `negative` name files and folders. `crawl` is a crawl folder or an archive, whose pages are examples
    if their URLs match one of the patterns `positive_urls` or `negative_urls`; without any negative setting, all of its
    other pages are negative examples.
    """

    positive: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()
    crawl: str = ""
    positive_urls: tuple[str, ...] = ()
    negative_urls: tuple[str, ...] = ()


class Examples(NamedTuple):
    """Pages, which of them are on topic, and the number of files that were ignored because they are not HTML."""

    pages: list[PageContent]
    is_on_topic: NDArray[np.bool_]
    n_left_out: int


def read_examples(settings: ExampleSettings, folder: Path, progress: Progress = silent) -> Examples:
    """Read the examples of the settings of a file in `folder`; InputError if they are unusable."""
    if not settings.positive and not settings.positive_urls:
        raise InputError('no positive examples: name pages that are on topic, as in positive = ["good/"]')
    if not settings.crawl and (settings.positive_urls or settings.negative_urls):
        raise InputError("positive_urls and negative_urls are about the pages of a crawl: name it, as in crawl = DIR")
    reader = _ExampleReader(folder, settings.crawl, progress)
    on = reader.pages(settings.positive, "positive_urls", settings.positive_urls)
    off = reader.pages(settings.negative, "negative_urls", settings.negative_urls)
    if settings.crawl and not settings.negative and not settings.negative_urls:
        named = {page.url for page in on}
        off = [page for url, page in reader.crawled.items() if url not in named]
    if not off:
        raise InputError('no negative examples: name pages that are not on topic, as in negative = ["bad/"]')
    both = {page.url for page in on} & {page.url for page in off} & reader.crawled.keys()
    if both:
        raise InputError(f"{min(both)} is a positive and a negative example")
    return Examples([*on, *off], np.arange(len(on) + len(off)) < len(on), reader.n_left_out)


class _ExampleReader:
    """Reads pages from files; the pages of the crawl are read once."""

    def __init__(self, folder: Path, crawl: str, progress: Progress) -> None:
        self.n_left_out = 0
        self._folder, self._crawl, self._progress = folder, crawl, progress
        self._n_read = 0
        self.crawled: dict[str, PageContent] = {}
        if crawl:
            self.crawled = {page.url: page for page in self._pages_in(folder / crawl)}

    def pages(self, places: Sequence[str], setting: str, patterns: Sequence[str]) -> list[PageContent]:
        """Return the pages of these files and folders, and those of the crawl that match a pattern."""
        found = [page for place in places for page in self._pages_at(self._folder / place)]
        for pattern in compiled(setting, patterns):
            matching = [page for url, page in self.crawled.items() if pattern.search(url)]
            if not matching:
                raise InputError(f"{setting}: no page of {self._crawl} matches {pattern.pattern!r}")
            found += matching
        return list({id(page): page for page in found}.values())  # several patterns may match a page of the crawl

    def _pages_at(self, path: Path) -> Iterable[PageContent]:
        if path.suffix.lower() == ".txt" and path.is_file():
            return self._pages_listed(path)
        return self._pages_in(path)

    def _pages_listed(self, path: Path) -> Iterator[PageContent]:
        if not self._crawl:
            raise InputError(f"{path}: a list of URLs needs the crawl that has their pages, as in crawl = DIR")
        n_named = 0
        for number, line in enumerate(text_of(path, str(path), "no such file").splitlines(), 1):
            name = line.strip()
            if name and not name.startswith("#"):
                page = self.crawled.get(canonical_url(name) or name)
                if page is None:
                    raise InputError(f"{path}, line {number}: {self._crawl} has no page {name!r}")
                n_named += 1
                yield page
        if not n_named:
            raise InputError(f"{path}: no URL in it")

    def _pages_in(self, path: Path) -> list[PageContent]:
        """Return the pages of a folder, an archive or an HTML file."""
        try:
            if not path.exists():
                raise InputError(f"{path}: no such file or folder")
            found = self._pages_of_folder(path) if path.is_dir() else self._pages_of_file(path, path.name)
        except OSError as error:
            raise InputError(f"{error.filename or path}: {error.strerror or error}") from None
        if not found:
            raise InputError(f"{path}: no HTML page in it")
        return found

    def _pages_of_folder(self, folder: Path) -> list[PageContent]:
        archive = folder / "archive"
        if archive.is_dir() and (folder / "crawl.toml").is_file():
            folder = archive
        files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
        found = []
        for file in files:
            pages = self._pages_of_file(file, file.relative_to(folder).as_posix())
            self.n_left_out += not pages
            found += pages
        return found

    def _pages_of_file(self, path: Path, name: str) -> list[PageContent]:
        if is_warc(path):
            return self._pages_of_archive(path)
        with path.open("rb") as file:
            start = file.read(_SNIFFED_BYTES)
            if not is_html(start, path.name):
                return []
            html = start + file.read(MAX_PAGE_BYTES)
        first, _, rest = name.partition("/")
        url = f"http://{name}" if rest and _HOST_NAME.fullmatch(first) else name
        return [self._page(url, html, None)]

    def _pages_of_archive(self, path: Path) -> list[PageContent]:
        files, reading = warc_files(path), RecordCounts()
        answers = html_pages(files, reading, silent)
        pages = {one.request.url: self._page(one.request.url, one.content, one.charset) for one in answers}
        try:
            warn_of_damage(reading, files)
        except GraphFileError as error:
            raise InputError(str(error)) from None
        return list(pages.values())

    def _page(self, url: str, html: bytes, charset: str | None) -> PageContent:
        self._n_read += 1
        self._progress("reading examples", self._n_read, 0)
        return PageContent.of(url, extract_page(html, url, charset))


def is_html(start: bytes, name: str = "") -> bool:
    """Whether a file with this name and these first bytes is HTML.

    >>> is_html(b"MIME-Version: 1.0\\n\\n<html>"), is_html(b"a < b"), is_html(b"a < b", "a.html"), is_html(b"GIF\\0<p>")
    (True, False, True, False)
    """
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        start = start.replace(b"\0", b"")  # UTF-16: leaves the bytes of ASCII characters
    is_named = name.lower().endswith((".html", ".htm")) and bool(start.strip())
    return b"\0" not in start and (is_named or _TAG.search(start) is not None)


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
