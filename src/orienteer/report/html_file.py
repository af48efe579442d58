"""A site report as HTML: one file that needs nothing else, and the part of it that the pages in the browser show.

Everything that is not written in a template is escaped.
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

MOST_SHOWN = 200  # findings of a kind; CSV and JSON have all of them
MOST_ON_PAGE = 25  # of them as a part of a page
_PLACES_SHOWN = 5


def write_html(report: SiteReport, out: TextIO) -> None:
    """The whole file, piece by piece."""
    template = _environment().get_template("report.html")
    out.writelines(template.generate(**_values(report, None, MOST_SHOWN), version=__version__))


def findings_html(report: SiteReport, details: str) -> str:
    """Its findings as a part of a page; links lead to `details`, which shows what is known of a URL."""
    return _environment().get_template("findings.html").render(**_values(report, details, MOST_ON_PAGE))


def headline(report: SiteReport) -> str:
    """The report in a sentence.

    It says how many clicks end nowhere; where nothing was checked, that.
    """
    if not report.n_checked:
        return "No link of these pages was checked."
    share = report.clicks.broken + report.clicks.host_gone
    n_broken = len(report.findings["broken"])
    if not n_broken and not share:
        return f"No broken link among {report.n_checked:,} checked."
    addresses = counted(n_broken, "address leads", "addresses lead")
    one_in = f" (1 in {1 / share:,.0f})" if share > 0 else ""
    return f"{share_text(share)} of a surfer's clicks end at a broken link{one_in}: {addresses} to no page."


def _values(report: SiteReport, details: str | None, most_shown: int) -> dict[str, Any]:
    return {
        "report": report,
        "headline": headline(report),
        "kinds": list(KINDS.values()),
        "clicks": CLICKS,
        "most_shown": most_shown,
        "places_shown": _PLACES_SHOWN,
        "details": details,
    }


def _address(url: str) -> str:
    return plain(url.partition("://")[2] or url, 160)


def _shown_value(finding: Finding) -> str:
    """What a kind measures, where `why` does not say it."""
    if finding.kind == "hosts" and finding.value is not None:
        return counted(int(finding.value), "page was not asked for", "pages were not asked for")
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
        "value": _shown_value,
        "query": lambda url: urlencode({"url": url}, errors="replace"),
    }
    environment.tests["link"] = is_link
    return environment
