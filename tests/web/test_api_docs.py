"""The documentation of the API: all of it, in plain HTML, and nothing from elsewhere."""

from __future__ import annotations

import re

import httpx


def test_every_call_and_every_shape_is_there(client: httpx.Client) -> None:
    told = client.get("/api/openapi.json").json()
    text = client.get("/api/docs").text.replace("<wbr>", "")
    for path, methods in told["paths"].items():
        for method in methods:
            assert f'<span class="method {method}">{method.upper()}</span> <code>{path}</code>' in text
    names = set(told["components"]["schemas"])
    assert {"Results", "CrawlAnswer", "MapAnswer"} <= names
    assert set(re.findall(r'<section class="panel" id="(\w+)"', text)) >= names
    assert {target for target in re.findall(r'href="#([^"]+)"', text) if target != "main"} <= set(
        re.findall(r'id="([^"]+)"', text)
    ), "no link leads nowhere"


def test_values_are_described(client: httpx.Client) -> None:
    text = client.get("/api/docs").text
    assert "integer, at least 1, at most 100; 10 if left out" in text
    assert "curl -X POST" in text
    assert "/api/search?q=…" in text


def test_it_needs_nothing_from_elsewhere(client: httpx.Client) -> None:
    answer = client.get("/api/docs")
    assert "'unsafe" not in answer.headers["Content-Security-Policy"]
    assert re.findall(r'<(?:script|link)[^>]*(?:src|href)="(?!/static/|/opensearch.xml")', answer.text) == []
    assert 'href="/api/docs"' in client.get("/crawl").text
