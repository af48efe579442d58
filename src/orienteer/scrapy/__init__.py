"""Orienteer in a Scrapy project: one line of settings.

    ADDONS = {"orienteer.scrapy.Addon": 500}              # or: SCHEDULER = "orienteer.scrapy.Scheduler"

The spider stays as it is. What it gets, and the settings for it:

    ORIENTEER_POLICY        the order of requests; default: "certified"
    ORIENTEER_DIR           a folder in which requests survive `kill -9`; JOBDIR/orienteer if only JOBDIR is set;
                            without either, requests are in memory
    CLOSESPIDER_COVERAGE    stop when this coverage is proved, such as 0.98
    ORIENTEER_CONFIDENCE    such as 0.999: measure the coverage by random walks, too, and stop by the measurement or
                            the proof, whichever is first; by default by the proof alone
    ORIENTEER_DAMPING       the probability that a surfer follows a link, 0.85

*Pages.* A page is a request that was accepted. Two requests are the same if their fingerprints are, as computed by
REQUEST_FINGERPRINTER_CLASS: by default from method, URL and body, so a POST with another body is another page, and the
same URL with other meta, headers or cookies is not. As in Scrapy, a request is dropped if the same one was accepted
before, unless it has `dont_filter`; such a request is always accepted, is a page of its own, and never causes others to
be dropped. (So start pages, which have it, are fetched again if a page links to them, as usual.) DUPEFILTER_CLASS is
not used.

*Links.* A request that the spider yields from a response is a link from that page, dropped or not. A request with which
the downloader replaces another one (a redirect) makes the latter another name of its target; if it is the same request,
it is a retry. Requests from `start()`, and from other sources (`engine.crawl`, an errback), are start pages with equal
trust.

*States.* A page is *fetched* when the spider has processed its response, whatever it yielded. A 404 and the like is
*failed*: a page without links. A request without a response, or only with 403, 429 or 5xx, or ignored by a middleware
(robots.txt), is *blocked*: its mass is unreachable, and reported.

*Certificate.* `orienteer/coverage_lower` and `_upper` bound the share of a surfer's time on pages that were fetched (or
failed), where the surfer starts at the start requests and follows the requests that the spider yields: the spider's
graph, not the web's. Links that the spider does not follow, or that a middleware drops before they are scheduled
(offsite, too deep), do not exist in it. Until `start()` has ended, there may be more start pages; the spider is closed
for its coverage only after that.

*Measurement.* With ORIENTEER_CONFIDENCE, random walks along the same requests measure the coverage. The pages that they
need are requested first; these are always requests that the spider has yielded. Walks begin when `start()` has ended,
and again when a start page is added later, or the spider is restarted: each time with less of the remaining error, so
that the confidence holds for all of them together. The stats have the results as `orienteer/measured/...`: `evidence`
is the progress, and from 1 on the coverage is at least `lower` with the confidence.

*Persistence.* Every accepted request is stored with everything that Scrapy can serialize: callback, errback, meta,
cb_kwargs, headers, cookies, body, priority. A page is acknowledged when the spider and the item pipelines have
processed it, about once a second; other pages are requested again after a kill. So items may be repeated, but none is
lost (files of FEEDS are flushed first; your own pipelines must flush their buffers). A restart does not repeat start
requests. Requests that cannot be serialized (a lambda as callback) are only in memory, which is logged once; cookies
set by servers are only in memory, too, as usual. Requests are pickles, which could run any code when they are loaded:
each is signed with a key of the user outside ORIENTEER_DIR, and unsigned ones are refused.

`priority` is a boost: each point makes a request ten times as urgent. DOWNLOAD_DELAY, AutoThrottle and the limits on
concurrency apply as usual; a host that must wait does not delay the others.
"""

from __future__ import annotations

from orienteer.scrapy.scheduler import Addon, Scheduler

__all__ = ["Addon", "Scheduler"]
