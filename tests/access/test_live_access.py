"""Live crawls with secrets: they go to their own origin, and stay nowhere."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
import trustme

from orienteer.audit.live_survey import live_survey
from orienteer.errors import InputError
from orienteer.exports.export import export
from orienteer.inspect.folder_status import folder_status
from orienteer.search.indexing import update_index
from tests.access.conftest import crawled, places_of
from tests.access.servers import Asked, Recorder, Reply, moved
from tests.live.live_crawls import Told

KEY, TOKEN, COOKIE = "key-of-the-vault-1", "token-of-the-vault-2", "cookie-of-the-vault-3"
SET = "set-by-the-vault-4"
VAULT = "https://vault.test"
OTHERS = (
    "http://vault.test",
    "https://vault.test:8443",
    "http://vault.test:443",
    "https://other.test",
    "http://other.test",
    "https://sub.vault.test",
)


def vault(asked: Asked) -> Reply:
    """Every page says what it was sent, links to all origins, and redirects there; so do the others, back."""
    if asked.target == "/robots.txt":
        return Reply(f"Sitemap: {VAULT}/map.xml\n" if asked.origin == VAULT else "")
    if asked.target == "/map.xml":
        return Reply(f"<urlset><url><loc>{VAULT}/mapped</loc></url></urlset>")
    if asked.target.startswith("/to/"):
        cookies = [("Set-Cookie", f"moved={SET}; Path=/")] if asked.origin == VAULT else []
        return moved(f"{[*OTHERS, VAULT][int(asked.target[4:])]}/from?{asked.scheme}", *cookies)
    links = [f"<a href='{VAULT}/to/{k}'>.</a>" for k in range(len(OTHERS))]
    links += [f"<a href='{origin}/linked'>.</a><a href='{origin}/to/6'>.</a>" for origin in OTHERS]
    headers = [("X-Sent", asked.headers.get("cookie", ""))]
    if asked.origin == VAULT:
        headers.append(("Set-Cookie", f"session={SET}; Path=/; Domain=vault.test"))
    return Reply(f"<title>{asked.url}</title><p>{asked.headers}{asked.certificate}</p>{''.join(links)}", 200, headers)


@pytest.fixture(scope="module")
def guarded(
    tmp_path_factory: pytest.TempPathFactory, authority: trustme.CA, tls: ssl.SSLContext, ca_file: Path
) -> tuple[Path, list[Asked]]:
    """A crawl with all that can be shown, and every request that it made."""
    place = tmp_path_factory.mktemp("guarded")
    made = authority.issue_cert("crawler@vault.test")
    files = {
        "me.pem": made.cert_chain_pems[0].bytes().decode() + made.private_key_pem.bytes().decode(),
        "cookies.txt": f".vault.test\tTRUE\t/\tFALSE\t0\tsid\t{COOKIE}\n",
        "access.toml": f'["{VAULT}"]\nheaders = {{ X-Key = "{KEY}" }}\nbearer = "{TOKEN}"\ncookies = "cookies.txt"\n'
        'certificate = "me.pem"\n',
    }
    for name, text in files.items():
        (place / name).write_text(text)
        (place / name).chmod(0o600)
    with Recorder(vault, tls) as web:
        crawled(
            web,
            f"{VAULT}/",
            place / "crawl",
            access=place / "access.toml",
            settings={"fetch": {"ca_file": str(ca_file)}},
        )
    return place, web.asked


def test_secrets_go_to_their_own_origin_alone(guarded: tuple[Path, list[Asked]]) -> None:
    _, asked = guarded
    own = [one for one in asked if one.origin == VAULT]
    foreign = [one for one in asked if one.origin != VAULT]
    for one in own:
        assert (one.headers["x-key"], one.headers["authorization"]) == (KEY, f"Bearer {TOKEN}"), one.url
        assert one.cookies["sid"] == COOKIE
        assert one.certificate == "crawler@vault.test"
    assert {"/robots.txt", "/map.xml", "/mapped", "/"} <= {one.target for one in own}
    assert {one.origin for one in foreign} == {
        "http://vault.test",
        "http://vault.test:443",
        "https://other.test",
        "http://other.test",
        "https://vault.test:8443",
    }
    for one in foreign:
        assert one.certificate == "", one.url
        assert not {"cookie", "authorization", "x-key"} & set(one.headers), one.url
    # Redirects to other origins were followed, and back from each of them, with the secrets again.
    assert {one.origin for one in foreign if one.target.startswith("/from")} == {one.origin for one in foreign}
    assert {"/from?http", "/from?https"} <= {one.target for one in own}
    assert any(one.cookies.get("session") == SET for one in own), "what the vault sets comes back to it"


def test_nothing_of_it_is_in_the_folder(guarded: tuple[Path, list[Asked]]) -> None:
    place, _ = guarded
    folder = place / "crawl"
    exported = place / "exported"
    exported.mkdir()
    update_index(folder, processes=1)
    for kind, name in (("warc", "pages.warc.gz"), ("cdxj", "pages.cdxj")):
        export(folder, kind, exported / name, processes=1)
    assert places_of("<title>https://vault.test/mapped", folder), "pages are found like this"
    assert len(places_of("vault.test/", exported)) == 2
    for secret in (KEY, TOKEN, COOKIE, SET, "PRIVATE KEY"):
        assert places_of(secret, folder) + places_of(secret, exported) == []
    assert str(place / "access.toml") not in (folder / "crawl.toml").read_text()


def test_status_names_the_origins(guarded: tuple[Path, list[Asked]]) -> None:
    found = folder_status(guarded[0] / "crawl")
    assert found.plan.crawl.access == (VAULT,)


def test_a_resume_asks_for_the_file_again(guarded: tuple[Path, list[Asked]]) -> None:
    place, _ = guarded
    with Recorder(vault) as web, pytest.raises(InputError, match=f"has access to {VAULT}; name the file again"):
        crawled(web, f"{VAULT}/", place / "crawl", settings={"crawl": {"access": [VAULT]}})


def test_a_survey_would_see_the_pages_of_strangers(guarded: tuple[Path, list[Asked]]) -> None:
    with pytest.raises(InputError, match=f"has access to {VAULT}; a survey cannot log in there yet"):
        live_survey(guarded[0] / "crawl")


@pytest.mark.parametrize(
    ("fetch", "why"),
    [
        ({"fetcher": "archive:path=x"}, "the fetcher archive:path=x cannot send"),
        ({"cookies": True}, "cannot be combined"),
        ({"verify_tls": False}, "needs verify_tls"),
    ],
)
def test_what_would_be_unsafe_is_refused(write_access, tmp_path: Path, fetch: dict, why: str) -> None:
    access = write_access(f'["{VAULT}"]\nbearer = "{TOKEN}"\n')
    with Recorder(vault) as web, pytest.raises(InputError, match=why):
        crawled(web, f"{VAULT}/", tmp_path / "crawl", access=access, settings={"fetch": fetch})
    assert not (tmp_path / "crawl").exists()
    assert web.asked == []


def test_a_crawl_without_access_knows_no_cookies(tmp_path: Path) -> None:
    def site(asked: Asked) -> Reply:
        return Reply("<a href=/b>b</a>", 200, [("Set-Cookie", "a=b; Path=/")])

    with Recorder(site) as web:
        crawled(web, "http://plain.test/", tmp_path / "crawl")
    assert not any("cookie" in one.headers for one in web.asked)
    assert places_of("Set-Cookie: a=b", tmp_path / "crawl"), "what came is archived as it came"
    assert Told(tmp_path / "crawl").outcome("http://plain.test/b") == "ok"
