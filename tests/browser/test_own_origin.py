"""Which requests of a page may carry the credentials of its origin."""

from __future__ import annotations

from orienteer.browser.job import BrowserRequest, BrowserResponse
from orienteer.browser.own_origin import OwnOrigin
from orienteer.browser.requests import PausedRequest
from tests.browser.rendering import job_of, open_renderer, render, respond
from tests.tables import over_rows

A, PORT, SUBDOMAIN = "http://a.test", "http://a.test:8080", "http://x.a.test"


def attributed() -> OwnOrigin:
    own = OwnOrigin(f"{A}/page")
    own.add_page("main")
    return own


def asks(
    own: OwnOrigin, frame: str, url: str = f"{A}/x", *, id: str = "1", redirected_from: str = "",
    cookie: str | None = None, origin: str = "", is_document: bool = False,
) -> bool:  # fmt: skip
    """Whether a request may carry credentials with which the browser would send the cookie."""
    sent = f"other=1; {own.cookie['name']}={own.cookie['value']}" if cookie is None else cookie
    headers = {"cookie": sent} | ({"origin": origin} if origin else {})
    return own.allows(PausedRequest(id, url, "GET", frame, "fetch", is_document, headers, "Fetch", redirected_from))


def test_the_page_itself_and_frames_and_workers_that_begin_with_its_origin() -> None:
    own = attributed()
    own.add("child", "main")
    own.add("worker", "child")
    for frame in ("main", "child", "worker"):
        assert asks(own, frame)
        assert asks(own, frame, f"{A}:80/x", origin=A)
        for url in (f"{PORT}/x", f"{SUBDOMAIN}/x", "https://a.test/x", "http://b.test/x", "data:text/plain,x"):
            assert not asks(own, frame, url)
        assert not asks(own, frame, origin="null")
        assert not asks(own, frame, origin=SUBDOMAIN)
    for frame in ("never attached", ""):
        assert not asks(own, frame)


def test_nothing_without_the_cookie() -> None:
    own = attributed()
    name, value = own.cookie["name"], own.cookie["value"]
    for cookie in ("", f"{name}=", f"{name}={value}x", f"x{name}={value}", value, f"a={name}={value}"):
        assert not asks(own, "main", cookie=cookie)
    other = attributed()
    assert not asks(other, "main", cookie=f"{name}={value}"), "that of another page"


@over_rows("url", [f"{PORT}/", f"{SUBDOMAIN}/", "https://a.test/", f"blob:{SUBDOMAIN}/1-2-3"])
@over_rows("is_requested", [True, False])
def test_a_frame_that_had_another_origin_of_the_site_gets_nothing_any_more(url: str, is_requested: bool) -> None:
    """From the moment when it is on the way there; what it was before, and what is in it, gets nothing either."""
    own = attributed()
    own.add("child", "main")
    own.add_document("child", f"{A}/first")
    assert asks(own, "child")
    if is_requested and not url.startswith("blob:"):
        assert not asks(own, "child", url, is_document=True)
    else:
        own.add_document("child", url)
    assert not asks(own, "child")
    own.add("inner", "child")
    own.add_document("inner", f"{A}/inner")
    own.add_document("child", f"{A}/back")
    own.add("child", "main")
    assert not asks(own, "inner")
    assert not asks(own, "child")
    assert not asks(own, "child", f"{A}/back", is_document=True)
    assert asks(own, "main")


@over_rows("url", ["about:blank", "about:srcdoc", "data:text/html,x", f"blob:{A}/1-2-3", f"{A}:80/x"])
def test_a_document_that_has_no_other_origin_changes_nothing(url: str) -> None:
    """Where it is opaque, the browser sends no cookie."""
    own = attributed()
    own.add("child", "main")
    own.add_document("child", url)
    assert asks(own, "child")


def test_a_redirect_is_judged_with_its_origin() -> None:
    own = attributed()
    assert asks(own, "main", id="1")
    assert asks(own, "main", id="2", redirected_from="1")
    assert not asks(own, "main", "http://b.test/", id="3", redirected_from="2")
    assert not asks(own, "main", id="4", redirected_from="3")
    assert not asks(own, "main", id="5", redirected_from="never seen")


def test_the_browser_says_so_for_every_kind_of_origin() -> None:
    origins = (
        "https://site.test", "http://site.test:8080", "http://localhost:8000", "http://127.0.0.1:8001",
        "http://[::1]:8002", "https://xn--fe-ura.test", "http://intranet", "http://co.uk", "https://dotted.test.",
    )  # fmt: skip
    cases = [(origin, with_credentials) for origin in origins for with_credentials in (True, False)]
    request: dict[tuple[int, str], tuple[bool, str]] = {}

    def response(wanted: BrowserRequest) -> BrowserResponse:
        request[wanted.page, wanted.url] = wanted.with_credentials, dict(wanted.headers).get("Origin", "")
        return respond(wanted, "x", access_control_allow_origin="*")

    page = b"<script>fetch('/own'); fetch('/none', {credentials: 'omit'}); fetch('https://other.test/x')</script>"
    jobs = [
        job_of(f"{origin}/", page, k, with_credentials=with_credentials)
        for k, (origin, with_credentials) in enumerate(cases)
    ]
    with open_renderer() as renderer:
        render(renderer, jobs, response)
    expected: dict[tuple[int, str], tuple[bool, str]] = {}
    for k, (origin, with_credentials) in enumerate(cases):
        expected[k, f"{origin}/own"] = with_credentials, ""
        expected[k, f"{origin}/none"] = False, ""
        expected[k, "https://other.test/x"] = False, origin
    assert request == expected
