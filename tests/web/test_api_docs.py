"""The documentation of the API: complete, in plain HTML, without external content."""

from __future__ import annotations

import re

import httpx


def test_every_call_and_every_shape_is_there(client: httpx.Client) -> None:
    schema = client.get("/api/openapi.json").json()
    text = client.get("/api/docs").text.replace("<wbr>", "")
    for path, methods in schema["paths"].items():
        for method in methods:
            assert f'<span class="method {method}">{method.upper()}</span> <code>{path}</code>' in text
    names = set(schema["components"]["schemas"])
    assert {"SearchResults", "CrawlResponse", "MapResponse"} <= names
    assert set(re.findall(r'<section class="panel" id="(\w+)"', text)) >= names
    assert {target for target in re.findall(r'href="#([^"]+)"', text) if target != "main"} <= set(
        re.findall(r'id="([^"]+)"', text)
    ), "no link leads nowhere"


def test_values_are_described(client: httpx.Client) -> None:
    text = client.get("/api/docs").text
    assert "integer, at least 1, at most 100; 10 if left out" in text
    assert "curl -X POST" in text
    assert "/api/search?q=…" in text


def test_it_loads_no_external_content(client: httpx.Client) -> None:
    response = client.get("/api/docs")
    assert "'unsafe" not in response.headers["Content-Security-Policy"]
    assert re.findall(r'<(?:script|link)[^>]*(?:src|href)="(?!/static/|/opensearch.xml")', response.text) == []
    assert 'href="/api/docs"' in client.get("/crawl").text
