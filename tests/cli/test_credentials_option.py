"""`orienteer crawl --credentials`: one line and an exit code, whatever goes wrong."""

from __future__ import annotations

from pathlib import Path

from tests.cli.run import orienteer, refused
from tests.credentials.servers import Recorder
from tests.credentials.test_login import CREDENTIALS, PASSWORD, WIKI, Wiki


def test_a_crawl_behind_a_login(tmp_path: Path) -> None:
    folder, credentials = tmp_path / "crawl", tmp_path / "credentials.toml"
    credentials.write_text(CREDENTIALS)
    wiki = Wiki(password="another one")
    with Recorder(wiki) as web:
        named = [WIKI, "-o", folder, "--credentials", credentials]
        crawl = ["crawl", *named, "--connect-to", web.address, "--delay", "0", "--processes", "1", "--workers", "1"]
        credentials.chmod(0o600)
        wrong = refused(*crawl, "--quiet")
        assert (
            wrong
            == f"orienteer: the login at {WIKI} failed: the login form was returned again; check user and password\n"
        )
        assert not folder.exists()

        wiki.password = PASSWORD
        orienteer(*crawl, "--quiet", "--budget", "3")
        status = orienteer("status", folder).stdout
        assert f"credentials {WIKI}" in " ".join(status.split())
        assert "name the file again (--credentials FILE)" in refused("crawl", folder, "--quiet")

        wiki.password = "changed meanwhile"
        paused = orienteer(
            "crawl", folder, "--credentials", credentials, "--connect-to", web.address, "--budget", "50", code=3
        )
        assert "paused: it is not logged in any more" in " ".join(paused.stdout.split())
        assert "check user and password" in " ".join(paused.stdout.split())
        assert PASSWORD not in wrong + status + paused.stdout + paused.stderr
