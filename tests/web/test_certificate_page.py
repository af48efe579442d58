"""The Certificate page: it shows the certificate, and the file that it gives can be verified."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from orienteer.certificates.checking import check_certificate
from orienteer.store.folder import CrawlFolder


@pytest.fixture(scope="module")
def ready(client: httpx.Client, small_crawl: Path) -> httpx.Client:
    """When the certificate is made, however long that takes."""
    while client.get("/api/certificate").status_code == 503:
        pass
    return client


def test_it_is_displayed_and_can_be_downloaded(ready: httpx.Client, small_crawl: Path, tmp_path: Path) -> None:
    page = ready.get("/certificate").text
    assert "Coverage certificate" in page
    assert "Proved: at least 97.0" in page
    assert "<style" not in page
    assert ready.get("/certificate/style.css").headers["content-type"].startswith("text/css")
    file = ready.get("/certificate/download")
    assert file.headers["content-disposition"] == 'attachment; filename="harbour.certificate.html"'
    (tmp_path / "c.html").write_bytes(file.content)
    assert check_certificate(tmp_path / "c.html", small_crawl, quick=True).problems == ()
    (tmp_path / "c.json").write_bytes(ready.get("/api/certificate").content)
    assert check_certificate(tmp_path / "c.json", small_crawl, quick=True).problems == ()


def test_there_is_none_while_the_crawl_runs(ready: httpx.Client, small_crawl: Path) -> None:
    with CrawlFolder.open(small_crawl):
        page = ready.get("/certificate")
        assert (page.status_code, "The crawl is running." in page.text) == (200, True)
        assert ready.get("/api/certificate").status_code == 409
    assert "Coverage certificate" in ready.get("/certificate").text
