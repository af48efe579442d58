"""Real pages from folders and archives."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from orienteer.errors import InputError
from orienteer.files.compressed import byte_writer
from orienteer.graph.link_graph import LinkGraph
from tests.conftest import shared_file
from tests.extract.only_links import extract_links
from tests.fake_web.client import fetch
from tests.fake_web.page_site import PageSite
from tests.fake_web.server import FakeWeb
from tests.fake_web.site import RequestHeaders, host_and_target

FILES = {
    "a.test/index.html": b"<a href=docs>docs</a> <a href='https://b.test/'>b</a> <a href='https://c.test/'>c</a>",
    "a.test/docs/index.html": b"<a href='python 2.html'>two</a>",
    "a.test/docs/python 2.html": b"<a href=https://a.test>home</a> https://a.test.evil/ https://a.testing/",
    "a.test/wp/%/%C3%85land_%28x%29.htm": b"<p>encoded in the archive",
    "a.test/clean": b"\n <!DOCTYPE html><p>no ending",
    "a.test/data_1.4": b"\0\1\2",
    "a.test/style.css": b"p {}",
    "a.test/robots.txt": b"User-agent: *\nDisallow: /docs\n",
    "b.test/3/index.html": b"<p>three",
    "b.test/3/library/index.html": b"<p>library",
    "b.test/empty/folder/x.pdf": b"https://a.test/",
    "README": b"no page: it belongs to no host",
}


def folder_of(files: dict[str, bytes], folder: Path) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def archive_of(files: dict[str, bytes], path: Path) -> Path:
    with byte_writer(path, path.name) as stream, tarfile.open(fileobj=stream, mode="w|") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        for name, kind, target in (
            ("a.test/docs/again.html", tarfile.SYMTYPE, "./index.html"),
            ("a.test/docs/more.html", tarfile.SYMTYPE, "again.html"),
            ("a.test/hard.html", tarfile.LNKTYPE, "a.test/index.html"),
            ("a.test/loop.html", tarfile.SYMTYPE, "loop.html"),
            ("a.test/out.html", tarfile.SYMTYPE, "../../../etc/passwd"),
        ):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            archive.addfile(member)
    return path


@pytest.fixture(params=["folder", "web.tar", "web.tar.gz", "web.tar.zst"])
def site(request, tmp_path) -> PageSite:
    if request.param == "folder":
        return PageSite(folder_of(FILES, tmp_path))
    return PageSite(archive_of(FILES, tmp_path / request.param))


def test_files_and_folders_are_served_as_a_real_server_does(site):
    with FakeWeb(site) as web:
        assert fetch(web.port, "http://a.test/docs/")[2] == FILES["a.test/docs/index.html"]
        assert fetch(web.port, "http://a.test/docs/index.html")[2] == FILES["a.test/docs/index.html"]
        status, headers, _ = fetch(web.port, "http://a.test/docs?q=1")
        assert (status, headers["location"]) == (301, "/docs/?q=1")
        assert fetch(web.port, "http://a.test/docs/?q=1")[0] == 200
        assert fetch(web.port, "http://a.test/docs/python%202.html")[0] == 200
        for missing in ("http://a.test/no", "http://b.test/empty/", "http://c.test/", "http://a.test/docs/python"):
            assert fetch(web.port, missing)[0] == 404
        status, headers, _ = fetch(web.port, "http://b.test/")
        assert (status, headers["location"]) == (302, "/3/index.html")


def test_a_name_that_is_encoded_in_the_archive_is_the_url(site):
    with FakeWeb(site) as web:
        assert fetch(web.port, "http://a.test/wp/%/%C3%85land_%28x%29.htm")[2] == b"<p>encoded in the archive"
        status, headers, _ = fetch(web.port, "http://a.test/wp/%/%25C3%2585land_%2528x%2529.htm")
        assert (status, headers["location"]) == (301, "/wp/%/%C3%85land_%28x%29.htm")


def test_types_are_told_by_the_ending_or_the_content(site):
    types = {
        "http://a.test/": "text/html",
        "http://a.test/clean": "text/html",
        "http://a.test/data_1.4": "application/octet-stream",
        "http://a.test/style.css": "text/css",
        "http://b.test/empty/folder/x.pdf": "application/pdf",
        "http://a.test/robots.txt": "text/plain",
    }
    with FakeWeb(site) as web:
        assert {url: fetch(web.port, url)[1]["content-type"] for url in types} == types
        site.charset = "koi8-r"
        assert fetch(web.port, "http://a.test/")[1]["content-type"] == "text/html; charset=koi8-r"
        assert fetch(web.port, "http://b.test/empty/folder/x.pdf")[1]["content-type"] == "application/pdf"


def test_https_links_between_the_hosts_become_http(site):
    with FakeWeb(site) as web:
        home = fetch(web.port, "http://a.test/")[2]
        assert extract_links(home, "http://a.test/") == ["http://a.test/docs", "http://b.test/", "https://c.test/"]
        page = fetch(web.port, "http://a.test/docs/python%202.html")[2]
        assert page == b"<a href=http://a.test>home</a> https://a.test.evil/ https://a.testing/"
        assert fetch(web.port, "http://b.test/empty/folder/x.pdf")[2] == b"https://a.test/"


def test_urls_and_hosts(site):
    assert set(site.hosts) == {"a.test", "b.test"}
    urls = {url for url in site.urls() if not url.endswith(("again.html", "more.html", "hard.html"))}
    assert urls == {"http://" + name.replace(" ", "%20") for name in FILES if name != "README"}
    for url in urls:
        assert site.response(*host_and_target(url), RequestHeaders(b"")).status == 200


def test_links_in_an_archive_are_followed_inside_it(tmp_path):
    site = PageSite(archive_of(FILES, tmp_path / "web.tar.gz"), https_as_http=False)
    with FakeWeb(site) as web:
        for name in ("docs/again.html", "docs/more.html"):
            assert fetch(web.port, "http://a.test/" + name)[2] == FILES["a.test/docs/index.html"]
        assert fetch(web.port, "http://a.test/hard.html")[2] == FILES["a.test/index.html"]
        assert fetch(web.port, "http://a.test/loop.html")[0] == 404
        assert fetch(web.port, "http://a.test/out.html")[0] == 404


def test_links_out_of_a_folder_are_not_followed(tmp_path):
    secret = tmp_path / "secret.html"
    secret.write_text("secret")
    folder = folder_of({"a.test/x.html": b"x"}, tmp_path / "web")
    (folder / "a.test" / "secret.html").symlink_to(secret)
    (folder / "a.test" / "y.html").symlink_to("x.html")
    assert PageSite(folder).urls() == ["http://a.test/x.html", "http://a.test/y.html"]


def test_robots_that_are_given_come_before_those_in_the_archive(tmp_path):
    folder_of(FILES, tmp_path)
    site = PageSite(tmp_path, robots={"b.test": "# b\n"})
    assert site.response("a.test", "/robots.txt", RequestHeaders(b"")).body == FILES["a.test/robots.txt"]
    assert site.response("b.test", "/robots.txt", RequestHeaders(b"")).body == "# b\n"


def test_what_is_no_site_is_refused_in_one_line(tmp_path):
    (tmp_path / "a.test").mkdir()
    with pytest.raises(InputError, match="no pages in it; they are expected as <host>/<path>"):
        PageSite(tmp_path)
    with pytest.raises(InputError, match="none.tar: no such file or folder"):
        PageSite(tmp_path / "none.tar")
    plain = tmp_path / "page.html"
    plain.write_text("<p>")
    with pytest.raises(InputError, match="neither a folder nor an archive"):
        PageSite(plain)
    for name in ("rubbish.tar", "rubbish.tar.gz", "rubbish.tar.zst"):
        (tmp_path / name).write_bytes(b"rubbish" * 1000)
        with pytest.raises(InputError, match=name):
            PageSite(tmp_path / name)
    whole = archive_of(FILES, tmp_path / "whole.tar.gz").read_bytes()
    (tmp_path / "cut.tar.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="cut.tar.gz: .*truncated"):
        PageSite(tmp_path / "cut.tar.gz")


def final_url(site: PageSite, url: str) -> str | None:
    """Where a URL ends up, an index as the file it is; None if nowhere."""
    response = site.response(*host_and_target(url), RequestHeaders(b""))
    if response.status == 301:
        return final_url(site, "/".join(url.split("/")[:3]) + dict(response.headers)["Location"])
    url = url.partition("?")[0]
    return None if response.status != 200 else url + "index.html" if url.endswith("/") else url


@pytest.mark.slow
def test_the_real_documentation_web_is_its_graph():
    site = PageSite(shared_file("dev-docs-web.tar.zst"))
    graph = LinkGraph.load(shared_file("graphs/docs-web-dev.npz"))
    assert graph.urls is not None
    assert sorted(site.urls()) == sorted(graph.urls)
    n_links = n_served = 0
    for page in range(0, graph.n_pages, 101):
        url = graph.urls[page]
        response = site.response(*host_and_target(url), RequestHeaders(b""))
        assert isinstance(response.body, bytes)
        found = {final_url(site, link) for link in extract_links(response.body, url)}
        links = {graph.urls[target] for target in graph.links(page).tolist()}
        assert found - {None, url} <= links
        n_links += len(links)
        n_served += len(found & links)
    # The graph takes the root of some hosts for the start of their documentation.
    assert n_served > 0.95 * n_links


@pytest.mark.slow
def test_the_real_school_encyclopedia():
    site = PageSite(shared_file("schools-wikipedia-articles.tar.zst"))
    graph = LinkGraph.load(shared_file("graphs/schools-wikipedia-articles.npz"))
    assert graph.urls is not None
    assert set(graph.urls) <= set(site.urls())
    for page in range(0, graph.n_pages, 301):
        url = graph.urls[page]
        response = site.response(*host_and_target(url), RequestHeaders(b""))
        assert isinstance(response.body, bytes)
        if b"nofollow" in response.body[:2000]:
            continue
        found = {final_url(site, link) for link in extract_links(response.body, url)}
        assert found - {None, url} == {graph.urls[target] for target in graph.links(page).tolist()}
