"""Live crawls with secrets: they are sent to their own origin only, and never stored."""

from __future__ import annotations

import ssl
from collections import defaultdict
from pathlib import Path

import pytest
import trustme

from orienteer.errors import InputError
from orienteer.exports.export import export
from orienteer.fetch.libcurl import LibcurlFetcher
from orienteer.fetch.settings import FetchSettings
from orienteer.inspect.crawl_status import crawl_status
from orienteer.responses.response import PageRequest
from orienteer.responses.secrets import Secrets
from orienteer.search.indexing import update_index
from orienteer.side_crawls.survey import live_survey
from orienteer.store.folder_view import FolderView
from tests.credentials.conftest import WriteAccess, crawled, files_with
from tests.credentials.servers import RecordedRequest, Recorder, Reply, moved
from tests.live.live_crawls import StoredCrawl

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


def vault(asked: RecordedRequest) -> Reply:
    """Every page contains the request headers, and links and redirects to all origins; the others link back."""
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
) -> tuple[Path, list[RecordedRequest]]:
    """A crawl with all kinds of credentials, and every request that it made."""
    root = tmp_path_factory.mktemp("guarded")
    made = authority.issue_cert("crawler@vault.test")
    files = {
        "me.pem": made.cert_chain_pems[0].bytes().decode() + made.private_key_pem.bytes().decode(),
        "cookies.txt": f".vault.test\tTRUE\t/\tFALSE\t0\tsid\t{COOKIE}\n",
        "access.toml": f'["{VAULT}"]\nheaders = {{ X-Key = "{KEY}" }}\nbearer = "{TOKEN}"\ncookies = "cookies.txt"\n'
        'certificate = "me.pem"\n',
    }
    for name, text in files.items():
        (root / name).write_text(text)
        (root / name).chmod(0o600)
    with Recorder(vault, tls) as web:
        crawled(
            web,
            f"{VAULT}/",
            root / "crawl",
            credentials=root / "access.toml",
            settings={"fetch": {"ca_file": str(ca_file)}},
        )
    return root, web.asked


def test_secrets_go_to_their_own_origin_alone(guarded: tuple[Path, list[RecordedRequest]]) -> None:
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


def test_no_secret_is_in_the_folder(guarded: tuple[Path, list[RecordedRequest]]) -> None:
    root, _ = guarded
    folder = root / "crawl"
    exported = root / "exported"
    exported.mkdir()
    update_index(folder, processes=1)
    for kind, name in (("warc", "pages.warc.gz"), ("cdxj", "pages.cdxj")):
        export(folder, kind, exported / name, processes=1)
    assert files_with("<title>https://vault.test/mapped", folder), "pages are found like this"
    assert len(files_with("vault.test/", exported)) == 2
    for secret in (KEY, TOKEN, COOKIE, SET, "PRIVATE KEY"):
        assert files_with(secret, folder) + files_with(secret, exported) == []
    assert str(root / "access.toml") not in (folder / "crawl.toml").read_text()


def test_status_names_the_origins(guarded: tuple[Path, list[RecordedRequest]]) -> None:
    found = crawl_status(guarded[0] / "crawl")
    assert found.plan.crawl.access == (VAULT,)


def test_a_resume_asks_for_the_file_again(guarded: tuple[Path, list[RecordedRequest]]) -> None:
    root, _ = guarded
    with Recorder(vault) as web, pytest.raises(InputError, match=f"has access to {VAULT}; name the file again"):
        crawled(web, f"{VAULT}/", root / "crawl", settings={"crawl": {"access": [VAULT]}})


def test_a_survey_with_credentials_is_refused(guarded: tuple[Path, list[RecordedRequest]]) -> None:
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
def test_unsafe_settings_are_refused(write_access, tmp_path: Path, fetch: dict, why: str) -> None:
    access = write_access(f'["{VAULT}"]\nbearer = "{TOKEN}"\n')
    with Recorder(vault) as web, pytest.raises(InputError, match=why):
        crawled(web, f"{VAULT}/", tmp_path / "crawl", credentials=access, settings={"fetch": fetch})
    assert not (tmp_path / "crawl").exists()
    assert web.asked == []


def test_a_crawl_without_credentials_sends_no_cookies(tmp_path: Path) -> None:
    def site(asked: RecordedRequest) -> Reply:
        return Reply("<a href=/b>b</a>", 200, [("Set-Cookie", "a=b; Path=/")])

    with Recorder(site) as web:
        crawled(web, "http://plain.test/", tmp_path / "crawl")
    assert not any("cookie" in one.headers for one in web.asked)
    assert files_with("Set-Cookie: a=b", tmp_path / "crawl"), "what came is archived as it came"
    assert StoredCrawl(tmp_path / "crawl").outcome("http://plain.test/b") == "ok"


def test_assets_carry_the_credentials_of_their_own_pages_alone(write_access: WriteAccess, tmp_path: Path) -> None:
    """Images and styles of a page of another host are fetched without credentials, and so are their own assets; each
    page has its own version, also when the archive is crawled."""
    inner, outer = "http://vault.test", "http://other.test"
    pages = {
        "/": f"<link rel=stylesheet href={inner}/a.css><img src={inner}/a.png><img src={inner}/only-URL.png>"
        f"<img src={inner}/to/{outer}/to/{inner}/back-URL.png><img src={inner}/to/{inner}/moved-URL.png>"
        f"<iframe src={inner}/frame></iframe><link rel=stylesheet href={outer}/b.css>",
        "/frame": "<img src=/framed.png>",
        "/a.css": "p { background: url(styled.png) }",
        "/b.css": f"p {{ background: url({inner}/from-elsewhere.png) }}",
    }

    def site(asked: RecordedRequest) -> Reply:
        if asked.target.startswith("/to/"):
            return moved(asked.target[4:])
        kind = {"css": "text/css", "png": "image/png"}.get(asked.target.rpartition(".")[2], "text/html")
        has_key = asked.headers.get("x-key") == KEY
        said = pages.get(asked.target, "").replace("URL", asked.host)
        return Reply(f"{said}/* {'secret' if has_key else 'public'} */", content_type=kind)

    access = write_access(f'["{inner}"]\nheaders = {{ X-Key = "{KEY}" }}\n')
    settings = {"crawl": {"robots": False, "assets": True}, "render": {"mode": "never"}}
    with Recorder(site) as web:
        seeds = [f"{outer}/", f"{inner}/"]
        crawled(web, seeds, tmp_path / "crawl", scope="host", credentials=access, settings=settings)
        sent: dict[str, set[bool]] = defaultdict(set)
        for one in web.asked:
            sent[one.url].add("x-key" in one.headers)
        with_key = {"/", "/only-vault.test.png", f"/to/{inner}/moved-vault.test.png", "/moved-vault.test.png",
                    f"/to/{outer}/to/{inner}/back-vault.test.png"}  # fmt: skip
        without = {"/only-other.test.png", f"/to/{inner}/moved-other.test.png", "/moved-other.test.png",
                   f"/to/{outer}/to/{inner}/back-other.test.png", "/back-other.test.png", "/back-vault.test.png",
                   "/from-elsewhere.png"}  # fmt: skip
        both = {"/a.css", "/a.png", "/frame", "/framed.png", "/styled.png"}
        assert {url.removeprefix(inner): flags for url, flags in sent.items() if url.startswith(inner)} == {
            **{path: {True} for path in with_key},
            **{path: {False} for path in without},
            **{path: {True, False} for path in both},
        }
        assert {flag for url, flags in sent.items() if not url.startswith(inner) for flag in flags} == {False}
        n_asked = len(web.asked)
        again = {**settings, "fetch": {"fetcher": f"archive:path={tmp_path / 'crawl'}"}}
        crawled(web, seeds, tmp_path / "again", scope="host", settings=again)
        assert len(web.asked) == n_asked
    assert kinds_of(tmp_path / "again") == kinds_of(tmp_path / "crawl")
    assert {is_with for _, is_with, said in kinds_of(tmp_path / "again") if said == "secret"} == {True}


def test_a_certificate_does_not_stay_with_a_connection(
    authority: trustme.CA, tls: ssl.SSLContext, ca_file: Path
) -> None:
    """A request without credentials is anonymous, even if there is a TLS session with a client certificate."""
    made = authority.issue_cert("crawler@vault.test")
    secrets = Secrets(VAULT, certificate=made.cert_chain_pems[0].bytes(), key=made.private_key_pem.bytes())
    with (
        Recorder(lambda asked: Reply(asked.certificate), tls) as web,
        LibcurlFetcher(FetchSettings(connect_to=web.address, ca_file=str(ca_file))) as fetcher,
    ):
        order = [secrets, None, None, secrets, None]
        for sent in order:
            fetcher.start(PageRequest(f"{VAULT}/x", 0, secrets=sent))
            while not fetcher.poll(1.0):
                pass
    assert [one.certificate for one in web.asked] == ["" if sent is None else "crawler@vault.test" for sent in order]


def kinds_of(folder: Path) -> set[tuple[str, bool | None, str]]:
    """What was fetched for pages, whether with credentials, and whether it says that it is secret."""
    with FolderView.open(folder) as view:
        found = set()
        for row in view.database.assets.all():
            page = view.database.assets.read(view.archive, row)
            body = b"" if page is None else page.body
            found.add((row.url, row.with_credentials, "secret" if b"secret" in body else "public"))
        return found
