"""The documents as a site: built without a warning, complete, without dead links, and without a network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from orienteer.exports.exporter import EXPORTERS
from orienteer.graph.estimation import all_estimators, all_selections
from orienteer.graph.formats import FORMATS
from orienteer.policies.policy import POLICIES
from orienteer.public_names import public_names
from orienteer.registry import settings_of
from orienteer.seeds.seed_method import METHODS
from orienteer.topics.topic import TOPICS
from tests.cli.run import orienteer_each

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PACKAGES = ("orienteer", "orienteer.graph", "orienteer.search", "orienteer.seeds", "orienteer.topics")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built from a copy, since generated files go next to the sources."""
    folder = tmp_path_factory.mktemp("docs")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("reference"))
    for name in ("ARCHITECTURE.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, folder)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", folder / "docs", folder / "site"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return folder / "site"


class _Page(HTMLParser):
    """What a page refers to, and what may be referred to in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.resources: list[str] = []
        self.anchors: set[str] = set()
        self.words: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = {key: value or "" for key, value in attributes}
        self.anchors |= {found[key] for key in ("id", "name") if key in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag == "link" and "href" in found:
            self.resources.append(found["href"])
        if "src" in found:
            self.resources.append(found["src"])

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, _Page]:
    return {path: _Page(path) for path in site.rglob("*.html")}


def test_every_document_has_a_page(site: Path) -> None:
    for path in (ROOT / "docs").rglob("*.md"):
        assert (site / path.relative_to(ROOT / "docs")).with_suffix(".html").is_file()


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, _Page]) -> None:
    for path, page in pages.items():
        for resource in page.resources:
            address = urlsplit(resource)
            assert not address.scheme or address.scheme == "data", f"{path.name} loads {resource}"
            assert not address.netloc
            assert (path.parent / unquote(address.path)).exists(), f"{path.name} loads {resource}, which is not there"
    for path in site.rglob("*.css"):
        assert not re.search(r"url\(\s*[\"']?https?:|@import", path.read_text(encoding="utf-8")), path.name


def test_all_links_lead_somewhere(pages: dict[Path, _Page]) -> None:
    for path, page in pages.items():
        for link in page.links:
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            target = (path.parent / unquote(address.path)).resolve() if address.path else path
            assert target.exists(), f"{path.name} links to {link}"
            if address.fragment and target in pages:
                assert unquote(address.fragment) in pages[target].anchors, f"{path.name} links to {link}"


def text_of(pages: dict[Path, _Page], name: str) -> str:
    return next("".join(page.words) for path, page in pages.items() if path.match(f"reference/{name}.html"))


def test_every_command_and_option_is_named(pages: dict[Path, _Page]) -> None:
    text = text_of(pages, "commands")
    script = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'docs')!r})\n"
        "from _generator.commands import all_commands, options_of\n"
        "for path, command in all_commands():\n"
        "    names = [name for one in options_of(command) for name in [*one.opts, *one.secondary_opts]]\n"
        "    print(path, *names, sep='\\t')"
    )
    lines = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    commands = [line.split("\t") for line in lines.splitlines()]
    assert len(commands) >= 20
    helps = orienteer_each([[*path.split()[1:], "--help"] for path, *_ in commands])
    for (path, *options), done in zip(commands, helps, strict=True):
        in_help = set(re.findall(r"^│ (?:\*  |   )?(--[a-z-]+)", done.stdout, re.MULTILINE)) - {"--help"}
        assert in_help <= set(options), f"{path} has options that the reference has not"
        section = text.partition(f"\n{path}¶")[2] or text.partition(f"{path}¶")[2]
        section = section.partition("¶")[0]
        assert section, f"no section for {path}"
        for option in options:
            assert option in section, f"{path} {option} is not there"


def test_every_setting_is_named(pages: dict[Path, _Page]) -> None:
    from dataclasses import fields

    from orienteer.ledger.plan import CrawlPlan
    from orienteer.ledger.settings import CrawlSettings

    text = text_of(pages, "settings")
    plan = CrawlPlan(CrawlSettings(("https://example.org/",)))
    for table in fields(plan):
        section = text.partition(f"[{table.name}]¶")[2].partition("¶")[0]
        for field in fields(getattr(plan, table.name)):
            assert re.search(rf"\b{field.name}\b", section), f"[{table.name}] {field.name} is not there"


@pytest.mark.parametrize(
    ("page", "kinds"),
    [
        ("policies", POLICIES.own()),
        ("seed-methods", METHODS.own()),
        ("topics", TOPICS.own()),
        ("estimates", all_selections() | all_estimators()),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_everything_with_a_name_is_there(page: str, kinds: dict[str, type], pages: dict[Path, _Page]) -> None:
    text = text_of(pages, page)
    for name, kind in kinds.items():
        section = text.partition(f"{name}¶")[2].partition("¶")[0]
        assert section, f"no section for {name}"
        for setting in settings_of(kind):
            assert setting in section, f"{name}: {setting} is not there"


def test_formats_files_and_python_names_are_there(pages: dict[Path, _Page]) -> None:
    formats = text_of(pages, "formats")
    assert all(name in formats for name in [*EXPORTERS.own(), *FORMATS.own()])
    python = text_of(pages, "python")
    assert all(f"{name}¶" in python for package in PACKAGES for name in public_names(package))
    assert all(f"{name}¶" in python for name in ("Report", "CrawlStatus", "SurveyReport", "Verification"))
    folder = text_of(pages, "crawl-folder")
    assert all(name in folder for name in ("crawl.toml", "crawl.db", "archive/", "report.json", "index/"))
