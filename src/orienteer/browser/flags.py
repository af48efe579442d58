"""Command-line flags of the browser: no network, no windows, low cost."""

from __future__ import annotations

import os

# Requests are intercepted before they reach the network. For anything else the proxy does not exist, no name resolves,
# and WebRTC is restricted to the proxy. Each flag closes a leak that was observed.
_NO_NETWORK = (
    "--proxy-server=http://127.0.0.1:1",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    "--no-pings",
    "--dns-prefetch-disable",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-client-side-phishing-detection",
    "--disable-sync",
    "--disable-default-apps",
    "--disable-breakpad",
    "--disable-crash-reporter",
)

_HEADLESS = (
    "--headless",
    "--hide-scrollbars",
    "--mute-audio",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-extensions",
    "--disable-notifications",
    "--deny-permission-prompts",
    "--block-new-web-contents",  # no windows
    "--disable-gpu",
    "--disable-logging",
    "--log-level=3",
    "--window-size=1280,1024",
)

# Each page has its own browser context, hence its own process. All its frames share the process, so that they have the
# same virtual time; no other page is in it.
_LOW_COST = (
    "--disable-site-isolation-trials",
    "--disable-features=" + ",".join((
        "IsolateOrigins",
        "SitePerProcess",
        "SpareRendererForSitePerProcess",
        "BackForwardCache",
            "PaintHolding",
        "Prerender2",
        "Translate",
        "MediaRouter",
        "OptimizationHints",
        "InterestFeedContentSuggestions",
        "AcceptCHFrame",
        "HttpsUpgrades",
        "WebTransport",
    )),
    "--enable-features=NetworkServiceInProcess2",
    "--in-process-gpu",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-hang-monitor",
    "--disable-ipc-flooding-protection",
    "--disable-back-forward-cache",
    "--disable-domain-blocking-for-3d-apis",
    "--disk-cache-size=1",
    "--js-flags=--max-old-space-size=512",
)  # fmt: skip

_SHARED_MEMORY = "/dev/shm"
_ENOUGH_SHARED_BYTES = 512 << 20


def arguments(profile: str, user_agent: str) -> list[str]:
    """Return the arguments after the program."""
    chosen = [*_HEADLESS, *_NO_NETWORK, *_LOW_COST, "--remote-debugging-pipe", f"--user-data-dir={profile}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        chosen.append("--no-sandbox")  # the sandbox does not work for root
    if not _has_shared_memory():
        chosen.append("--disable-dev-shm-usage")
    if user_agent.isprintable():
        chosen.append(f"--user-agent={user_agent}")
    return [*chosen, "about:blank"]


def _has_shared_memory() -> bool:
    try:
        room = os.statvfs(_SHARED_MEMORY)
    except (OSError, AttributeError):
        return False
    return room.f_bavail * room.f_frsize >= _ENOUGH_SHARED_BYTES and os.access(_SHARED_MEMORY, os.W_OK)
