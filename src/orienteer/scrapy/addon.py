"""The add-on: what one line of settings switches on."""

from __future__ import annotations

from scrapy.settings import Settings

from orienteer.scrapy.links import LinkNotes
from orienteer.scrapy.scheduler import Scheduler


class Addon:
    """`ADDONS = {"orienteer.scrapy.Addon": 500}`."""

    def update_settings(self, settings: Settings) -> None:
        settings.set("SCHEDULER", Scheduler, "addon")
        settings["SPIDER_MIDDLEWARES"].setdefault(LinkNotes, 0)
