"""Hooks without a crawl: valid return values, the order of hooks, and failures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import orienteer as ori
from orienteer.hooks import (
    MAX_FIELDS,
    MAX_JSON_BYTES,
    MAX_LINKS,
    MAX_TAG_CHARS,
    MAX_TAGS,
    Hook,
    HookFailures,
    PageHooks,
)
from orienteer.pages.added import Additions
from tests.hooks.hook_files import hook_page
from tests.tables import over_rows


def run(*hooks: Callable[[Any], Any]) -> tuple[Additions, dict[str, HookFailures], list[tuple[str, str, str]]]:
    """Return the additions of hooks named 0, 1, ..., and the failures as counted and as reported."""
    reported: list[tuple[str, str, str]] = []
    named = [Hook(str(number), hook) for number, hook in enumerate(hooks)]
    running = PageHooks(named, lambda hook, url, why: reported.append((hook.name, url, why)))
    return running.additions(hook_page()), running.failures, reported


def returned(value: object) -> Additions:
    """Return the additions for a valid return value of a hook."""
    added, failures, _ = run(lambda page: value)
    assert failures == {}
    return added


def refusal(value: object) -> str:
    """Return the error message for an invalid value, which adds nothing."""
    added, failures, _ = run(lambda page: value)
    assert added == Additions(is_complete=False)
    assert failures["0"].n == 1
    assert "\n" not in failures["0"].first
    return failures["0"].first.removeprefix("http://a.test/b/: ")


def test_additions_of_one_hook() -> None:
    fields = {"price": 12.5, "n": 3, "sold": True, "by": "Jane", "names": ["a", "b"], "_x1": ("c",)}
    added = returned(ori.Added(links=["/c", "d?utm_source=x#top"], fields=fields, tags=["shop", " second \n hand "]))
    assert added.links == ("http://a.test/c", "http://a.test/b/d")
    assert added.fields == fields | {"_x1": ["c"]}
    assert [type(value) for value in added.fields.values()] == [float, int, bool, str, list, list]
    assert added.tags == ("shop", "second hand")
    assert Additions.of_json(added.to_json()) == Additions(fields=added.fields, tags=added.tags)


def test_none_adds_nothing() -> None:
    assert returned(None) == returned(ori.Added()) == Additions()
    assert not returned(ori.Added(links=["/only/a/link"]))


def test_hooks_run_in_the_order_named_and_the_later_one_wins() -> None:
    first = ori.Added(["/1", "/2"], {"a": 1, "b": 1}, ["x", "y"])
    later = ori.Added(["/3", "/1"], {"b": 2}, ["y", "z"])
    added, failures, _ = run(lambda page: first, lambda page: None, lambda page: later)
    assert failures == {}
    assert added.links == ("http://a.test/1", "http://a.test/2", "http://a.test/3")
    assert (added.fields, added.tags) == ({"a": 1, "b": 2}, ("x", "y", "z"))


@over_rows(
    ("value", "why"),
    [
        ("text", "it returned str; a hook returns None or orienteer.Added(...)"),
        ({"price": 1}, "it returned dict; a hook returns None or orienteer.Added(...)"),
        (ori.Added(links="http://a.test/"), "links is 'http://a.test/'; it must be a list of texts"),
        (ori.Added(links=["ftp://a.test/"]), "the link 'ftp://a.test/' is no address of a page"),
        (ori.Added(links=[b"/x"]), "the link b'/x' is no address of a page"),
        (ori.Added(links=["http://"]), "the link 'http://' is no address of a page"),
        (ori.Added(links=7), "links is 7; it must be a list of texts"),
        (ori.Added(fields=["price"]), "fields is ['price']; it must be a dict of names and values"),
        (ori.Added(fields={"Price": 1}), "a field is named 'Price'; names are of a-z, 0-9 and _, such as 'price'"),
        (ori.Added(fields={"": 1}), "a field is named ''; names are"),
        (ori.Added(fields={"a" * 65: 1}), "a field is named"),
        (ori.Added(fields={1: 1}), "a field is named 1; names are"),
        (ori.Added(fields={"a": None}), "field a is None; it must be a text, a finite number, a bool or a list"),
        (ori.Added(fields={"a": float("nan")}), "field a is nan; it must be"),
        (ori.Added(fields={"a": 2**63}), "field a is 9223372036854775808; it must be"),
        (ori.Added(fields={"a": {"b": 1}}), "field a is {'b': 1}; it must be"),
        (ori.Added(fields={"a": ["b", 1]}), "field a is ['b', 1]; it must be"),
        (ori.Added(tags=["x", ""]), "a tag is ''; it must be a text of 1 to 100 characters"),
        (ori.Added(tags=["x" * (MAX_TAG_CHARS + 1)]), "a tag is 'xxx"),
        (ori.Added(tags=[1]), "a tag is 1; it must be"),
        (ori.Added(tags="shop"), "tags is 'shop'; it must be a list of texts"),
    ],
)  # fmt: skip
def test_invalid_values_are_errors_of_the_hook(value: object, why: str) -> None:
    assert refusal(value).startswith(why)


def test_limits() -> None:
    def links(n: int) -> ori.Added:
        return ori.Added(links=[f"/{number}" for number in range(n)])

    def fields(n: int) -> ori.Added:
        return ori.Added(fields={f"f{number}": number for number in range(n)})

    def tags(n: int) -> ori.Added:
        return ori.Added(tags=[f"t{number}" for number in range(n)])

    for made, limit, what in ((links, MAX_LINKS, "links"), (fields, MAX_FIELDS, "fields"), (tags, MAX_TAGS, "tags")):
        assert len(getattr(returned(made(limit)), what)) == limit
        assert refusal(made(limit + 1)) == f"the page would have {limit + 1:,} {what}; {limit:,} may be added to one"
    room = MAX_JSON_BYTES - len(Additions(fields={"a": ""}).to_json())
    assert returned(ori.Added(fields={"a": "x" * room})).fields == {"a": "x" * room}
    assert refusal(ori.Added(fields={"a": "x" * (room + 1)})) == (
        f"fields and tags of the page would have {MAX_JSON_BYTES + 1:,} bytes; {MAX_JSON_BYTES:,} are allowed"
    )


def test_limits_apply_to_all_hooks_together() -> None:
    one = ori.Added(fields={f"a{number}": 1 for number in range(60)})
    other = ori.Added(fields={f"b{number}": 1 for number in range(60)})
    added, failures, _ = run(lambda page: one, lambda page: other, lambda page: ori.Added(tags=["last"]))
    assert (len(added.fields), added.tags, list(failures)) == (60, ("last",), ["1"])


def test_a_hook_that_raises_does_not_affect_others() -> None:
    def raises(page: ori.HookPage) -> None:
        raise ValueError(f"no\nprice on {page.url}")

    def says_nothing(page: ori.HookPage) -> None:
        raise AssertionError

    added, failures, reported = run(raises, lambda page: ori.Added(tags=["x"]), says_nothing)
    assert (added.tags, added.is_complete) == (("x",), False)
    why = "ValueError: no price on http://a.test/b/"
    assert failures == {
        "0": HookFailures(1, f"http://a.test/b/: {why}"),
        "2": HookFailures(1, "http://a.test/b/: AssertionError"),
    }
    assert reported == [("0", "http://a.test/b/", why), ("2", "http://a.test/b/", "AssertionError")]


def test_the_first_failure_is_stored_and_all_are_counted() -> None:
    urls = iter(range(100))

    def raises(page: ori.HookPage) -> None:
        raise RuntimeError(f"failure {next(urls)}")

    hooks = PageHooks([Hook("h", raises)], lambda *_: None)
    for _ in range(5):
        hooks.additions(hook_page())
    assert hooks.failures == {"h": HookFailures(5, "http://a.test/b/: RuntimeError: failure 0")}


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_process_exits_are_not_caught(kind: type[BaseException]) -> None:
    def raises(page: ori.HookPage) -> None:
        raise kind

    with pytest.raises(kind):
        run(raises)


def test_lone_surrogates_and_control_characters_are_harmless() -> None:
    added = returned(ori.Added(fields={"a": "x\ud800", "b": ["\udfff"]}, tags=["\ud800y"]))
    assert added == Additions(fields={"a": "x?", "b": ["?"]}, tags=("?y",))
    added.to_json().encode()

    def raises(page: ori.HookPage) -> None:
        raise ValueError("\x1b[31m\u202ered\ud800")

    _, failures, _ = run(raises)
    failures["0"].first.encode()
    assert failures["0"].first.isprintable()


def test_the_argument_of_a_hook_is_immutable() -> None:
    page = hook_page(html="<p>Ä")
    assert page.html == "<p>Ä"
    with pytest.raises(AttributeError):
        page.title = "x"  # type: ignore[misc]
