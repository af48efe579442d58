"""A few small pages, and a topic of each kind for them."""

from __future__ import annotations

from pathlib import Path

from orienteer.topics import make_topic
from orienteer.topics.topic import PageContent, Topic

ON_TOPIC = [
    PageContent("http://u.example/cs1", "Compilers", "A course on compilers and type theory. Homework.", ["Syllabus"]),
    PageContent("http://u.example/cs2", "Lecture notes", "Lectures and homework of the course on parsing.", []),
    PageContent("http://u.example/cs3", "CS 3", "The exam of this course, and its homework.", ["Course"]),
]
OFF_TOPIC = [
    PageContent("http://u.example/~ann", "Ann", "Ann likes gardens, tea and long walks.", ["Me"]),
    PageContent("http://u.example/~bob", "Bob's home", "Photographs of boats. Bob writes poems.", []),
    PageContent("http://u.example/map", "", "How to find us: by train, by bus, on foot.", ["Travel"]),
]
PAGES = ON_TOPIC + OFF_TOPIC
IS_ON_TOPIC = [True] * len(ON_TOPIC) + [False] * len(OFF_TOPIC)

EMPTY = PageContent("", "", "", [])
HOSTILE = [
    EMPTY,
    PageContent("http://h.example/", "\x00\x01", "\ud800\udfff lone halves \ud83d", ["\udc00"]),
    PageContent("not a url", "é" * 1000, "a" * 100_000, ["x"] * 1000),
    PageContent(
        "http://h.example/" + "%ff" * 600, "\u202eevil", "課程 講義 作業 こんにちは \U00020000", ["İstanbul ß ǅ"]
    ),
    PageContent("http://h.example/?q=(((((", "*" * 500, "(" * 10_000 + "\\" * 10_000, [""]),
    PageContent("17", "", "\U0010ffff\ufffe \u0301\u0301 cafe\u0301", []),
    PageContent("http://h.example/n", "", "\n" * 10_000 + "homework " * 10_000, []),
]


def settings_for(name: str, folder: Path) -> dict[str, object]:
    """Return the required settings of a kind of topic."""
    if name == "labels":
        file = folder / "labels.txt"
        file.write_text("".join(f"{page.url} 1\n" for page in ON_TOPIC) + "http://u.example/map 0.25\n")
        return {"file": str(file)}
    return {
        "keywords": {"words": ("course", "homework", "type theory"), "enough": 2.0},
        "url-pattern": {"patterns": (r"/cs\d",)},
    }.get(name, {})


def trained(name: str, folder: Path, **settings: object) -> Topic:
    made = make_topic(name, **settings_for(name, folder), **settings)
    if made.needs_training:
        made.train(PAGES, IS_ON_TOPIC)
    return made


def html_of(page: PageContent) -> str:
    headings = "".join(f"<h2>{heading}</h2>" for heading in page.headings)
    return f"<title>{page.title}</title>{headings}<p>{page.text}"


def write_examples(folder: Path) -> None:
    """Write the pages as files to good/ and bad/."""
    for name, pages in (("good", ON_TOPIC), ("bad", OFF_TOPIC)):
        (folder / name).mkdir()
        for number, page in enumerate(pages):
            (folder / name / f"{number}.html").write_text(html_of(page))


def topic_file(folder: Path, *lines: str, name: str = "topic.toml") -> Path:
    """Write a topic file with these lines."""
    (folder / name).write_text("\n".join(("[topic]", *lines, "")))
    return folder / name


EXAMPLES = ('positive = ["good/"]', 'negative = ["bad"]')
