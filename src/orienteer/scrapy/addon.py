"""The Scrapy add-on, which sets the scheduler and the spider middleware."""

from __future__ import annotations

from scrapy.exceptions import NotConfigured
from scrapy.settings import Settings
from scrapy.utils.misc import load_object

from orienteer.scrapy.links import LinkNotes
from orienteer.scrapy.scheduler import Scheduler


class Addon:
    """`ADDONS = {"orienteer.scrapy.Addon": 500}`."""

    def update_settings(self, settings: Settings) -> None:
        settings.set("SCHEDULER", Scheduler, "addon")
        if load_object(settings["SCHEDULER"]) is not Scheduler:
            raise NotConfigured(f"SCHEDULER is set to {settings['SCHEDULER']}, but the add-on needs its own")
        settings.setdefault_in_component_priority_dict("SPIDER_MIDDLEWARES", LinkNotes, 0)
