from __future__ import annotations

import errno
from pathlib import Path

import pytest

import orienteer as ori
from orienteer.errors import DamagedArchiveWarning
from orienteer.topics.topic_file import ExampleSettings, read_examples
from tests.graph.formats.test_warc import Archive
from tests.topics.small_topics import OFF_TOPIC, ON_TOPIC, write_examples

BOTH = ExampleSettings(("good",), ("bad/",))


def archive_of(folder: Path, name: str = "web.warc.gz") -> Path:
    archive = Archive(name.endswith(".gz"))
    archive.add("c/1", b"<title>old</title>").add("c/1", b"<title>Course 1</title><p>homework")
    archive.add("c/2", "<title>Kurs für 2".encode("latin-1"), ("Content-Type", "text/html; charset=latin1"))
    archive.add("ann", b"<title>Ann").add("pic", b"GIF", ("Content-Type", "image/gif"))
    archive.add("gone", b"<title>none", status="404 Not Found")
    (folder / name).write_bytes(archive.bytes())
    return folder / name


def test_folders_of_pages(tmp_path: Path) -> None:
    write_examples(tmp_path)
    found = read_examples(BOTH, tmp_path)
    assert [page.title for page in found.pages] == [page.title for page in ON_TOPIC + OFF_TOPIC]
    assert found.is_on_topic.tolist() == [True] * 3 + [False] * 3
    assert found.pages[0].headings == ["Syllabus"]
    assert "type theory" in found.pages[0].text


def test_files_are_html_by_what_is_in_them(tmp_path: Path) -> None:
    write_examples(tmp_path)
    good = tmp_path / "good"
    (good / "deep").mkdir()
    (good / "deep" / "http:^^u.example^x").write_bytes(b"MIME-Version: 1.0\n\n<HTML>no ending")
    (good / "wide.html").write_bytes("<title>UTF-16</title>".encode("utf-16"))
    (good / "image.html").write_bytes(b"\x89PNG\0\0<p>")
    (good / "empty.html").write_bytes(b"")
    (good / "notes.txt").write_text("only words")
    (good / ".hidden.html").write_text("<p>")
    found = read_examples(BOTH, tmp_path)
    assert int(found.is_on_topic.sum()) == 5
    assert found.n_left_out == 3
    assert "UTF-16" in [page.title for page in found.pages]


def test_urls_of_a_mirror(tmp_path: Path) -> None:
    write_examples(tmp_path)
    page = tmp_path / "good" / "www.example.org" / "a" / "b.html"
    page.parent.mkdir(parents=True)
    page.write_text("<p>")
    urls = {page.url for page in read_examples(BOTH, tmp_path).pages}
    assert {"http://www.example.org/a/b.html", "0.html"} <= urls


def test_archives_and_single_pages(tmp_path: Path) -> None:
    write_examples(tmp_path)
    archive_of(tmp_path)
    found = read_examples(ExampleSettings(("web.warc.gz", "good/0.html"), ("bad",)), tmp_path)
    on = [page for page, is_on in zip(found.pages, found.is_on_topic, strict=True) if is_on]
    assert [page.title for page in on] == ["Course 1", "Kurs für 2", "Ann", "Compilers"]
    assert on[0].url == "http://a.org/c/1"


def test_pages_of_a_crawl_by_pattern_and_by_list(tmp_path: Path) -> None:
    """Only the archive of a crawl folder is read."""
    crawl = tmp_path / "crawl"
    (crawl / "archive").mkdir(parents=True)
    (crawl / "crawl.toml").write_text("")
    (crawl / "page.html").write_text("<p>not of the archive")
    archive_of(crawl / "archive", "orienteer-00000.warc.gz")
    by_pattern = read_examples(ExampleSettings(crawl="crawl", positive_urls=("/c/",)), tmp_path)
    assert [page.title for page in by_pattern.pages] == ["Course 1", "Kurs für 2", "Ann"]
    assert by_pattern.is_on_topic.tolist() == [True, True, False]
    (tmp_path / "list.txt").write_text("# courses\nHTTP://a.org/c/2#top\nhttp://a.org/c/2\n")
    listed = ExampleSettings(("list.txt",), crawl="crawl", negative_urls=("/ann$", "/c/1"))
    by_list = read_examples(listed, tmp_path)
    assert [page.title for page in by_list.pages] == ["Kurs für 2", "Ann", "Course 1"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"negative": ("bad",)}, 'no positive examples: name pages that are on topic, as in positive = \\["good/"\\]'),
        ({"positive": ("good",)}, "no negative examples"),
        ({"positive": ("god",), "negative": ("bad",)}, "/god: no such file or folder"),
        ({"positive": ("empty",), "negative": ("bad",)}, "/empty: no HTML page in it"),
        ({"positive": ("words.md",), "negative": ("bad",)}, "/words.md: no HTML page in it"),
        ({"positive": ("broken.warc.gz",), "negative": ("bad",)}, "broken.warc.gz: no WARC records in it that can be"),
        ({"positive": ("none.warc",), "negative": ("bad",)}, "none.warc: no WARC records in it"),
        ({"positive": ("list.txt",), "negative": ("bad",)}, "list.txt: a list of URLs needs the crawl"),
        (
            {"positive": ("list.txt",), "crawl": "web.warc.gz"},
            "list.txt, line 2: web.warc.gz has no page 'http://b.org/'",
        ),
        ({"positive": ("void.txt",), "crawl": "web.warc.gz"}, "void.txt: no URL in it"),
        ({"positive_urls": ("/c/",), "negative": ("bad",)}, "about the pages of a crawl: name it"),
        ({"positive_urls": ("/d/",), "crawl": "web.warc.gz"}, "positive_urls: no page of web.warc.gz matches '/d/'"),
        ({"positive_urls": ("(",), "crawl": "web.warc.gz"}, "positive_urls: '\\(' is no regular expression"),
        ({"positive_urls": ("/",), "crawl": "web.warc.gz"}, "no negative examples"),
        (
            {"positive_urls": ("/c/",), "negative_urls": ("1$",), "crawl": "web.warc.gz"},
            "http://a.org/c/1 is a positive and a negative example",
        ),
    ],
)
def test_unusable_examples_are_one_clear_line(settings: dict, message: str, tmp_path: Path) -> None:
    write_examples(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "words.md").write_text("only words")
    (tmp_path / "none.warc").write_text("no records")
    (tmp_path / "list.txt").write_text("http://a.org/c/1\nhttp://b.org/\n")
    (tmp_path / "void.txt").write_text("# nothing\n")
    archive = archive_of(tmp_path)
    (tmp_path / "broken.warc.gz").write_bytes(archive.read_bytes()[:20])
    with pytest.raises(ori.InputError, match=message) as refused:
        read_examples(ExampleSettings(**settings), tmp_path)
    assert "\n" not in str(refused.value)


def test_intact_records_of_a_damaged_archive_are_read(tmp_path: Path) -> None:
    write_examples(tmp_path)
    archive = archive_of(tmp_path)
    archive.write_bytes(archive.read_bytes()[:-20])
    with pytest.warns(DamagedArchiveWarning, match=r"web\.warc\.gz: after 5 records") as warnings:
        found = read_examples(ExampleSettings(("web.warc.gz",), ("bad",)), tmp_path)
    assert len(warnings) == 1
    assert [page.title for page in found.pages[:3]] == ["Course 1", "Kurs für 2", "Ann"]


def test_a_file_that_may_not_be_read_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, mode: str) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    write_examples(tmp_path)
    monkeypatch.setattr(Path, "open", refuse)  # root, who may run the tests, may read everything
    with pytest.raises(ori.InputError, match="good/0.html: Permission denied$"):
        read_examples(BOTH, tmp_path)
