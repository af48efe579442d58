"""Hooks are loaded by name, by path or as functions; and a folder cannot run hook files."""

from __future__ import annotations

from pathlib import Path

import pytest

import orienteer as ori
from orienteer import hooks
from orienteer.errors import InputError
from orienteer.hooks import HookSource, hooks_from_arguments, hooks_from_settings
from orienteer.registry import Registry
from tests.hooks.hook_files import hook_file, hook_page, installed_plug_in

TAGS_ALL = 'import orienteer as ori\ndef on_page(page):\n    return ori.Added(tags=["installed"])\n'


@pytest.fixture
def plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(installed_plug_in(tmp_path, TAGS_ALL))
    clear_plug_in_registry(monkeypatch)


def clear_plug_in_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Installed plug-ins are cached in a process."""
    monkeypatch.setattr(hooks, "HOOKS", Registry("page hook", hooks._why_not, group=hooks.GROUP))


def refusal(*given: HookSource) -> str:
    with pytest.raises(InputError) as caught:
        hooks_from_arguments(given)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_files_plug_ins_and_functions(plug_in: None, tmp_path: Path) -> None:
    def own(page: ori.HookPage) -> ori.Added:
        return ori.Added(tags=["own"])

    (tmp_path / "other").mkdir()
    other = hook_file(tmp_path / "other", TAGS_ALL, "other.py")
    hooks = hooks_from_arguments([str(hook_file(tmp_path)), other, "shop", own])
    assert [hook.name for hook in hooks] == ["prices.py", "other.py", "shop", "own()"]


def test_each_is_run(plug_in: None, tmp_path: Path) -> None:
    hooks = hooks_from_arguments([hook_file(tmp_path, TAGS_ALL.replace("installed", "file")), "shop"])
    found = [hook.run(hook_page()) for hook in hooks]
    assert found == [ori.Added(tags=["file"]), ori.Added(tags=["installed"])]


def test_a_file_may_define_dataclasses_and_is_read_each_time(tmp_path: Path) -> None:
    text = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\nimport orienteer as ori\n"
        "@dataclass\nclass Seen:\n    n: int = 1\n"
        "def on_page(page):\n    return ori.Added(fields={'n': Seen().n})\n"
    )
    for number in (1, 2):
        (hook,) = hooks_from_arguments([hook_file(tmp_path, text.replace("= 1", f"= {number}"))])
        assert hook.run(hook_page()) == ori.Added(fields={"n": number})
    assert [path.name for path in tmp_path.iterdir()] == ["prices.py"], "no bytecode is left next to it"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import no_such_module_here", "the hook cannot be loaded: ModuleNotFoundError: No module named"),
        ("def on_page(page:", "the hook cannot be loaded: SyntaxError: "),
        ("raise ValueError('a\\nb')", "the hook cannot be loaded: ValueError: a b"),
        ("raise SystemExit(3)", "the hook cannot be loaded: SystemExit: 3"),
        ("x = 1", "there is no function on_page(page) in it"),
        ("on_page = 1", "there is no function on_page(page) in it"),
        ("\x00", "the hook cannot be loaded: "),
    ],
)
def test_a_file_that_cannot_be_loaded_is_one_line(text: str, why: str, tmp_path: Path) -> None:
    path = hook_file(tmp_path, text)
    assert refusal(path).startswith(f"{path}: {why}")


def test_invalid_hooks_are_one_line(plug_in: None, tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.py") == f"{tmp_path / 'none.py'}: no such hook file"
    assert refusal("a/b") == "a/b: no such hook file"
    other = hook_file(tmp_path, name="hook.txt")
    assert refusal(other) == f"{other}: the name of a hook file ends in .py"
    assert refusal("shob").startswith("no page hook named 'shob'; did you mean 'shop'?")
    assert refusal(7).startswith("a hook is 7; it must be")  # type: ignore[arg-type]
    (tmp_path / "deeper").mkdir()
    twins = [hook_file(tmp_path), hook_file(tmp_path / "deeper")]
    assert refusal(*twins) == "two hooks are named prices.py; each must have a name of its own"


def test_a_plug_in_that_cannot_be_loaded_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(installed_plug_in(tmp_path, "on_page = 7", "seven"))
    clear_plug_in_registry(monkeypatch)
    assert refusal("seven") == (
        "no page hook named 'seven' is installed; the plug-in of shop-hooks 1.0 could not be loaded: "
        "7 is not a function that takes a page"
    )


def test_settings_run_only_installed_hooks(plug_in: None, tmp_path: Path) -> None:
    assert [hook.name for hook in hooks_from_settings(["shop"], "here")] == ["shop"]
    marker = tmp_path / "marker"
    evil = hook_file(tmp_path, f"open({str(marker)!r}, 'w').close()\ndef on_page(page): pass\n", "evil.py")
    for name in (str(evil), "evil.py", "./evil.py", "../evil", "a\\evil"):
        with pytest.raises(InputError) as caught:
            hooks_from_settings(["shop", name], "here")
        assert str(caught.value) == (
            f"here: the crawl has the hook {name}, a file, and no folder runs files on its own; "
            f"name it again (--hook {name}), or go on without hooks (--no-hooks)"
        )
    with pytest.raises(InputError, match=r"the hook own\(\), a function of a Python program; pass it again"):
        hooks_from_settings(["own()"], "here")
    with pytest.raises(InputError, match="no page hook named 'os.system'"):
        hooks_from_settings(["os.system"], "here")
    assert not marker.exists()
