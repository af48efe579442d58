"""`orienteer crawl --access`: one line and an exit code, whatever goes wrong."""

from __future__ import annotations

from pathlib import Path

from tests.access.servers import Recorder
from tests.access.test_login import ACCESS, PASSWORD, WIKI, Wiki
from tests.cli.run import orienteer, refused


def test_a_crawl_behind_a_login(tmp_path: Path) -> None:
    folder, access = tmp_path / "crawl", tmp_path / "access.toml"
    access.write_text(ACCESS)
    wiki = Wiki(password="another one")
    with Recorder(wiki) as web:
        named = [WIKI, "-o", folder, "--access", access]
        crawl = ["crawl", *named, "--connect-to", web.address, "--delay", "0", "--processes", "1", "--workers", "1"]
        access.chmod(0o600)
        wrong = refused(*crawl, "--quiet")
        assert wrong == f"orienteer: the login at {WIKI} failed: its form came again; are user and password right?\n"
        assert not folder.exists()

        wiki.password = PASSWORD
        orienteer(*crawl, "--quiet", "--budget", "3")
        told = orienteer("status", folder).stdout
        assert f"access {WIKI}" in " ".join(told.split())
        assert "name the file again (--access FILE)" in refused("crawl", folder, "--quiet")

        wiki.password = "changed meanwhile"
        paused = orienteer("crawl", folder, "--access", access, "--connect-to", web.address, "--budget", "50", code=3)
        assert "it paused, since it is not logged in any more" in " ".join(paused.stdout.split())
        assert "are user and password right?" in " ".join(paused.stdout.split())
        assert PASSWORD not in wrong + told + paused.stdout + paused.stderr
