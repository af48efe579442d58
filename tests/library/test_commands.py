"""Text typed into a form becomes an option of the allow-list, or an error of one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.errors import InputError, OrienteerError
from orienteer.exports import all_exporters
from orienteer.library.commands import (
    _OPTIONS,
    KINDS,
    Options,
    checked_options,
    checked_url,
    command_line,
    plan_of_new_crawl,
)
from orienteer.library.jobs import Jobs, expect_public
from orienteer.library.library import Library
from tests.tables import over_rows

NAMED = sorted({name for kind in KINDS for name in _OPTIONS["new crawl" if kind == "crawl" else kind]})
GIVEN = st.sampled_from(["--allow-private", "-o /etc", "x\n--hook=evil", "98 %", "0.5", "1", "on", "web", "auto", "2n"])
VALUES = GIVEN | st.text(max_size=30) | st.integers() | st.floats() | st.booleans()
FLAGS = (
    "--until=", "--budget=", "--delay=", "--user-agent=", "--render=", "--scope=", "--max-depth=", "--format=",
    "--stop-when=", "--set=render.screenshots=", "--output=/crawls/x", "--output=/out", "--library=/crawls",
)  # fmt: skip
SWITCHES = ("--screenshots", "--assets", "--index", "--rebuild", "--all", "--full-text", "--due")


@given(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(NAMED), VALUES, max_size=5))
def test_user_input_never_becomes_a_flag_or_a_path(kind: str, options: dict[str, str | int | float | bool]) -> None:
    try:
        found = checked_options(kind, options)
    except InputError as error:
        assert "\n" not in str(error)
        return
    typed = command_line(kind, Path("/crawls/x"), found, Path("/out") if kind == "export" else None)
    assert typed[:2] == ("orienteer", kind)
    assert typed[2] == "/crawls/x" or typed[2] == found["url"].encode("ascii").decode()
    assert all(part.startswith(FLAGS) or part in SWITCHES for part in typed[3:])
    assert all("\n" not in argument and "\0" not in argument for argument in typed)


@given(st.text(max_size=200))
def test_an_accepted_url_is_http(text: str) -> None:
    try:
        url = checked_url(text)
    except InputError as error:
        assert "\n" not in str(error)
    else:
        assert url.startswith(("http://", "https://"))
        assert url.isascii()


@over_rows(
    ("text", "line"),
    [
        ("ftp://example.org/", "ftp://example.org/: only http and https can be crawled"),
        ("file:///etc/passwd", "file:///etc/passwd: only http and https can be crawled"),
        ("https://me:secret@example.org/", "the address contains a user name or password"),
        ("https:///me@example.org/", "the address contains a user name or password"),
        ("https:\\\\me@example.org", "is not a valid URL"),
        ("me@example.org", "the address contains a user name or password"),
        ("https://", "is not a valid URL"),
        ("", "is not a valid URL"),
        ("https://exa mple.org", "is not a valid URL"),
        ("javascript:alert(1)", "is not a valid URL"),
        ("x" * 5000, "the address is too long"),
    ],
)
def test_invalid_start_urls(text: str, line: str) -> None:
    with pytest.raises(InputError) as caught:
        checked_url(text)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_urls_as_people_type_them() -> None:
    assert checked_url(" Example.org ") == "https://example.org/"
    assert checked_url("HTTP://Example.org/@me?a@b") == "http://example.org/@me?a@b"


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/", "http://localhost:8000/", "http://a.localhost/", "http://10.0.0.1/", "http://[::1]/",
        "http://0x7f.1/", "http://2130706433/", "http://[::ffff:192.168.0.1]/", "http://169.254.169.254/latest/",
        "http://127.1/", "http://LOCALHOST./", "http://0/", "http://100.64.0.1/",
    ],
)  # fmt: skip
def test_private_addresses_are_refused_in_one_line(library: Library, url: str) -> None:
    with pytest.raises(InputError, match=r"is not a public address \(.*\)"):
        Jobs(library).check("crawl", "new", {"url": url})
    expect_public("http://8.8.8.8/")
    Jobs(library).check("crawl", "new", {"url": "http://example.org/"})
    Jobs(library, allow_private=True).check("crawl", "new", {"url": url})
    assert library.names() == ["a.test"]
    assert Jobs(library).all() == []


@pytest.mark.parametrize(
    ("kind", "options", "line"),
    [
        ("crawl", {"url": "http://b.test/", "allow_private": True}, "no option of this crawl named 'allow_private'"),
        ("crawl", {"url": "http://b.test/", "hook": "x.py"}, "no option of this crawl named 'hook'"),
        ("crawl", {"url": "http://b.test/", "until": "150 %"}, "until is 1.5; a coverage lies between 0 and 1"),
        ("crawl", {"url": "http://b.test/", "until": "much"}, "until is 'much'; it must be a number"),
        ("crawl", {"url": "http://b.test/", "budget": "-5"}, "budget is -5; it must be at least 1"),
        ("crawl", {"url": "http://b.test/", "budget": 0}, "budget is 0; it must be at least 1"),
        ("crawl", {"url": "http://b.test/", "delay": "nan"}, "delay is nan; it must be at least 0"),
        ("crawl", {"url": "http://b.test/", "delay": 0}, "delay is 0.0; choose 0.1 or more seconds"),
        ("crawl", {"url": "http://b.test/", "delay": -1}, "delay is -1.0; it must be at least 0"),
        (
            "crawl",
            {"url": "http://b.test/", "scope": "world"},
            "no choice for scope named 'world' (choices: host, prefix",
        ),
        ("crawl", {"url": "http://b.test/", "scope": "web"}, "a crawl of the whole web needs a budget"),
        ("crawl", {"url": "http://b.test/", "render": "sometimes"}, "render mode is 'sometimes'; write auto"),
        ("crawl", {"url": "http://b.test/", "stop_when": "guessed"}, "stop_when is 'guessed'; it begins with measured"),
        ("crawl", {"url": "http://b.test/", "user_agent": "Zoë"}, "user_agent is 'Zoë'; it must be a line of plain"),
        ("crawl", {"scope": "site"}, "no option of this crawl named 'scope'"),
        ("index", {"rebuild": "perhaps"}, "rebuild is 'perhaps'; it must be on or off"),
        ("estimate", {"budget": "lots"}, "budget is 'lots'; give a number of pages, or times the domain"),
        ("export", {}, "an export needs a format: "),
        ("export", {"format": "jsnl"}, "did you mean 'jsonl'?"),
        ("export", {"format": "jsonl", "out": "/etc/x"}, "no option of this export named 'out'"),
        ("delete", {}, "no kind of job named 'delete'"),
    ],
)
def test_invalid_options(library: Library, kind: str, options: Options, line: str) -> None:
    name = "new" if "url" in options else "a.test"
    with pytest.raises(OrienteerError) as caught:
        Jobs(library).start(kind, name, options)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)
    assert Jobs(library).all() == []


def test_forms_leave_fields_empty() -> None:
    given = {
        "url": "b.test",
        "until": "98 %",
        "budget": "1,000",
        "delay": "",
        "scope": "site",
        "index": "on",
        "max_depth": " ",
    }
    found = checked_options("crawl", given)
    assert found == {"url": "b.test/", "until": 0.98, "budget": 1000, "scope": "site", "index": True}
    plan = plan_of_new_crawl(found["url"], found, allow_private=False)
    assert (plan.crawl.until, plan.crawl.budget, plan.scope.kind, plan.fetch.allow_private) == (
        0.98,
        1000,
        "site",
        False,
    )
    assert command_line("crawl", Path("/c/b.test"), found) == (
        "orienteer", "crawl", "b.test/", "--output=/c/b.test", "--until=0.98", "--budget=1000",
        "--scope=site", "--index",
    )  # fmt: skip
    assert checked_options("crawl", {"url": "", "index": "off", "budget": "none"}) == {"budget": None}
    assert {"jsonl", "wacz"} <= set(all_exporters())
