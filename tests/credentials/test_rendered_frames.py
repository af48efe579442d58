"""Private content of rendered pages stays private: frames, workers and redirects of other origins try to read it.

`http://a.test` responds with a secret to requests that carry the credentials of the crawl, and allows every origin to
read its responses. The frames in `OWN` and all their ancestors are of that origin.
"""

from __future__ import annotations

import json
from collections import defaultdict
from html import escape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, urlsplit

import pytest

from orienteer.store.folder_view import FolderView
from tests.credentials.conftest import crawled
from tests.credentials.servers import RecordedRequest, Recorder, Reply
from tests.live.apps import needs_browser

pytestmark = pytest.mark.slow

A, B, SUBDOMAIN, PORT = "http://a.test", "http://b.test", "http://x.a.test", "http://a.test:8080"
DOT = "http://a.test."  # another origin for a browser, and the same host for DNS
TOKEN, COOKIE = "token-of-the-vault-1", "cookie-of-the-vault-2"
SECRET = "readable-for-the-own-origin-only"
SOURCE = Path(__file__).with_name("frames.js").read_text(encoding="utf-8")
OWN = {"top", "frame", "nested", "srcdoc", "blank", "blob", "second"}
FOREIGN = {
    "b", "b-srcdoc", "b-blank", "b-blob", "a-in-b", "subdomain", "a-in-subdomain", "port", "sandbox",
    "sandbox-srcdoc", "csp-sandbox", "top-csp-sandbox", "dot", "a-in-dot", "top-dot", "a-in-top-dot", "data",
    "object", "embed", "left", "a-in-returned", "redirected", "top-b", "a-in-top-b", "top-subdomain",
    "a-in-top-subdomain", "top-port", "a-in-top-port",
}  # fmt: skip
# Chromium's memory cache serves all frames of the origin on the page, without a request.
IN_MEMORY = {"common", "image-common"}
# All ways in which a browser sends credentials with a request of a frame of its own origin.
READS = {
    "frame-cors-same-origin", "frame-cors-include", "frame-no-cors-include", "frame-same-origin-include", "frame-page",
    "frame-header", "frame-moved", "frame-xhr", "frame-common", "script", "script-common", "script-moved", "module",
    "module-common", "style", "common", "image", "image-common", "image-cors", "iframe", "object",
}  # fmt: skip
WORKERS, IN_WORKER = {"worker", "blob"}, ("cors-include", "xhr", "import")


def document(by: str, body: str = "") -> str:
    """A page or a frame that tries all ways to read the secret, with these frames in it."""
    source = json.dumps(SOURCE).replace("</", "<\\/")
    return (
        f"<!doctype html><title>{by}</title><body><script>const by = '{by}', SOURCE = {source};</script>"
        f"<script>{SOURCE}</script>{body}"
    )


def inline(by: str, kind: str) -> str:
    """A frame with a document of its parent."""
    if kind == "srcdoc":
        return f'<iframe srcdoc="{escape(document(by))}"></iframe>'
    text = json.dumps(document(by)).replace("</", "<\\/")
    if kind == "blank":
        write = f"frames['{by}'].document.write({text}); frames['{by}'].document.close()"
        return f"<iframe name='{by}'></iframe><script>{write}</script>"
    return (
        "<script>document.body.append(Object.assign(document.createElement('iframe'), { src: URL.createObjectURL("
        f"new Blob([{text}], {{ type: 'text/html' }})) }}))</script>"
    )


def frame_at(url: str, more: str = "") -> str:
    return f'<iframe src="{escape(url)}" {more}></iframe>'


def frame(origin: str, by: str, more: str = "") -> str:
    return frame_at(f"{origin}/frame?by={by}", more)


def jump(origin: str, url: str) -> str:
    """A document whose script navigates to a URL."""
    return f"{origin}/jump?to={quote(url, safe='')}"


FRAMES = {
    "frame": frame(A, "nested"),
    "b": frame(A, "a-in-b") + "".join(inline(f"b-{kind}", kind) for kind in ("srcdoc", "blank", "blob")),
    "subdomain": frame(A, "a-in-subdomain"),
    "dot": frame(A, "a-in-dot"),
}
TOPS = {
    A: document(
        "top",
        "<iframe name=victim></iframe>"
        + frame(A, "frame") + frame(B, "b") + frame(SUBDOMAIN, "subdomain") + frame(PORT, "port")
        + frame(A, "sandbox", "sandbox=allow-scripts") + frame(A, "csp-sandbox") + frame(DOT, "dot")
        + f'<iframe sandbox=allow-scripts srcdoc="{escape(document("sandbox-srcdoc"))}"></iframe>'
        + f'<iframe src="data:text/html,{quote(document("data"))}"></iframe>'
        + "".join(inline(kind, kind) for kind in ("srcdoc", "blank", "blob"))
        + f'<object data="{SUBDOMAIN}/frame?by=object"></object><embed src="{PORT}/frame?by=embed">'
        + frame_at(jump(A, f"{SUBDOMAIN}/frame?by=left")) + frame_at(jump(SUBDOMAIN, f"{A}/frame?by=a-in-returned"))
        + frame_at(f"{A}/to?u={quote(f'{SUBDOMAIN}/frame?by=redirected')}")
        + "<a href=/second>second</a><a href=/sandboxed>sandboxed</a><a href=/private.html>private</a>",
    ),
    B: document("top-b", frame(A, "a-in-top-b")),
    SUBDOMAIN: document("top-subdomain", frame(A, "a-in-top-subdomain")),
    PORT: document("top-port", frame(A, "a-in-top-port")),
    DOT: document("top-dot", frame(A, "a-in-top-dot")),
}  # fmt: skip


SANDBOX = ("Content-Security-Policy", "sandbox allow-scripts")


def site(asked: RecordedRequest) -> Reply:
    location = urlsplit(asked.target)
    query = dict(parse_qsl(location.query))
    by, op = query.get("by", ""), query.get("op", "")
    origin = asked.headers.get("origin")
    cors = [("Access-Control-Allow-Origin", origin or "*"), ("Access-Control-Allow-Credentials", "true")]
    cors.append(("Vary", "Origin"))
    if asked.method == "OPTIONS":
        return Reply("", 204, [*cors, ("Access-Control-Allow-Headers", "x-me")])
    if location.path == "/to":
        return Reply("", 302, [*cors, ("Location", query["u"])])
    if location.path == "/":
        return Reply(TOPS[asked.origin])
    if location.path == "/second":
        return Reply(document("second"))
    if location.path == "/sandboxed":
        return Reply(document("top-csp-sandbox"), headers=[SANDBOX])
    if location.path == "/frame":
        return Reply(document(by, FRAMES.get(by, "")), headers=[SANDBOX] if by == "csp-sandbox" else [])
    if location.path == "/jump":
        return Reply(f"<script>location = {json.dumps(query['to'])}</script>")
    if location.path == "/worker.js":
        text = f"const by = '{by}', kind = '{query['kind']}';\n{SOURCE}"
        return Reply(text, content_type="text/javascript")
    content = SECRET if has_credentials(asked) else "public"
    files = {
        "/me.js": (f"globalThis.ME = globalThis['ME_{op}'] = '{content}';", "text/javascript"),
        "/module.js": (f"export default '{content}';", "text/javascript"),
        "/style.css": (f"body {{ --{op or 'common'}: '{content}'; }}", "text/css"),
        "/picture.svg": (
            f"<svg xmlns='http://www.w3.org/2000/svg' width='{len(content)}' height='3'><!--{content}--></svg>",
            "image/svg+xml",
        ),
        "/private.html": (f"<title>Private</title>{content}", "text/html"),
    }
    text, kind = files.get(location.path, (content, "text/plain"))
    return Reply(text, 200, cors, kind)


def has_credentials(asked: RecordedRequest) -> bool:
    """Whether a request carries credentials: either all or none."""
    has_token = asked.headers.get("authorization") == f"Bearer {TOKEN}"
    assert has_token == (asked.cookies.get("sid") == COOKIE)
    return has_token


class Seen(NamedTuple):
    folder: Path
    asked: list[RecordedRequest]

    def requests_of(self, by: str) -> list[tuple[str, bool]]:
        """How a frame asked a.test itself, and whether credentials went along."""
        mine = [one for one in self.asked if one.origin == A and not one.target.startswith("/frame")]
        queries = [(one, dict(parse_qsl(urlsplit(one.target).query))) for one in mine]
        return [(query.get("op", one.target), has_credentials(one)) for one, query in queries if query.get("by") == by]

    def read(self) -> dict[str, dict[str, str]]:
        """What frames have read, by frame and by the way they read it."""
        found: dict[str, dict[str, str]] = defaultdict(dict)
        for one in self.asked:
            if one.host == "log.test" and one.target.startswith("/got?"):
                query = dict(parse_qsl(urlsplit(one.target).query))
                found[query["by"]].update(json.loads(query["found"]))
        return found


def seen_in(root: Path, urls: list[str], **crawl: object) -> Seen:
    """Crawl these pages; return the folder and all requests."""
    needs_browser()
    access = root / "access.toml"
    access.write_text(f'["{A}"]\nbearer = "{TOKEN}"\nheaders = {{ Cookie = "sid={COOKIE}" }}\n')
    access.chmod(0o600)
    with Recorder(site) as web:
        report = crawled(
            web, urls, root / "crawl", scope="host", credentials=access,
            settings={
                "crawl": {"robots": False, "guess_sitemap": False, "assets": True, **crawl},
                "scope": {"deny": ["[?&](by|to|u)="]},
                "render": {"mode": "always", "max_requests": 20_000, "cpu_s": 600.0, "max_bytes": 1 << 30},
            },
        )  # fmt: skip
        assert report.rendered.n_pages >= len(urls)
        assert report.rendered.n_incomplete == 0
        return Seen(root / "crawl", web.asked)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return seen_in(tmp_path_factory.mktemp("frames"), [f"{origin}/" for origin in (B, A, SUBDOMAIN, PORT, DOT)])


def test_frames_of_the_origin_itself_read_everything(seen: Seen) -> None:
    """And so do their workers; a blob document has no base URL for the script of a worker."""
    read = seen.read()
    for by in OWN:
        found = {op for op, value in read[by].items() if SECRET in value}
        ways = READS | {
            f"{kind}-{way}" for kind in WORKERS - ({"worker"} if by == "blob" else set()) for way in IN_WORKER
        }
        assert sorted(ways - found) == [], by


def test_no_request_of_other_origins_carries_credentials(seen: Seen) -> None:
    for by in FOREIGN:
        requests = seen.requests_of(by)
        assert len(requests) > 50, by
        with_credentials = {op for op, is_with in requests if is_with}
        # A script of the same origin may navigate the frames of the page, whichever frame it runs in.
        assert with_credentials - ({"victim"} if by.startswith("a-in") else set()) == set(), by
    assert [one.url for one in seen.asked if one.origin != A and has_credentials(one)] == []


def test_other_origins_read_no_secret(seen: Seen) -> None:
    read = seen.read()
    assert read.keys() == OWN | FOREIGN
    for by in FOREIGN:
        from_memory = IN_MEMORY if by.startswith("a-in") else set()
        assert {op for op, value in read[by].items() if SECRET in value} <= from_memory, by
        assert len(read[by]) > 15, by
        ways = {"script", "module", "image", "script-common", "frame-common", "module-common", "image-common"}
        assert {read[by][way] for way in ways - from_memory} == {"public"}, by


def test_a_request_without_credentials_stays_without_them(seen: Seen) -> None:
    """If it wants none, and if it was redirected by another origin."""
    for by in OWN:
        requests = [(op, is_with) for op, is_with in seen.requests_of(by) if not op.startswith("/")]
        for what in ("-omit", "tainted", "through"):
            found = [(op, is_with) for op, is_with in requests if what in op]
            assert found, (by, what)
            assert [op for op, is_with in found if is_with] == [], by


def test_archived_assets_are_marked_with_credentials(seen: Seen) -> None:
    """Responses with secrets are marked, and no page of another origin contains one."""
    with FolderView.open(seen.folder) as view:
        marks: dict[str, set[bool | None]] = defaultdict(set)
        for row in view.database.assets.all():
            page = view.database.assets.read(view.archive, row)
            if page is not None:
                is_secret = SECRET.encode() in page.body
                assert not is_secret or row.with_credentials, row.url
                marks[row.url].add(is_secret)
        assert marks[f"{A}/me.js"] == marks[f"{A}/api.json"] == {True, False}
        documents = {view.database.urls.of(page): target for page, target in view.database.rendered.documents().items()}
        assert {f"{origin}/" for origin in (A, B, SUBDOMAIN, PORT)} <= documents.keys()
        for url, target in documents.items():
            assert url.startswith(f"{A}/") or SECRET.encode() not in view.archive.read_resource(target)[1].body, url


@pytest.mark.usefixtures("ready_child_processes")
def test_worker_processes_give_the_same_result(tmp_path: Path) -> None:
    seen = seen_in(tmp_path, [f"{A}/second", f"{B}/"], processes=2)
    read = seen.read()
    assert READS - {op for op, value in read["second"].items() if SECRET in value} == set()
    for by in ("top-b", "a-in-top-b"):
        assert [op for op, is_with in seen.requests_of(by) if is_with] == []
        assert [op for op, value in read[by].items() if SECRET in value] == []
