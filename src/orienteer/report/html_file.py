"""Render a site report as HTML: a self-contained file, and the fragment that the web pages include.

All values are escaped by the templates.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TextIO
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined

from orienteer import __version__
from orienteer.report.finding import Finding, SiteReport
from orienteer.report.kinds import CLICKS, KINDS
from orienteer.wording import counted, is_link, moment, plain, share_text

MAX_LISTED = 200  # findings of a kind; CSV and JSON have all of them
MAX_ON_PAGE = 25  # of them in the fragment of a web page
_MAX_PLACES = 5


def write_html(report: SiteReport, out: TextIO) -> None:
    """Write the whole file as a stream."""
    template = _environment().get_template("report.html")
    out.writelines(template.generate(**_values(report, None, MAX_LISTED), version=__version__))


def findings_html(report: SiteReport, details: str) -> str:
    """Return the findings as an HTML fragment; links lead to `details`, the page about a URL."""
    return _environment().get_template("findings.html").render(**_values(report, details, MAX_ON_PAGE))


def headline(report: SiteReport) -> str:
    """Summarize the report in a sentence: the share of clicks that end at broken links."""
    if not report.n_checked:
        return "No link of these pages was checked."
    share = report.clicks.broken + report.clicks.host_gone
    n_broken = len(report.findings["broken"])
    if not n_broken and not share:
        return f"No broken link among {report.n_checked:,} checked."
    addresses = counted(n_broken, "address leads", "addresses lead")
    one_in = f" (1 in {1 / share:,.0f})" if share > 0 else ""
    return f"{share_text(share)} of a surfer's clicks end at a broken link{one_in}: {addresses} to no page."


def _values(report: SiteReport, details: str | None, max_listed: int) -> dict[str, Any]:
    return {
        "report": report,
        "headline": headline(report),
        "kinds": list(KINDS.values()),
        "clicks": CLICKS,
        "max_listed": max_listed,
        "max_places": _MAX_PLACES,
        "details": details,
    }


def _address(url: str) -> str:
    return plain(url.partition("://")[2] or url, 160)


def _value_text(finding: Finding) -> str:
    """Return the value of a finding as text, unless `why` has it already."""
    if finding.kind == "hosts" and finding.value is not None:
        return counted(int(finding.value), "page was not requested", "pages were not requested")
    return ""


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("orienteer.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "share": share_text,
        "plain": plain,
        "counted": counted,
        "moment": moment,
        "figure": lambda number: f"{number:,}",
        "address": _address,
        "value": _value_text,
        "query": lambda url: urlencode({"url": url}, errors="replace"),
    }
    environment.tests["link"] = is_link
    return environment
