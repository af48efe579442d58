"""Addresses that a crawler must not connect to unless the user allows it (protection against SSRF).

Pages are untrusted: a link to `http://127.0.0.1/`, or to a name that resolves to a machine of the local network, would
let their authors reach private services through the crawler. Only globally routed unicast addresses are allowed; IPv4
addresses embedded in IPv6 addresses are checked as well.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from orienteer.url import canonical_url, host_of

_IPV4 = tuple(
    (IPv4Network(network), reason)
    for network, reason in (
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared by a provider's customers"),
        ("127.0.0.0/8", "loopback"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "for documentation"),
        ("192.88.99.0/24", "reserved"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "for benchmarks"),
        ("198.51.100.0/24", "for documentation"),
        ("203.0.113.0/24", "for documentation"),
        ("224.0.0.0/4", "multicast"),
        ("255.255.255.255/32", "broadcast"),
        ("240.0.0.0/4", "reserved"),
    )
)

_IPV6 = tuple(
    (IPv6Network(network), reason)
    for network, reason in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "private"),
        ("ff00::/8", "multicast"),
        ("2001::/23", "reserved"),  # Teredo is in it
        ("2001:db8::/32", "for documentation"),
        ("3fff::/20", "for documentation"),
    )
)
_IPV6_PUBLIC = IPv6Network("2000::/3")

# IPv6 networks whose addresses embed an IPv4 address at this bit: IPv4-mapped, NAT64, and 6to4.
_EMBEDDED_IPV4 = (
    (IPv6Network("::ffff:0:0/96"), 0),
    (IPv6Network("64:ff9b::/96"), 0),
    (IPv6Network("2002::/16"), 80),
)


@lru_cache(maxsize=4096)
def forbidden_reason(address: str) -> str | None:
    """Return why an address is forbidden, in a word or two; None if it is allowed.

    >>> forbidden_reason("127.0.0.1"), forbidden_reason("::ffff:10.0.0.1"), forbidden_reason("1.1.1.1")
    ('loopback', 'private', None)
    """
    parsed = ip_address(address)
    return _ipv4_reason(parsed) if isinstance(parsed, IPv4Address) else _ipv6_reason(parsed)


def literal_address(url: str) -> str | None:
    """Return the literal address of a URL; None if its host is a name. `localhost` counts as 127.0.0.1."""
    host = host_of(canonical_url(url) or "")
    name = host.partition("]")[0][1:] if host.startswith("[") else host.partition(":")[0]
    if name.rstrip(".").rpartition(".")[2] == "localhost":
        return "127.0.0.1"
    try:
        return str(ip_address(name))
    except ValueError:
        return None


def _ipv4_reason(address: IPv4Address) -> str | None:
    return next((reason for network, reason in _IPV4 if address in network), None)


def _ipv6_reason(address: IPv6Address) -> str | None:
    for network, shift in _EMBEDDED_IPV4:
        if address in network:
            return _ipv4_reason(IPv4Address(int(address) >> shift & 0xFFFFFFFF))
    reason = next((reason for network, reason in _IPV6 if address in network), None)
    return reason or (None if address in _IPV6_PUBLIC else "reserved")
