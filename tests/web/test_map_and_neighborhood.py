"""Map and Neighborhood over HTTP: their pages and their JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from orienteer.store.folder_view import estimate_of_folder
from tests.web.live_server import client_of, served
from tests.web.small_crawl import CHARTS, make_small_crawl
from tests.web.wide_crawl import many_hosts, written_crawl


def pages_of(folder: Path, **options: Any) -> Any:
    """A context manager: a client of the pages of a folder."""

    class Client:
        def __enter__(self) -> httpx.Client:
            self._server = served(folder, **options)
            self._client = client_of(self._server.__enter__())
            return self._client

        def __exit__(self, *error: Any) -> None:
            self._client.close()
            self._server.__exit__(*error)

    return Client()


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """120 hosts."""
    folder = written_crawl(tmp_path_factory.mktemp("wide") / "wide", many_hosts(np.random.default_rng(1), 120))
    with pages_of(folder) as client:
        yield client


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = make_small_crawl(tmp_path_factory.mktemp("bare") / "bare", estimated=False, indexed=False)
    with pages_of(folder) as client:
        yield client


def get_json(client: httpx.Client, target: str, **query: Any) -> Any:
    response = client.get(target, params=query)
    assert response.status_code == 200, response.text
    return response.json()


def test_the_map_as_data(client: httpx.Client) -> None:
    found = get_json(client, "/api/map")
    assert (found["kind"], found["n_regions"]) == ("host", 4)
    assert sum(region["rank"] for region in found["regions"]) == pytest.approx(1, abs=1e-3)
    assert [region["rank"] for region in found["regions"]] == sorted(
        (region["rank"] for region in found["regions"]), reverse=True
    )
    assert max(region["radius"] for region in found["regions"]) == 1
    links = found["links"]
    assert len(links["sources"]) == len(links["targets"]) == len(links["mass"]) > 0
    assert (found["regions"][0]["name"], found["regions"][0]["label"]) == ("www.harbour.test", "www")


def test_a_host_as_data(client: httpx.Client) -> None:
    found = get_json(client, "/api/map/host", name="library.harbour.test")
    assert found["n_pages"] == len(found["pages"])
    assert CHARTS in [page["url"] for page in found["pages"][:2]]
    assert {flow["name"] for flow in found["links_in"]} == {"museum.harbour.test", "club.harbour.test"}


def test_the_pages_of_a_host_are_paged(wide: httpx.Client) -> None:
    regions = get_json(wide, "/api/map")["regions"]
    name = max(regions, key=lambda region: region["n_pages"])["name"]
    first = get_json(wide, "/api/map/host", name=name)
    assert first["n_pages"] > 50
    second = get_json(wide, "/api/map/host", name=name, page=2)
    assert first["pages"][-1]["rank"] >= second["pages"][0]["rank"]
    assert not {page["url"] for page in first["pages"]} & {page["url"] for page in second["pages"]}
    assert get_json(wide, "/api/map/host", name=name, page=1000)["pages"] == []
    text = wide.get("/map/host", params={"name": name, "page": 2}).text
    assert "2 of" in text
    assert 'rel="prev"' in text


def hosts_in(text: str) -> list[str]:
    """As the table of the map names them."""
    return re.findall(r'<a href="/map/host\?name=[^"]*">([^<]*)', text.replace("<wbr>", ""))


def test_the_table_of_the_map_has_all_hosts(wide: httpx.Client) -> None:
    names: list[str] = []
    for page in (1, 2, 3, 4):
        names += hosts_in(wide.get("/map", params={"page": page}).text)
    assert len(names) == len(set(names)) == 120
    found = hosts_in(wide.get("/map", params={"q": "garden1"}).text)
    assert sorted(found) == ["garden1.test", "garden10.test", "garden11.test"]
    assert "0 of 120 hosts" in wide.get("/map", params={"q": "<nowhere>"}).text


def test_a_fragment_of_the_map_page_is_the_table(wide: httpx.Client) -> None:
    part = wide.get("/map", params={"q": "river"}, headers={"HX-Request": "true"}).text
    assert "<table" in part
    assert "<html" not in part


@pytest.mark.parametrize("target", ["/map/host?name=unknown.test", "/api/map/host?name=%3Cscript%3E"])
def test_unknown_hosts(client: httpx.Client, target: str) -> None:
    response = client.get(target)
    assert response.status_code == 404
    assert "<script>" not in response.text.partition("</head>")[2]


@pytest.mark.parametrize(
    "target", ["/map?page=0", "/map?page=x", f"/map?q={'x' * 201}", "/map/host", f"/map/host?name={'x' * 3001}"]
)
def test_invalid_values(client: httpx.Client, target: str) -> None:
    assert client.get(target).status_code == 422


def test_neighborhood_as_data(client: httpx.Client, small_crawl: Path) -> None:
    found = get_json(client, "/api/neighborhood")
    stored = estimate_of_folder(small_crawl)
    assert found["is_current"] is True
    assert found["estimate"]["forecast"]["text"] == stored["forecast"]["text"]
    assert [page["url"] for page in found["estimate"]["outside"]] == [page["url"] for page in stored["outside"]]
    more = {one["url"]: one for one in found["estimate"]["valued_more"]}
    assert more[CHARTS]["outside"] > more[CHARTS]["inside"]


def test_neighborhood_as_a_page(client: httpx.Client) -> None:
    text = client.get("/neighborhood").text.replace("<wbr>", "")
    assert "of the rank leads to pages not fetched" in text
    assert "library.harbour.test/charts/" in text
    assert "world.test" in text
    assert "has gone on" not in text


def test_without_an_estimate_it_explains_how_to_make_one(bare: httpx.Client) -> None:
    assert get_json(bare, "/api/neighborhood") == {"estimate": None, "is_current": False}
    assert "orienteer estimate " in bare.get("/neighborhood").text


def test_an_estimate_of_an_earlier_crawl_and_a_damaged_one(tmp_path: Path, small_crawl: Path) -> None:
    folder = written_crawl(tmp_path / "crawl", many_hosts(np.random.default_rng(1), 3))
    (folder / "estimate.json").write_text((small_crawl / "estimate.json").read_text())
    with pages_of(folder) as client:
        assert get_json(client, "/api/neighborhood")["is_current"] is False
        assert "--restart" in client.get("/neighborhood").text
        former = json.loads((folder / "estimate.json").read_text())
        former["outlook"] = forecast = former.pop("forecast")  # as version 0.2 wrote it
        (folder / "estimate.json").write_text(json.dumps(former))
        assert get_json(client, "/api/neighborhood")["estimate"]["forecast"]["text"] == forecast["text"]
        (folder / "estimate.json").write_text(json.dumps({"n_local": "many"}))
        response = client.get("/neighborhood")
        assert response.status_code == 409
        assert "orienteer estimate" in response.text


def test_the_api_is_described(client: httpx.Client) -> None:
    paths = get_json(client, "/api/openapi.json")["paths"]
    assert {"/api/map", "/api/map/host", "/api/neighborhood"} <= set(paths)


def test_an_empty_crawl_has_an_empty_map(tmp_path: Path) -> None:
    from tests.search.small_webs import HandmadeCrawl

    with pages_of(HandmadeCrawl(tmp_path / "crawl").path) as client:
        assert get_json(client, "/api/map")["regions"] == []
        assert "Nothing has been fetched yet" in client.get("/map").text
