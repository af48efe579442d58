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


def test_the_public_names_are_there_and_no_others() -> None:
    assert set(ori.__all__) == set(ori._HOMES)
    for name in ori.__all__:
        assert getattr(ori, name) is not None
    assert set(ori.__all__) == {name for name in dir(ori) if not name.startswith("__")}
    with pytest.raises(AttributeError, match="no attribute 'pagerang'"):
        ori.pagerang  # noqa: B018


def test_importing_the_package_imports_nothing_heavy() -> None:
    script = "import orienteer, sys; assert not {'numpy', 'numba'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


def modules() -> list[str]:
    packages = (ori, experiments)
    found = [one for package in packages for one in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    return [module.name for module in found if not module.name.endswith("__main__")]


@pytest.mark.parametrize("name", modules())
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
