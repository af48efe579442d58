"""Ordinary spiders, without any reference to Orienteer."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import scrapy
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

Made = Iterator[Any]


class ToFile:
    """An item pipeline: each item is a line, and on its way to the disk at once."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ToFile:
        return cls(Path(crawler.settings["ITEMS"]))

    def process_item(self, item: Any) -> Any:
        os.write(self._file, json.dumps(item).encode() + b"\n")
        return item


class Follow(scrapy.Spider):
    """An item for every page, and all its links."""

    name = "follow"

    def __init__(self, start: list[str], **named: Any) -> None:
        super().__init__(**named)
        self.start_urls = start

    def parse(self, response: Response) -> Made:
        yield {"url": response.url}
        yield from response.follow_all(css="a")


class FollowAsync(Follow):
    name = "follow-async"

    async def parse(self, response: Response) -> AsyncIterator[Any]:
        yield {"url": response.url}
        for request in response.follow_all(css="a"):
            yield request


class Rules(CrawlSpider):
    """As the documentation has it."""

    name = "rules"
    rules = (Rule(LinkExtractor(), callback="parse_page", follow=True),)

    def __init__(self, start: list[str], **named: Any) -> None:
        super().__init__(**named)
        self.start_urls = start

    def parse_page(self, response: Response) -> Made:
        yield {"url": response.url}


class Belongings(scrapy.Spider):
    """Requests with all that they can carry."""

    name = "belongings"

    def __init__(self, start: list[str]) -> None:
        super().__init__()
        self.start_urls = start

    def parse(self, response: Response) -> Made:
        for k in range(3):
            yield scrapy.Request(
                response.urljoin(f"/p{k}"), self.parse_page, meta={"k": k, "deep": {"list": [k, "x"]}},
                cb_kwargs={"word": f"w{k}"}, cookies={"session": f"s{k}"}, headers={"X-Own": f"h{k}"},
                errback=self.sorry,
            )  # fmt: skip
        for k in range(2):
            meta = {"k": k, "handle_httpstatus_all": True}  # the fake web refuses forms
            yield scrapy.FormRequest(response.urljoin("/form"), self.parse_page, formdata={"k": str(k)}, meta=meta)
        yield scrapy.Request(response.urljoin("/p0"), self.parse_page, meta={"k": "dropped"})
        yield scrapy.Request(response.urljoin("/p0"), self.parse_page, meta={"k": "again"}, dont_filter=True)

    def parse_page(self, response: Response, word: str = "") -> Made:
        meta = {key: response.meta.get(key) for key in ("k", "deep")}
        own = response.request.headers.get("X-Own", b"").decode()
        sent = response.headers.get("X-Cookie", b"").decode()
        yield {"url": response.url, "meta": meta, "word": word, "own": own, "cookie": sent}

    def sorry(self, failure: Any) -> Made:
        yield {"url": failure.request.url, "sorry": True}


class Prioritised(scrapy.Spider):
    """The last link of the page is the most urgent."""

    name = "prioritised"

    def __init__(self, start: list[str]) -> None:
        super().__init__()
        self.start_urls = start

    def parse(self, response: Response) -> Made:
        yield {"url": response.url}
        links = response.css("a::attr(href)").getall()
        for k, link in enumerate(links):
            yield response.follow(link, self.parse_page, priority=k)

    def parse_page(self, response: Response) -> Made:
        yield {"url": response.url}


class Lambdas(Follow):
    """Its callbacks cannot be serialized."""

    name = "lambdas"

    def parse(self, response: Response) -> Made:
        yield {"url": response.url}
        yield from response.follow_all(css="a", callback=lambda response: self.parse(response))


class Insistent(Follow):
    """Requests each page twice, with the same request object; for one without a response, another host."""

    name = "insistent"

    def parse(self, response: Response) -> Made:
        if "twice" not in response.meta:
            response.request.meta["twice"] = True
            response.request.dont_filter = True
            yield response.request
        else:
            yield {"url": response.url}
            yield from response.follow_all(css="a", errback=self.other_host)

    def other_host(self, failure: Any) -> Made:
        yield scrapy.Request("http://other.test/", meta={"twice": True})


SPIDERS = {kind.name: kind for kind in (Follow, FollowAsync, Rules, Belongings, Prioritised, Lambdas, Insistent)}
