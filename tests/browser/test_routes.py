"""How a page uses fragments, for applications in memory: no browser is needed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from orienteer.browser.routes import MAX_SAMPLES, FragmentUse, RouteContent, fragment_use
from tests.tables import over_rows

APP = "http://app.test/"
MOST_VISITS = 20  # of one part, or of names

Says = Callable[[str, int], str | None]  # the text at a fragment, and how many visits came before


class Application:
    """Says a text at each fragment; its links are always the same."""

    def __init__(self, says: Says, links: tuple[str, ...] = ()) -> None:
        self._says = says
        self._links = frozenset(APP + link for link in links)
        self.visits: list[str] = []

    async def visit(self, url: str, is_offline: bool = False) -> RouteContent | None:
        text = self._says(url.partition("#")[2], len(self.visits))
        self.visits.append(url)
        return None if text is None else RouteContent(text, self._links)

    def used(self, *links: str, here: str = "#/") -> FragmentUse:
        routes = [APP + link for link in links if link.startswith(("#/", "#!"))]
        names = [APP + link for link in links if not link.startswith(("#/", "#!"))]
        with ThreadPoolExecutor(1) as thread:  # in this one the event loop of Playwright may be running
            return thread.submit(asyncio.run, fragment_use(APP + here, routes, names, self.visit)).result()


def path_of(fragment: str) -> str:
    return fragment.partition("?")[0].partition("#")[0]


SECTIONS = [f"#/a?id={k}" for k in range(30)]


def test_a_part_that_makes_no_difference_is_an_anchor() -> None:
    app = Application(lambda fragment, _: path_of(fragment))
    assert app.used("#/b", *SECTIONS, "#/b#x", "#/a?v=1&id=2") == FragmentUse(("?id", "#", "?v"))
    assert len(app.visits) <= 3 * MOST_VISITS


def test_a_part_that_chooses_the_content_is_none() -> None:
    assert Application(lambda fragment, _: fragment).used("#/b", *SECTIONS, "#/b#x") == FragmentUse()
    app = Application(lambda fragment, _: fragment.partition("#")[0])
    assert app.used("#/b", *SECTIONS, "#/b#x") == FragmentUse(("#",))


def test_one_of_the_values_that_are_compared_is_enough() -> None:
    app = Application(lambda fragment, _: fragment if fragment.endswith("=29") else path_of(fragment))
    assert app.used("#/b", *SECTIONS) == FragmentUse()


def test_links_are_compared_without_the_part() -> None:
    class Linking(Application):
        """At `#/a?id=3` it links to the same place of another page: by the parameter of this name."""

        name = "id"

        async def visit(self, url: str, is_offline: bool = False) -> RouteContent | None:
            place = url.partition("?id=")[2]
            link = f"{APP}#/b?{self.name}={place}" if place else f"{APP}#/b"
            return RouteContent(path_of(url.partition("#")[2]), frozenset([link]))

    app = Linking(lambda *_: "")
    assert app.used("#/b", *SECTIONS).anchors == ("?id",)
    app.name = "from"
    assert app.used("#/b", *SECTIONS).anchors == ()


@over_rows(
    "says",
    [
        lambda fragment, n: f"{path_of(fragment)} at {n} o'clock",  # it changes by itself
        lambda fragment, n: "the same everywhere",  # it is unknown whether the page follows the fragment
        lambda fragment, n: None,  # it does not get what it asks for
        lambda fragment, n: "broken" if n > 2 else path_of(fragment),  # it does not come back
        lambda fragment, n: None if "id" in fragment else path_of(fragment),
    ],
)
def test_without_evidence_fragments_are_not_routes(says: Says) -> None:
    app = Application(says)
    assert app.used("#/b", *SECTIONS).anchors == ()
    assert len(app.visits) <= MOST_VISITS


def test_an_application_with_one_page_is_asked_for_one_that_does_not_exist() -> None:
    app = Application(lambda fragment, _: "not found" if "no-such" in fragment else "the only page")
    assert app.used(*(f"#/?id={k}" for k in range(30))).anchors == ("?id",)


def test_names_that_choose_the_content_are_routes() -> None:
    names = [f"#page{k}" for k in range(30)]
    app = Application(lambda fragment, _: fragment)
    assert app.used(*names, here="").named_routes is True
    assert len(set(app.visits)) == 1 + MAX_SAMPLES
    home = Application(lambda fragment, _: "home" if fragment in ("", "page0") else fragment)
    assert home.used(*names, here="").named_routes is True, "one of them is this page"


def test_names_of_places_are_no_routes() -> None:
    names = [f"#part{k}" for k in range(30)]
    app = Application(lambda fragment, _: "always the same")
    assert app.used(*names, here="").named_routes is False
    assert len(app.visits) <= MOST_VISITS
    assert app.used(here="").named_routes is False


@pytest.mark.parametrize(
    "says",
    [
        lambda fragment, n: f"at {n} o'clock",
        lambda fragment, n: None,
        lambda fragment, n: "a window" if fragment == "part29" else "the same",
        lambda fragment, n: None if fragment == "part29" else fragment,
    ],
)
def test_names_without_a_clear_answer(says: Says) -> None:
    assert Application(says).used(*(f"#part{k}" for k in range(30)), here="").named_routes is None
