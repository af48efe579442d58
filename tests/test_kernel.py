"""Kernels as plain Python: what they do, and what a crawl does, is the same to the bit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orienteer import kernel, kernel_cache
from orienteer.crawl.politeness import Politeness
from orienteer.crawl.seen import SeenUrls
from orienteer.crawl.simulate import Trace, simulate
from orienteer.extract import near_duplicates
from orienteer.extract.page import extract_page
from orienteer.extract.tokens import page_tokens
from orienteer.graph.pagerank import pagerank
from orienteer.kernel import (
    Kernel,
    NotCompiled,
    allocating_kernel,
    compiled_here,
    never_waiting,
    only_loading,
    plain_at_first,
    runs_plain,
    substituted,
)
from orienteer.ledger.plan import CrawlPlan
from orienteer.live.warm_up import warm_up
from orienteer.policies import all_policies
from orienteer.policies.focused import FocusedPolicy
from orienteer.policies.trained import TrainedPolicy
from tests.conftest import random_web

# Those that need no training, and can crawl what they do not know.
UNTRAINED = [
    name for name in sorted(all_policies()) if not issubclass(all_policies()[name], TrainedPolicy) and name != "optimal"
]


class CompilesUntil:
    """A compiler that has finished when it is asked so often; without a number it never has."""

    def __init__(self, n_asked: float = np.inf) -> None:
        self.n_left = n_asked
        self.n_waited = 0

    def poll(self) -> int | None:
        self.n_left -= 1
        return None if self.n_left > 0 else 0

    def wait(self) -> int:
        self.n_waited += 1
        return 0


def _arrays(arguments: tuple[Any, ...]) -> Iterator[np.ndarray]:
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            yield argument
        elif isinstance(argument, tuple):
            yield from _arrays(argument)


def _as_bits(value: Any) -> Any:
    """Comparable to the bit, and with its type: 0.0 is not -0.0, 1 is not True."""
    if isinstance(value, tuple):
        return tuple(map(_as_bits, value))
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    return type(value), value.hex() if isinstance(value, float) else value


@contextmanager
def compared(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """Every call of a kernel is done twice, compiled and plain, on the same arrays; the names of those called."""
    names: set[str] = set()

    def call(self: Kernel, *arguments: Any) -> Any:
        names.add(f"{self.__module__}.{self.__name__}".removeprefix("orienteer."))
        arrays = list(_arrays(arguments))
        before = [array.copy() for array in arrays]
        expected = _as_bits((self.compiled(*arguments), *arrays))
        for array, content in zip(arrays, before, strict=True):
            if array.flags.writeable:  # in place: some arrays are views of others
                array[...] = content
        with np.errstate(over="ignore"):
            found = kernel._as_compiled(self.plain(*map(kernel._as_plain, arguments)))
        assert _as_bits((found, *arrays)) == expected, names
        return found

    with monkeypatch.context() as patch:
        patch.setattr(Kernel, "__call__", call)
        yield names


@pytest.mark.filterwarnings("error")
def test_every_kernel_of_a_crawl_does_the_same_as_plain_python(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    web = random_web(rng, 60, with_hosts=True)
    relevance, hubs = rng.random(web.n_pages), np.argsort(web.out_degrees())[-3:]
    with compared(monkeypatch) as names:
        for name in UNTRAINED:
            settings = {"seeds": ["http://a.example/"], "policy": name, "topic": True}
            warm_up(CrawlPlan.of_tables({"crawl": settings}, "here"))
            focus = relevance if issubclass(all_policies()[name], FocusedPolicy) else None
            simulate(web, name, hubs, 0.9, step_by_step=True, politeness=Politeness(1.0), relevance=focus)
    assert {name.split(".")[0] for name in names} >= {"extract", "crawl", "graph", "policies"}
    assert {"crawl.host_heaps.take", "graph.push.push_waiting", "graph.coverage_push.push_active"} <= names


@pytest.mark.filterwarnings("error")
def test_the_kernels_that_read_pages_do_the_same_as_plain_python(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    words = [
        "the",
        "of",
        "and",
        "Ünï",
        "漢字",
        "x1",
        "&amp;",
        "é",
        "<b>",
        "</b>",
        "<!-- c -->",
        "<p class='a'>",
        "</a>",
    ]
    words += ["<script>if (a < b) x</script>", "<NOSCRIPT>", "<title>T</title>", "<textarea>", "&am", "<<"]
    words += ["<p class='a'>", "<a href=/é?q=1>", "<a href=/two>"]
    with compared(monkeypatch) as names:
        seen = SeenUrls(bytes(range(16)))
        for _ in range(60):
            html = " ".join(rng.choice(words, rng.integers(1, 120)))
            page = extract_page(html.encode(), "http://a.example/")
            near_duplicates.signature(page.text)
            page_tokens(page.text)
            seen.number(page.links)
        many = [f"http://h{k % 90}.example/{'x' * (k % 40)}{k}" for k in rng.integers(0, 5_000, 3_000).tolist()]
        seen.number(many)
        assert [seen.find(url) for url in many[:50]] == seen.number(many[:50])[0].tolist()
    assert {"extract.page_text._read_text", "extract.tokens._hash_words"} <= names
    assert {"extract.near_duplicates._hash_shingles", "crawl.seen._number_text", "crawl.seen._find"} <= names


def _bits(trace: Trace) -> tuple[list[int], bytes, bytes]:
    proved = np.array([(one.lower, one.upper) for one in trace.certificates(np.arange(1, trace.n_fetched + 1))])
    guarantees = np.zeros(0) if trace.guarantees is None else trace.guarantees
    return trace.order.tolist(), proved.tobytes(), guarantees.tobytes()


@pytest.mark.parametrize("policy", UNTRAINED)
def test_a_crawl_is_the_same_wherever_compiled_kernels_take_over(policy: str, rng: np.random.Generator) -> None:
    web = random_web(rng, 60, with_hosts=True)
    hubs = np.argsort(web.out_degrees())[-3:]
    relevance = rng.random(web.n_pages) if issubclass(all_policies()[policy], FocusedPolicy) else None

    def crawled() -> tuple[list[int], bytes, bytes]:
        polite = Politeness(delay_s=1.0)
        return _bits(simulate(web, policy, hubs, step_by_step=True, politeness=polite, relevance=relevance))

    compiled = crawled()
    assert len(compiled[0]) > 10
    for n_asked in (1, 2, int(rng.integers(3, 100)), int(rng.integers(100, 1000)), np.inf):
        with substituted(CompilesUntil(n_asked)):
            assert crawled() == compiled, n_asked


def test_ranks_are_the_same_in_plain_python(rng: np.random.Generator) -> None:
    web = random_web(rng, 200)
    compiled = pagerank(web)
    with substituted(CompilesUntil()):
        assert pagerank(web).tobytes() == compiled.tobytes()


@allocating_kernel
def _total(values: Any) -> Any:
    total = 0
    for value in values:
        total += value
    return total


@allocating_kernel
def _sum(values: Any) -> Any:
    total = 0
    for value in values:
        total += value
    return total


def test_where_there_is_much_to_do_the_compiler_is_waited_for() -> None:
    compiler = CompilesUntil()
    with substituted(compiler):
        assert _sum(np.arange(10)) == 45
        assert compiler.n_waited == 0
        assert not _sum.compiled.signatures
        large = np.ones(kernel._MOST_PLAIN + 1, np.int64)
        assert _sum(large) == len(large)
        assert compiler.n_waited == 1
        assert _sum.compiled.signatures
        assert _sum(np.arange(10)) == 45, "and compiled from then on"
        assert compiler.n_waited == 1


def test_with_requests_in_flight_the_compiler_is_never_waited_for() -> None:
    compiler, large = CompilesUntil(), np.ones(kernel._MOST_PLAIN + 1, np.int64)
    with substituted(compiler), never_waiting():
        assert _sum(large) == len(large)
    assert compiler.n_waited == 0


def test_blocks_that_never_wait_may_overlap_in_any_order() -> None:
    """As two crawls in threads do, of which the first ends first."""
    compiler, large = CompilesUntil(), np.ones(kernel._MOST_PLAIN + 1, np.int64)
    first, second = never_waiting(), never_waiting()
    with substituted(compiler):
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert _total(large) == len(large)
        assert compiler.n_waited == 0
        second.__exit__(None, None, None)
        assert _total(large) == len(large)
        assert compiler.n_waited == 1


def test_what_is_only_loaded_or_compiled_here_is_not_plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "folder", lambda: tmp_path)  # where nothing is in the cache
    with substituted(CompilesUntil()):
        assert runs_plain()
        with only_loading(), pytest.raises(NotCompiled):
            _tripled(2)
        assert _tripled(2) == 6
        assert not _tripled.compiled.signatures  # type: ignore[attr-defined]
        with compiled_here():
            assert _tripled(2) == 6
        assert _tripled.compiled.signatures  # type: ignore[attr-defined]
    assert not runs_plain()


@allocating_kernel
def _tripled(number):  # type: ignore[no-untyped-def]
    return 3 * number


@allocating_kernel
def _doubled(number):  # type: ignore[no-untyped-def]
    return 2 * number


def test_what_has_run_compiled_does_so_from_the_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "_plain_s", 60.0)
    with plain_at_first():
        assert _doubled(2) == 4
        assert "compiled" not in vars(_doubled), "the compiler has not even been asked for"
    assert _doubled(2) == 4
    _doubled.plain = None  # type: ignore[attr-defined]  # so that it cannot be called
    with plain_at_first():
        assert _doubled(2) == 4


@allocating_kernel
def _halved(number):  # type: ignore[no-untyped-def]
    return number // 2


def test_the_time_for_plain_python_is_that_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "_plain_s", 60.0)
    with plain_at_first():
        start = time.process_time()
        while time.process_time() - start < 0.02:
            pass
        assert _halved(4) == 2
    assert kernel._plain_s < 60.0 - 0.02
    assert "compiled" not in vars(_halved)
    monkeypatch.setattr(kernel, "_plain_s", 0.0)
    with plain_at_first():
        assert _halved(4) == 2
    assert _halved.compiled.signatures  # type: ignore[attr-defined]


def test_small_numbers_do_not_overflow_in_plain_python() -> None:
    """The compiler counts in 64 bits, whatever an array holds."""
    values = np.full(3, 250, np.uint8)
    with substituted(CompilesUntil()):
        assert _sum(values) == 750
