"""Near duplicates: estimates by signatures, and pairs found by bands."""

from __future__ import annotations

import base64
import hashlib
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orienteer.extract.near_duplicates import (
    BAND_SLOTS,
    MIN_WORDS,
    N_BANDS,
    N_SLOTS,
    NEAR,
    SHINGLE_WORDS,
    bands,
    digest,
    signature,
    similarity,
)  # fmt: skip

N_PAIRS = 400


def signature_of(words: list[str]) -> bytes:
    found = signature(" ".join(words))
    assert found is not None
    return found


def pair(rng: np.random.Generator, n_words: int, target: float) -> tuple[list[str], list[str], float]:
    """Return two texts of distinct words, with different ends, and their true similarity."""
    one = [f"w{k}" for k in rng.integers(0, 2**60, n_words)]
    n_shingles = n_words - SHINGLE_WORDS + 1
    n_shared = round(2 * n_shingles * target / (1 + target))
    n_changed = n_shingles - n_shared
    other = one[: n_words - n_changed] + [f"v{k}" for k in rng.integers(0, 2**60, n_changed)]
    return one, other, n_shared / (2 * n_shingles - n_shared)


@pytest.mark.parametrize("n_words", [40, 300, 2000])
@pytest.mark.parametrize("target", [0.9, 0.5])
def test_signatures_estimate_the_similarity_and_bands_find_the_similar(rng, n_words, target):
    estimates, n_candidates = [], 0
    for _ in range(N_PAIRS):
        one, other, true = pair(rng, n_words, target)
        first, second = signature_of(one), signature_of(other)
        estimates.append(similarity(first, second))
        n_candidates += not set(bands(first)).isdisjoint(bands(second))
    error = math.sqrt(true * (1 - true) / N_SLOTS)
    assert abs(np.mean(estimates) - true) < 5 * error / math.sqrt(N_PAIRS)
    assert np.std(estimates) < 1.2 * error
    likely = 1 - (1 - true**BAND_SLOTS) ** N_BANDS
    slack = 4 * math.sqrt(likely * (1 - likely) / N_PAIRS)
    assert abs(n_candidates / N_PAIRS - likely) < slack
    if target == 0.9:
        assert likely > 0.98
        assert np.mean(np.array(estimates) >= NEAR) > 0.95
    else:
        assert likely < 0.02
        assert max(estimates) < NEAR


def test_the_table_in_the_docs():
    for similar, likely in {
        0.95: 0.9999,
        0.9: 0.994,
        0.85: 0.93,
        0.8: 0.74,
        0.7: 0.29,
        0.5: 0.012,
        0.3: 0.0001,
    }.items():
        assert 1 - (1 - similar**BAND_SLOTS) ** N_BANDS == pytest.approx(likely, rel=0.03, abs=1e-4)


def test_bands_are_signed_and_differ_even_where_all_slots_are_equal():
    found = bands(bytes([1, 2]) * N_SLOTS)
    assert len(set(found)) == N_BANDS
    assert all(-(2**63) <= band < 2**63 for band in found)


def test_case_punctuation_and_space_do_not_count():
    words = [f"Word{k}" for k in range(50)]
    assert signature(" ".join(words)) == signature(",\n“" + "” — ".join(words).lower() + " !")
    assert signature("  ".join(words)) != signature(" ".join(reversed(words)))


def test_order_of_sentences_matters_little_and_one_word_a_little_more():
    words = [f"w{k}" for k in range(400)]
    moved = similarity(signature_of(words), signature_of(words[200:] + words[:200]))
    changed = similarity(signature_of(words), signature_of([*words[:200], "other", *words[201:]]))
    assert moved > 0.95
    assert changed > 0.95


def test_short_texts_have_no_signature():
    words = [f"w{k}" for k in range(MIN_WORDS)]
    assert signature(" ".join(words[:-1])) is None
    assert len(signature_of(words)) == 2 * N_SLOTS
    assert signature("") is signature(", . !" * 100) is None


def test_chinese_and_japanese_need_no_spaces():
    text = "".join(chr(0x4E00 + k) for k in range(60))
    assert signature(text[: MIN_WORDS - 1]) is None
    first, second = signature(text), signature(text[:-1] + "的")
    assert first is not None
    assert second is not None
    assert 0.8 < similarity(first, second) < 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("นักเรียนอ่านหนังสือในห้องสมุดทุกวันและเขียนจดหมายถึงเพื่อน", "ตลาดเปิดตั้งแต่เช้าจนถึงค่ำขายผลไม้และปลาสดจากทะเล"),
        ("សិស្សអានសៀវភៅនៅក្នុងបណ្ណាល័យជារៀងរាល់ថ្ងៃ", "ផ្សារបើកពីព្រឹកដល់ល្ងាចលក់ផ្លែឈើនិងត្រី"),
    ],
)
def test_thai_and_khmer_need_no_spaces(one, other):
    first, changed, second = signature(one), signature(one + one[:3]), signature(other)
    assert None not in (first, changed, second)
    assert similarity(first, changed) > NEAR > 0.5 > similarity(first, second)


def test_a_signature_does_not_change_between_runs():
    # Signatures are stored in crawl folders: if a new version of rensa changes them, they must be computed again.
    found = signature(" ".join(f"word{k}" for k in range(100)))
    assert found is not None
    assert hashlib.sha1(found).hexdigest() == "9e7d7699c0060d268b44397f6d10505cfa972cfe"


@given(st.text())
def test_any_text_has_a_signature_or_none(text):
    found = signature(text)
    assert found is None or (len(found) == 2 * N_SLOTS and similarity(found, found) == 1)
    assert (signature(f"{text} " * 40) is None) == (not any(letter.isalnum() for letter in text)) or not text.isascii()


def test_a_digest_is_what_warc_writes():
    assert base64.b32encode(digest(b"")) == b"3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
