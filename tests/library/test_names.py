"""No name leads outside of a library, and what is listed is a folder of the library itself."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.errors import InputError, NotInLibraryError, OrienteerError
from orienteer.library.jobs import Jobs
from orienteer.library.library import MAX_NAME_CHARS, Library, is_plain_name

PATHS = st.sampled_from(["..", ".", "/", "\\", "a", "crawl", " ", "\0", "\n", "~", "-", "%2e", "é", "e\u0301", ".jobs"])
NAMES = st.text(max_size=100) | st.lists(PATHS, max_size=6).map("".join)


@pytest.fixture(scope="module")
def base() -> Iterator[Path]:
    """A library among folders that are no business of its."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name in ("crawls/crawl", "crawls/.hidden", "crawls/empty", "outside", "crawls/é"):
            (place / name).mkdir(parents=True)
            if not name.endswith("empty"):
                (place / name / "crawl.db").touch()
        (place / "crawls" / "file").touch()
        (place / "crawls" / "link").symlink_to(place / "outside")
        (place / "crawls" / "inner link").symlink_to(place / "crawls" / "crawl")
        yield place


@given(NAMES)
def test_no_name_leads_outside(base: Path, name: str) -> None:
    library = Library(base / "crawls")
    before = sorted(os.listdir(base))
    try:
        found = library.path_of(name)
    except OrienteerError as error:
        assert "\n" not in str(error)
    else:
        assert found.parent == library.path
        assert found.name in ("crawl", "é")
        assert found.resolve() == found.parent.resolve() / name
    for attempt in (lambda: library.rename("crawl", name), lambda: Jobs(library).check("index", name, {})):
        if not is_plain_name(name):
            with pytest.raises(InputError):
                attempt()
    assert sorted(os.listdir(base)) == before


@given(NAMES)
def test_a_plain_name_is_one_visible_part_of_a_path(name: str) -> None:
    if is_plain_name(name):
        assert Path(name).parts == (name,)
        assert not name.startswith((".", "-", " "))
        assert name == name.strip()
        assert name.isprintable()
        assert len(os.fsencode(name)) <= 2 * MAX_NAME_CHARS


def test_what_is_listed(base: Path) -> None:
    library = Library(base / "crawls")
    assert library.names() == ["crawl", "é"]
    for name, error in (("link", InputError), ("inner link", InputError), ("file", NotInLibraryError)):
        with pytest.raises(error):
            library.path_of(name)
        with pytest.raises(error):
            library.delete(name)
    assert (base / "outside" / "crawl.db").exists()
    assert Library(base / "nowhere").names() == []
    assert Library(base / "crawls" / "file").names() == []


@given(st.text(max_size=300) | st.from_regex(r"https?://[a-z0-9.\[\]:-]{0,90}/.*", fullmatch=True))
def test_a_name_for_a_url_is_plain_and_free(base: Path, url: str) -> None:
    library = Library(base / "crawls")
    name = library.name_for(url)
    assert is_plain_name(name)
    assert not (library.path / name).exists()


def test_names_are_those_of_hosts(library: Library) -> None:
    assert library.name_for("https://www.example.org/a?b") == "example.org"
    assert library.name_for("example.org") == "example.org"
    assert library.name_for("http://localhost:8000/") == "localhost-8000"
    assert library.name_for("http://a.test/") == "a.test-2"
    (library.path / "a.test-2").symlink_to("nowhere")
    assert library.name_for("http://a.test/") == "a.test-3"
    shutil.rmtree(library.path)
    assert library.name_for("http://a.test/") == "a.test"
