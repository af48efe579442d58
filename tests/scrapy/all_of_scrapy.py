"""Imports what Scrapy imports once a spider runs, but for a reactor: processes that are forked later need not."""

from __future__ import annotations

from importlib import import_module

import scrapy.crawler  # noqa: F401
from scrapy.settings import default_settings

import orienteer.scrapy.scheduler  # noqa: F401
import tests.scrapy.spiders  # noqa: F401

_NAMED = (
    *default_settings.DOWNLOAD_HANDLERS_BASE.values(),
    *default_settings.DOWNLOADER_MIDDLEWARES_BASE,
    *default_settings.SPIDER_MIDDLEWARES_BASE,
    *default_settings.EXTENSIONS_BASE,
)
for _path in _NAMED:
    import_module(_path.rpartition(".")[0])
