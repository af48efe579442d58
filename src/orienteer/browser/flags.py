"""How the browser is started: without a network, without windows, and as cheap as it gets."""

from __future__ import annotations

import os

# Requests come to us before they reach the network. What finds another way there meets a proxy that does not exist,
# names that cannot be resolved, and WebRTC that may speak to the proxy alone. Each closes a way that was seen to leak.
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

_NOBODY_LOOKS = (
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

# A page has a context of its own, hence a process of its own. All its frames share it: they see no other page, and
# the time of a page and its frames passes together.
_CHEAP = (
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
    """All but the program itself."""
    chosen = [*_NOBODY_LOOKS, *_NO_NETWORK, *_CHEAP, "--remote-debugging-pipe", f"--user-data-dir={profile}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        chosen.append("--no-sandbox")  # it has none for root
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
