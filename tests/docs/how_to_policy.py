"""The policy of docs/how-to/add-a-policy.md, and the command that holds it to every law, as the reader finds them."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.docs.blocks import document

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "add-a-policy.md"
NAME = "near-and-linked"


def policy_file() -> tuple[str, str]:
    """Where the reader saves the policy, and its text."""
    block = next(block for block in document(PAGE).blocks if block.file and block.file.startswith("src/"))
    assert block.file is not None
    return block.file, block.code


def law_command() -> str:
    """The command that runs every law."""
    return next(block.code for block in document(PAGE).blocks if block.kind == "sh" and "pytest" in block.code)


def clone(folder: Path, code: str) -> Path:
    """A copy of the package with this policy in it; its src folder. What is compiled goes along."""
    shutil.copytree(ROOT / "src", folder / "src")
    (folder / "tests").symlink_to(ROOT / "tests")
    (folder / policy_file()[0]).write_text(code, encoding="utf-8")
    return folder / "src"
