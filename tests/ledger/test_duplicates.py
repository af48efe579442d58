"""Duplicates of a crawl, with its database: opened again, killed in between, with pages that change."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from orienteer.errors import CrawlFolderError
from orienteer.extract import near_duplicates
from orienteer.ledger import band_index
from orienteer.ledger.duplicates import Duplicates
from orienteer.store.database import Database

WORDS = [f"word{k}" for k in range(3_000)]


def text_of(rng: np.random.Generator, like: list[str] | None = None, n_changed: int = 0) -> list[str]:
    """Words drawn at random, or those of another text with a few others in between."""
    words = list(rng.choice(WORDS, 200)) if like is None else list(like)
    for place in rng.integers(0, len(words), n_changed):
        words[place] = str(rng.choice(WORDS))
    return words


@cache
def bands(signature: bytes) -> set[int]:
    return set(near_duplicates.bands(signature))


class Reference:
    """Compares with all pages that were found to repeat none."""

    def __init__(self) -> None:
        self.known: dict[int, bytes] = {}

    def near(self, page: int, signature: bytes, was_known: bool) -> int | None:
        if was_known:
            self.known.pop(page, None)
        own = bands(signature)
        for other in sorted(self.known):
            if own & bands(self.known[other]):
                if near_duplicates.similarity(signature, self.known[other]) >= near_duplicates.NEAR:
                    return other
        self.known[page] = signature
        return None


@pytest.mark.parametrize("seed", range(2))
def test_near_duplicates_are_those_that_comparing_all_would_find(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the process goes on, the folder is opened again, or the process is killed before it commits."""
    monkeypatch.setattr(band_index, "_MAX_PAGES", 90)  # so that there are several tables
    rng = np.random.default_rng(seed)
    texts = [text_of(rng) for _ in range(40)]
    database, reference = Database.create(tmp_path / "crawl.db"), Reference()
    duplicates = Duplicates(database, exact=True, near=True)
    committed: dict[int, bytes] = {}
    pages, n_found = rng.permutation(2_000)[:400].tolist(), 0
    for k, page in enumerate(pages):
        was_known = k > 0 and rng.random() < 0.2
        page = int(rng.choice(pages[:k])) if was_known else page
        like = None if rng.random() < 0.3 else texts[int(rng.integers(0, len(texts)))]
        signature = near_duplicates.signature(" ".join(text_of(rng, like, int(rng.integers(0, 8)))))
        assert signature is not None
        found = duplicates.near(page, signature, was_known)
        assert found == reference.near(page, signature, was_known), f"seed {seed}, page {page}, the {k}-th"
        n_found += found is not None
        what = rng.random()
        if what < 0.05:
            database.commit()
            committed = dict(reference.known)
        elif what < 0.08:  # killed, and opened again
            database.close()
            database = Database.open(tmp_path / "crawl.db")
            duplicates, reference.known = Duplicates(database, exact=True, near=True), dict(committed)
    database.close()
    assert n_found > 50


def test_what_is_not_looked_for_is_not_found(tmp_path: Path) -> None:
    signature = near_duplicates.signature(" ".join(WORDS[:100]))
    with Database.create(tmp_path / "crawl.db") as database:
        duplicates = Duplicates(database, exact=False, near=False)
        assert duplicates.near(0, signature, was_known=False) is None
        assert duplicates.near(1, signature, was_known=False) is None
        assert database.signatures.count() == 0


def test_a_signature_that_is_cut_off_is_damage(tmp_path: Path) -> None:
    with Database.create(tmp_path / "crawl.db") as database:
        database.signatures.add(3, b"too short")
        with pytest.raises(CrawlFolderError, match="a signature is cut off"):
            Duplicates(database, exact=True, near=True).near(
                4, near_duplicates.signature(" ".join(WORDS[:100])), was_known=False
            )
