"""The pages that share a band, against a dictionary."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from orienteer.extract.near_duplicates import BAND_SLOTS, N_BANDS, N_SLOTS, SLOT_TYPE, bands
from orienteer.kernel import substituted
from orienteer.ledger import band_index
from orienteer.ledger.band_index import PER_BAND, BandIndex


@pytest.fixture(autouse=True)
def _known_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are the same for different bands now and then: with another secret for others."""
    monkeypatch.setattr(band_index.secrets, "randbits", lambda n_bits: 0x9E3779B97F4A7C15 >> (64 - n_bits))


class Reference:
    """The slow and obvious version."""

    def __init__(self) -> None:
        self._pages: defaultdict[int, set[int]] = defaultdict(set)

    def add(self, page: int, signature: bytes) -> None:
        for band in bands(signature):
            self._pages[band].add(page)

    def remove(self, page: int, signature: bytes) -> None:
        for band in bands(signature):
            self._pages[band].discard(page)

    def find(self, signature: bytes) -> list[int]:
        return sorted({page for band in bands(signature) for page in sorted(self._pages[band])[:PER_BAND]})

    @property
    def largest(self) -> int:
        return max(map(len, self._pages.values()))


def signatures(rng: np.random.Generator, n: int, n_models: int, n_changed: int) -> list[bytes]:
    """Each differs from one of a few models in some bands."""
    models = rng.integers(0, 2**16, (n_models, N_SLOTS)).astype(SLOT_TYPE)
    found = models[rng.integers(0, n_models, n)]
    for row in found:
        changed = rng.integers(0, N_BANDS * BAND_SLOTS, n_changed)
        row[changed] = rng.integers(0, 2**16, n_changed)
    return [row.tobytes() for row in found]


def add(index: BandIndex, page: int, signature: bytes) -> None:
    index.add(np.array([page], np.uint32), signature)


def shared(index: BandIndex, signature: bytes, all_signatures: dict[int, bytes]) -> list[int]:
    """What the index finds, without those that only share a key."""
    own = set(bands(signature))
    return [page for page in index.find(signature) if own & set(bands(all_signatures[page]))]


@pytest.mark.parametrize("seed", range(2))
def test_it_finds_what_a_dictionary_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    index, reference, known = BandIndex(), Reference(), dict[int, bytes]()
    made = signatures(rng, 2_000, n_models=270, n_changed=6)
    for page, signature in zip(rng.permutation(10**6)[: len(made)].tolist(), made, strict=True):
        if rng.random() < 0.5:
            assert shared(index, signature, known) == reference.find(signature), f"seed {seed}, page {page}"
        add(index, page, signature)
        reference.add(page, signature)
        known[page] = signature
        if rng.random() < 0.2:  # it has other content now
            changed = int(rng.choice(list(known)))
            index.remove(changed, known[changed])
            reference.remove(changed, known.pop(changed))
    assert reference.largest <= PER_BAND  # with more the two differ once one of them is removed
    for signature in made:
        assert shared(index, signature, known) == reference.find(signature)


@pytest.mark.parametrize("seed", range(2))
def test_of_a_band_with_many_pages_it_keeps_the_first(seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = signatures(rng, 2_000, n_models=3, n_changed=15)
    pages = rng.permutation(10**6)[: len(made)].astype(np.uint32)
    one_by_one, at_once, reference = BandIndex(), BandIndex(len(made)), Reference()
    for page, signature in zip(pages.tolist(), made, strict=True):
        add(one_by_one, page, signature)
        reference.add(page, signature)
    at_once.add(pages, b"".join(made))
    assert reference.largest > 5 * PER_BAND
    known = dict(zip(pages.tolist(), made, strict=True))
    for signature in made[:200]:
        assert shared(one_by_one, signature, known) == reference.find(signature)
        assert shared(at_once, signature, known) == reference.find(signature)


def test_a_large_one_takes_about_sixty_bytes_a_page_and_loses_none() -> None:
    rng = np.random.default_rng(5)
    index, n_pages = BandIndex(), 60_000
    made = rng.bytes(n_pages * 2 * N_SLOTS)
    for start in range(0, n_pages, 7_000):
        pages = np.arange(start, min(start + 7_000, n_pages), dtype=np.uint32)
        index.add(pages, made[2 * N_SLOTS * start : 2 * N_SLOTS * (start + len(pages))])
    assert index.n_bytes <= 66 * n_pages
    for page in range(0, n_pages, 41):
        assert page in index.find(made[2 * N_SLOTS * page : 2 * N_SLOTS * (page + 1)])
    unrelated = [index.find(rng.bytes(2 * N_SLOTS)) for _ in range(2_000)]
    assert sum(map(len, unrelated)) < 0.2 * len(unrelated)


def test_a_page_that_is_removed_is_found_no_more() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.bytes(2 * N_SLOTS), rng.bytes(2 * N_SLOTS)
    index = BandIndex()
    add(index, 7, first)
    add(index, 8, second)
    index.remove(7, first)
    assert (index.find(first), index.find(second)) == ([], [8])
    index.remove(7, first)  # once more: it has no entries
    add(index, 7, second)
    assert index.find(second) == [7, 8]


def test_plain_python_does_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as kernels are being compiled."""

    class Compiling:
        def poll(self) -> None:
            return None

        def wait(self) -> None:
            raise AssertionError("no one waits")

    monkeypatch.setattr(band_index.secrets, "randbits", lambda n: 0x1234567890ABCDEF)
    made = signatures(np.random.default_rng(2), 150, n_models=10, n_changed=4)
    compiled, plain = BandIndex(), BandIndex()
    with substituted(Compiling()):
        for page, signature in enumerate(made):
            add(plain, page, signature)
        plain.remove(3, made[3])
        found = [plain.find(signature) for signature in made]
    for page, signature in enumerate(made):
        add(compiled, page, signature)
    compiled.remove(3, made[3])
    assert found == [compiled.find(signature) for signature in made]
    assert plain._words.tobytes() == compiled._words.tobytes()
