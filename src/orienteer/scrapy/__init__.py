"""Orienteer in a Scrapy project: one line of settings.

    ADDONS = {"orienteer.scrapy.Addon": 500}              # or: SCHEDULER = "orienteer.scrapy.Scheduler"

The spider stays as it is. What it gets, and the settings for it:

    ORIENTEER_POLICY        which requests go first: "certified", unless you say otherwise
    ORIENTEER_DIR           a folder in which requests survive `kill -9`; JOBDIR/orienteer if only JOBDIR is set;
                            without either they are in memory
    CLOSESPIDER_COVERAGE    stop when so much is proved to be covered, such as 0.98
    ORIENTEER_CONFIDENCE    how sure, such as 0.999: measure the coverage by random walks, too, and stop by what comes
                            first; without, by the proof alone
    ORIENTEER_DAMPING       the chance that a surfer follows a link, 0.85

*What is a page?* A request that was accepted. Two requests are the same when their fingerprints are, which is up to
REQUEST_FINGERPRINTER_CLASS: by default method, URL and body, so a POST with another body is another page, and the same
URL with other meta, headers or cookies is not. The rule is Scrapy's own: a request is dropped if one like it was
accepted before, unless it says `dont_filter`; one that says so is always accepted, is a page of its own, and no reason
to drop others. (So start pages, which say so, are fetched again when a page links to them, as ever.) DUPEFILTER_CLASS
is not used.

*What is a link?* A request that the spider yields from a response is a link from that page, dropped or not. One that
the downloader puts in the place of another (a redirect) makes that one another name of its target; if it is the same
request again, it is a retry. Those from `start()`, and those from elsewhere (`engine.crawl`, an errback), are where the
crawl starts, each trusted alike.

*What becomes of a page?* It is *fetched* when the spider has dealt with its response, whatever it yielded. 404 and the
like is *failed*: a page without links. What was never answered, or only with 403, 429 or 5xx, and what a middleware
ignored (robots.txt), is *blocked*: its mass is out of reach, and reported.

*What is promised?* `orienteer/coverage_lower` and `_upper` bound the share of a surfer's time that is spent on pages
that were fetched (or failed), where the surfer starts at the start requests and follows the requests that the spider
yields: its graph, not the web's. Links that the spider does not follow, or that a middleware drops before they are
scheduled (offsite, too deep), do not exist in it. While `start()` has not come to its end, more may come to start from;
so the spider is closed for its coverage only after that.

*What is measured?* With ORIENTEER_CONFIDENCE random walks along the same requests measure the coverage. What they need
is asked for first; it is never a request that the spider has not yielded. They begin when `start()` has come to its
end, and anew when a start page is added later, or the spider is restarted: each time with less of the error that is
left, so that the confidence holds of them all together. `orienteer/measured/...` in the stats is what they say:
`evidence` is how far they are, and from 1 on the coverage is at least `lower` with the confidence.

*What survives?* Every accepted request, with all that Scrapy can write down of it: callback, errback, meta, cb_kwargs,
headers, cookies, body, priority. A page is acknowledged when the spider and the item pipelines have dealt with it,
about once a second; one that was not is asked for again after a kill. So its items may come twice, but none is lost
(files of FEEDS are flushed first; what your own pipelines buffer is theirs to flush). Start requests are not made again
by a restart. Requests that cannot be written down (a lambda as callback) are kept in memory, which is said once;
cookies that servers have set are in memory, too, as ever. Requests are pickles, which could run any code when they are
loaded: each is signed with a key of the user outside ORIENTEER_DIR, and what others have written there is refused.

`priority` is a boost: each point makes a request ten times as urgent. DOWNLOAD_DELAY, AutoThrottle and the limits on
concurrency are Scrapy's as ever; a host that must wait does not hold up the others.
"""

from __future__ import annotations

from orienteer.scrapy.addon import Addon
from orienteer.scrapy.scheduler import Scheduler

__all__ = ["Addon", "Scheduler"]
