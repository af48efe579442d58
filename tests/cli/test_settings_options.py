"""Options that come from the settings: what is typed, what the help shows, and what a resume may change."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from orienteer.cli.crawl import crawl
from orienteer.cli.main import command_line
from orienteer.cli.options import GivenSettings, with_settings
from orienteer.cli.refresh import refresh
from orienteer.errors import InputError
from orienteer.ledger.plan import settings_classes
from orienteer.settings import About, SettingsField, fields_of, from_text, option_word
from tests.cli.run import orienteer
from tests.tables import over_rows

STORED = '[crawl]\nseeds = ["http://a.test/"]\nuntil = 0.5\nbudget = 7\npolicy = "opic"\n'
ALL = {f"{table}.{name}": one for table, kind in settings_classes().items() for name, one in fields_of(kind).items()}
_GIVEN: list[GivenSettings] = []


@with_settings()
def command(*, given: GivenSettings) -> None:
    _GIVEN.append(given)


def given(*words: str, of: Callable[..., None] = command) -> GivenSettings:
    """What a command line with these words gives."""
    app = typer.Typer()
    app.command()(of)
    typer.main.get_command(app)(list(words), standalone_mode=False)
    return _GIVEN.pop()


@over_rows(
    ("words", "goal"),
    [
        ([], (0.5, 7)),
        (["--until", "0.98"], (0.98, 7)),
        (["--until=98 %", "--budget=1,000"], (0.98, 1000)),
        (["--until", "none"], (None, 7)),
        (["--budget", "None"], (0.5, None)),
        (["--until", "1"], (None, None)),
        (["--until", "1.0", "--budget", "20"], (None, 20)),
        (["--until", "100%", "--budget", "none"], (None, None)),
        (["--set", "crawl.until=0.75", "--set=crawl.budget=none"], (0.75, None)),
        (["--set", "crawl.until=0.75", "--until", "0.8"], (0.8, 7)),
    ],
)
def test_given_goals_replace_those_of_the_folder(words: list[str], goal: tuple[float | None, int | None]) -> None:
    plan = given(*words).plan(Path("c"), STORED)
    assert (plan.crawl.until, plan.crawl.budget, plan.crawl.policy) == (*goal, "opic")


def test_options_of_every_type() -> None:
    typed = "--delay 2 --assets --ignore-robots --allow x --allow y --workers 3 --render never --scope web"
    tables = given(*typed.split()).tables
    assert tables == {
        "crawl": {"assets": True, "robots": False, "workers": 3},
        "politeness": {"delay_s": 2.0},
        "scope": {"kind": "web", "allow": ("x", "y")},
        "render": {"mode": "never"},
    }


def test_a_file_then_set_then_options(tmp_path: Path) -> None:
    file = tmp_path / "more.toml"
    file.write_text("[politeness]\ndelay_s = 1\nconnections = 2\n[fetch]\ntimeout_s = 5\n")
    found = given(
        "--settings", str(file), "--set", "politeness.delay_s=2", "--set", "politeness.connections=3", "--delay=4"
    )
    assert found.tables == {"crawl": {}, "politeness": {"delay_s": 4.0, "connections": 3}, "fetch": {"timeout_s": 5}}


@over_rows(
    ("words", "said"),
    [
        (["--until", "much"], "--until is 'much'; it must be a number, or none"),
        (["--until", ""], "--until is ''; it must be a number, or none"),
        (["--budget", "1.5"], "--budget is '1.5'; it must be a whole number, or none"),
        (["--budget", "0"], "--budget is 0; it must be at least 1"),
        (["--workers", "1_0"], "--workers is '1_0'; it must be a whole number"),
        (["--workers", "0"], "--workers is 0; it must be from 1 to 10,000"),
        (["--scope", "hosts"], "no choice for --scope named 'hosts'; did you mean 'host'?"),
        (["--set", "fetch.timeout_s"], "--set fetch.timeout_s: write table.key=value, such as fetch.timeout_s=10"),
        (["--set", "timeout=1"], "--set timeout=1: write table.key=value"),
        (["--set", "fetsh.timeout_s=1"], "no table of settings named 'fetsh'; did you mean 'fetch'? (choices: crawl"),
        (
            ["--set", "fetch.timeout=1"],
            "no setting in [fetch] named 'timeout'; did you mean 'timeout_s'? (choices: acc",
        ),
        (["--set", "fetch.timeout_s=soon"], "--set fetch.timeout_s is 'soon'; it must be a number"),
        (["--set", "crawl.sitemaps=perhaps"], "--set crawl.sitemaps is 'perhaps'; it must be true or false"),
        (["--set", 'fetch.content_types=["a/b'], "it must be a list of texts"),
        (["--set", "crawl.proof=true"], "no setting in [crawl] named 'proof'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(words: list[str], said: str) -> None:
    with pytest.raises(InputError) as caught:
        given(*words)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@over_rows("name", sorted(ALL))
def test_what_is_set_comes_back(name: str) -> None:
    """The text of a default is parsed to the default, for each setting."""
    one = ALL[name]
    assert one.about.help.endswith((".", ","))
    if isinstance(one.default, str | int | float | bool):
        word = option_word(name.partition(".")[0], SettingsField(one.name, one.hint, one.default, About()), one.default)
        assert from_text(word.partition("=")[2].partition("=")[2], one, name) == one.default


def _options(command: Any, hidden: bool) -> set[str]:
    return {option for one in command.params if hidden or not one.hidden for option in one.opts if option[:2] == "--"}


def test_the_help_shows_what_most_crawls_need() -> None:
    application: Any = typer.main.get_command(command_line("crawl"))
    command = application.commands["crawl"]
    short, long = _options(command, False), _options(command, True)
    assert len(short - {"--help", "--help-all"}) <= 23
    assert {"--until", "--budget", "--stop-when", "--scope", "--delay", "--set"} <= short < long
    assert {"--connect-to", "--cluster", "--n-seeds"} <= long - short
    assert "--connect-to" not in orienteer("crawl", "--help").stdout
    text = orienteer("crawl", "--help-all", columns=300).stdout
    assert [option for option in long if option not in text] == []
    assert [name for name in ALL if f"\n{name} " not in text] == []
    assert "Timeout of a page, in seconds (30, from 0.001 to 86,400)." in text


def test_a_refresh_has_the_options_that_a_resume_may_change() -> None:
    names = {name for name in inspect.signature(refresh).parameters if "__" in name and not name.startswith("how__")}
    assert names == {
        f"{name.replace('.', '__')}" for name, one in ALL.items() if one.about.option and not one.about.fixed
    }
    assert {"scope__kind", "crawl__policy"} <= set(inspect.signature(crawl).parameters)
