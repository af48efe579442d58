"""What the check of a release decides without building anything, and that this checkout would pass it."""

from __future__ import annotations

import re
from email.message import EmailMessage, Message
from pathlib import Path

import pytest
import yaml

import orienteer
from release.check import Row, metadata_problems, sdist_problems, table, version_problems, wheel_problems

ROOT = Path(__file__).parents[2]
TRACKED = {
    "LICENSE", "README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "SECURITY.md",
    "pyproject.toml", "Makefile", "docs/index.md", "experiments/a.md", "tests/golden/x.warc.gz",
    "src/orienteer/__init__.py", "src/orienteer/py.typed", "src/orienteer/web/static/vendor/htmx/LICENSE",
}  # fmt: skip
NOTES = "orienteer-0.2.0.dist-info"
WHEEL = {
    *(name.removeprefix("src/") for name in TRACKED if name.startswith("src/")),
    f"{NOTES}/METADATA",
    f"{NOTES}/licenses/LICENSE",
    f"{NOTES}/licenses/src/orienteer/web/static/vendor/htmx/LICENSE",
}
SDIST = {name for name in TRACKED if not name.startswith("tests/")} - {"Makefile"} | {"PKG-INFO"}


def written(version: str = "1.2.3", heading: str = "1.2.3 (2030-01-31)", date: str = "2030-01-31") -> dict[str, str]:
    return {
        "src/orienteer/__init__.py": f'"""About."""\n\n__version__ = "{version}"\n',
        "CHANGELOG.md": f"# Changes\n\n## {heading}\n\n- All.\n\n## 1.0.0 (2029-01-01)\n",
        "CITATION.cff": f"cff-version: 1.2.0\nversion: 1.2.3\ndate-released: {date}\n",
    }


def test_the_version_of_this_checkout_is_the_same_everywhere() -> None:
    """Between two releases the changes may begin with others, which have no version yet."""
    problems = version_problems({name: (ROOT / name).read_text() for name in written()})
    assert [problem for problem in problems if "'Unreleased'" not in problem] == []
    named = re.search(r"^orienteer (\d.*)$", (ROOT / "docs" / "tutorial.md").read_text(), re.MULTILINE)
    assert named is not None
    assert named[1] == orienteer.__version__


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        (written(version="1.2.4"), "CHANGELOG.md begins with '1.2.3 (2030-01-31)', not with '1.2.4 (YYYY-MM-DD)'"),
        (written(version="1.2.4"), "CITATION.cff has the version 1.2.3, not 1.2.4"),
        (written(heading="Unreleased"), "CHANGELOG.md begins with 'Unreleased', not with '1.2.3 (YYYY-MM-DD)'"),
        (written(date="2030-02-01"), "CITATION.cff has the date-released 2030-02-01, not 2030-01-31"),
    ],
)
def test_another_version_or_date_is_found(texts: dict[str, str], problem: str) -> None:
    assert version_problems(written()) == []
    assert problem in version_problems(texts)


def test_a_wheel_holds_the_package_and_its_licences() -> None:
    assert wheel_problems(WHEEL, TRACKED) == []
    assert wheel_problems(WHEEL - {"orienteer/py.typed"}, TRACKED) == ["not in the wheel: orienteer/py.typed"]
    assert wheel_problems(WHEEL | {"tests/x.py"}, TRACKED) == ["should not be in the wheel: tests/x.py"]
    without = WHEEL - {f"{NOTES}/licenses/LICENSE"}
    assert wheel_problems(without, TRACKED) == ["not among the licences of the wheel: LICENSE"]


def test_an_sdist_holds_what_builds_and_explains_it_and_no_tests() -> None:
    assert sdist_problems(SDIST, TRACKED) == []
    assert sdist_problems(SDIST - {"CITATION.cff"}, TRACKED) == ["not in the sdist: CITATION.cff"]
    with_data = SDIST | {"tests/golden/x.warc.gz"}
    assert sdist_problems(with_data, TRACKED) == ["should not be in the sdist: tests/golden/x.warc.gz"]


def metadata(**changed: str) -> Message:
    about = EmailMessage()
    expected = {"Name": "orienteer", "Version": "0.2.0", "Requires_Python": ">=3.11"}
    expected |= {"License_Expression": "Apache-2.0 AND 0BSD", "Description_Content_Type": "text/markdown"}
    for key, value in (expected | changed).items():
        about[key.replace("_", "-")] = value
    about.set_payload("# Orienteer\n\nIt crawls.\n")
    return about


def test_the_metadata_is_what_the_index_should_show() -> None:
    assert metadata_problems(metadata(), "0.2.0") == []
    assert metadata_problems(metadata(Version="0.1.0"), "0.2.0") == ["Version is 0.1.0, not 0.2.0"]
    assert metadata_problems(metadata(Requires_Python=">=3.9"), "0.2.0") == ["Requires-Python is >=3.9, not >=3.11"]


def test_the_closing_table_says_what_is_wrong() -> None:
    fine, bad = Row("wheel", "1 MB", []), Row("Python 3.11", "failed", ["no such file"])
    assert table([fine]).splitlines() == ["wheel   1 MB   ok", "", "Fit to be released."]
    assert table([fine, bad]).splitlines()[1:] == [
        "Python 3.11   failed   FAILED", "", "1 problems:", "  Python 3.11: no such file",
    ]  # fmt: skip


def test_the_citation_has_what_the_format_asks_for() -> None:
    """The keys that Citation File Format 1.2.0 requires, and no dead address."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= cited.keys()
    assert cited["cff-version"] == "1.2.0"
    assert cited["authors"] == [{"name": "The Orienteer authors"}]
    assert not {"doi", "url", "repository-code", "identifiers"} & cited.keys()
