from __future__ import annotations

import doctest
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import experiments
import orienteer as ori
from orienteer.public_names import _FORMER_NAMES, public_names
from tests.tables import over_rows

PACKAGES = ("orienteer", "orienteer.graph", "orienteer.search", "orienteer.seeds", "orienteer.topics")


@over_rows("name", PACKAGES)
def test_the_public_names_are_there_and_no_others(name: str) -> None:
    package = importlib.import_module(name)
    names = public_names(name)
    assert names
    for one in names:
        assert getattr(package, one) is not None
    assert list(names) == list(vars(package).get("__all__", package.__all__)) == sorted(names)
    assert set(names) == {one for one in dir(package) if not one.startswith("__")}
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'pagerang'"):
        package.pagerang  # noqa: B018


def test_the_top_level_has_the_most_used_names_only() -> None:
    assert len(public_names("orienteer")) <= 15


@over_rows("name", sorted(_FORMER_NAMES))
def test_a_name_that_was_at_the_top_level_is_found_where_the_error_says(name: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(ori, name)
    place = str(caught.value).removeprefix(f"orienteer.{name} is ").removesuffix(" now")
    if "(" not in place:
        module, _, attribute = place.rpartition(".")
        assert getattr(importlib.import_module(module), attribute) is not None
    else:
        first = place.partition("(")[0].removeprefix("orienteer.")
        assert callable(getattr(ori, first))
        if ")." in place:
            assert callable(getattr(ori.SavedCrawl, place.partition(").")[2].partition("(")[0]))


def test_a_public_function_is_not_replaced_by_the_module_of_its_name() -> None:
    script = """
import orienteer.crawl.goal, orienteer.graph.pagerank, orienteer.graph.survey.crawl_survey
import orienteer as ori, orienteer.graph
from orienteer.graph import *
from orienteer.graph.pagerank import pagerank as same
assert pagerank is same is ori.pagerank is ori.graph.pagerank
assert ori.crawl.__name__ == "crawl" and ori.graph.survey.__name__ == "survey" and callable(ori.crawl)
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_importing_the_package_imports_nothing_heavy() -> None:
    script = "import orienteer, sys; assert not {'numpy', 'numba', 'scipy', 'ast'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_opening_a_crawl_imports_neither_numba_nor_scipy() -> None:
    script = "import orienteer, sys; orienteer.open; assert not {'numba', 'scipy', 'pycurl'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


def modules() -> list[str]:
    packages = (ori, experiments)
    found = [one for package in packages for one in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    return [module.name for module in found if not module.name.endswith("__main__")]


@over_rows("name", modules())
def test_every_module_has_a_docstring_and_its_examples_are_right(name: str) -> None:
    module = importlib.import_module(name)
    if not name.endswith((".cli", ".extract")):
        assert module.__doc__, name
    # Looking for examples takes longer than trying those of most modules.
    if ">>>" in Path(module.__file__ or "").read_text(encoding="utf-8"):
        assert doctest.testmod(module).failed == 0


def test_the_layers_hold() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
