"""docs/how-to/monitor.md lists the keys that `status --json` and `crawl --json` print."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from orienteer.cli.display import JSON_VERSION
from tests.cli.run import orienteer
from tests.docs.example_site import ExampleSite
from tests.docs.small_town import small_town
from tests.fake_web.server import FakeWeb

TEXT = (Path(__file__).parents[2] / "docs" / "how-to" / "monitor.md").read_text(encoding="utf-8")


def keys_below(heading: str) -> list[str]:
    """Return the keys in the first column of the table below this heading, sorted."""
    section = TEXT.partition(f"\n### {heading}\n")[2].partition("\n### ")[0]
    columns = re.findall(r"^\| (`[^|]*?) \|", section, re.MULTILINE)
    return sorted(key for column in columns for key in re.findall(r"`(\w+)`", column))


def printed(*arguments: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(orienteer(*arguments, "--json").stdout)
    return document


def test_the_tables_have_the_keys_that_commands_print(tmp_path: Path) -> None:
    folder = str(tmp_path / "example")
    with FakeWeb(ExampleSite(small_town())) as web:
        options = ["--allow-private", "--connect-to", web.address, "--delay", "0", "--budget", "5", "-q"]
        report = printed("crawl", "http://example.org/", "-o", folder, *options)
    status = printed("status", folder)
    assert keys_below("`orienteer status --json`") == sorted(status)
    assert keys_below("`orienteer crawl --json`") == sorted(report)
    assert keys_below("Figures") == sorted(report["figures"])
    assert report["version"] == status["version"] == JSON_VERSION
    assert f"It is {JSON_VERSION};" in TEXT
