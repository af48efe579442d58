"""The page of a certificate: it loads nothing, escapes everything, prints on one sheet, and is made of its facts."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pypdfium2 import PdfDocument

from orienteer.certificates import page as page_module
from orienteer.certificates.facts import CertifiedFile, Facts
from orienteer.certificates.page import LAYOUT, certificate_page, read_certificate
from tests.browser.test_all_pages import findings
from tests.certificates.conftest import Certified

if TYPE_CHECKING:
    from playwright.sync_api import Browser

EVIL = '</script><script>alert(1)</script><img src=x onerror=alert(2)>&amp;\u202e"'
LAYOUTS = {1: "a29c26cea28f7905", 2: "e920917696bc53fa"}


def full(facts: Facts) -> Facts:
    """With as much in it as a large crawl has."""
    file = facts.archive[0]
    reasons = {f"reason number {n}": 10_000 - n for n in range(30)}
    return replace(
        facts,
        crawl=replace(
            facts.crawl, seeds=tuple(f"https://{n}.example.org/a/rather/long/path/to/start/from" for n in range(100)),
            trust=tuple(0.01 + n / 1e5 for n in range(100)), n_seeds=3_000, deny=("/login", "/calendar/", "print="),
        ),
        proved=replace(facts.proved, blocked=0.01, unknown=0.02),
        pages=replace(
            facts.pages, n_blocked=10_000, n_failed=1_000, n_skipped=50_000, n_unarchived=9, unknown_links=reasons,
            outcomes=dict.fromkeys(("fetched", "failed", "skipped", "blocked"), reasons),
        ),
        archive=tuple(replace(file, name=f"orienteer-{n:05}.warc.gz") for n in range(40)),
    )  # fmt: skip


def test_a_change_of_the_looks_is_a_new_layout() -> None:
    """Or certificates that were made before would not be known again."""
    made = hashlib.sha256()
    for path in sorted((Path(page_module.__file__).parent / "templates").iterdir()):
        made.update(path.read_bytes())
    assert LAYOUTS[LAYOUT] == made.hexdigest()[:16]


def test_it_loads_nothing_and_runs_nothing(certified: Certified) -> None:
    text = certified.certificate.read_text()
    assert not re.search(r"\b(src|href|action|srcset)\s*=|url\(|@import", text)
    assert re.findall(r"<script[^>]*>", text) == ['<script type="application/json" id="orienteer-certificate">']


def test_untrusted_texts_are_escaped(certified: Certified, tmp_path: Path) -> None:
    facts = certified.facts
    evil = replace(
        facts,
        crawl=replace(facts.crawl, seeds=(EVIL,), deny=(EVIL,)),
        run=replace(facts.run, user_agent=EVIL, stopped=EVIL),
        archive=(CertifiedFile(EVIL, 1, EVIL, EVIL),),
        orienteer=EVIL,
    )
    text = certificate_page(evil)
    assert text.count("<script") == text.count("</script>") == 1
    assert "<img" not in text
    (tmp_path / "c.html").write_text(text, encoding="utf-8")
    assert read_certificate(tmp_path / "c.html").facts == evil


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible(certified: Certified, browser: Browser, scheme: Any, tmp_path: Path) -> None:
    (tmp_path / "c.html").write_text(certificate_page(full(certified.facts)), encoding="utf-8")
    # Axe is a script, and the page itself allows none.
    with browser.new_context(viewport={"width": 360, "height": 700}, color_scheme=scheme, bypass_csp=True) as context:
        page = context.new_page()
        page.goto(f"file://{tmp_path}/c.html")
        assert findings(page) == []
        assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0


def test_it_prints_on_one_sheet(certified: Certified, browser: Browser) -> None:
    for facts in (certified.facts, full(certified.facts)):
        page = browser.new_page()
        page.set_content(certificate_page(facts))
        pdf = page.pdf(prefer_css_page_size=True)
        page.close()
        document = PdfDocument(pdf)
        width, height = document[0].get_size()
        assert abs(width - 595.3) < 2  # A4, in points
        assert abs(height - 841.9) < 2
        assert len(document) == 1
        document.close()
