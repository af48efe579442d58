"""Forbidden and allowed addresses."""

from __future__ import annotations

import ipaddress

from hypothesis import given
from hypothesis import strategies as st

from orienteer.fetch.addresses import forbidden_reason, literal_address
from tests.tables import over_rows


@over_rows(
    ("address", "reason"),
    [
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("0.0.0.0", "unspecified"),
        ("0.1.2.3", "unspecified"),
        ("10.0.0.1", "private"),
        ("172.16.0.1", "private"),
        ("172.31.255.255", "private"),
        ("192.168.1.1", "private"),
        ("169.254.169.254", "link-local"),
        ("100.64.0.1", "shared by a provider's customers"),
        ("192.0.0.8", "reserved"),
        ("192.0.2.1", "for documentation"),
        ("198.19.0.1", "for benchmarks"),
        ("224.0.0.1", "multicast"),
        ("240.0.0.1", "reserved"),
        ("255.255.255.255", "broadcast"),
        ("::", "unspecified"),
        ("::1", "loopback"),
        ("fc00::1", "private"),
        ("fd12::1", "private"),
        ("fe80::1", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("fec0::1", "private"),
        ("ff02::1", "multicast"),
        ("2001:db8::1", "for documentation"),
        ("3fff::1", "for documentation"),
        ("100::1", "reserved"),
        ("4000::1", "reserved"),
        ("::ffff:127.0.0.1", "loopback"),
        ("::ffff:192.168.0.1", "private"),
        ("::127.0.0.1", "reserved"),
        ("64:ff9b::10.0.0.1", "private"),
        ("64:ff9b:1::10.0.0.1", "reserved"),
        ("2002:7f00:1::", "loopback"),
        ("2002:c0a8:101::1", "private"),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "reserved"),
    ],
)
def test_other_addresses_are_forbidden(address, reason):
    assert forbidden_reason(address) == reason


@over_rows(
    "address",
    [
        "1.1.1.1",
        "8.8.8.8",
        "126.255.255.255",
        "128.0.0.1",
        "100.63.255.255",
        "100.128.0.1",
        "172.15.0.1",
        "172.32.0.1",
        "2606:4700:4700::1111",
        "2a00:1450::1",
        "::ffff:1.1.1.1",
        "64:ff9b::1.1.1.1",
        "2002:101:101::1",
    ],
)
def test_public_addresses_are_allowed(address):
    assert forbidden_reason(address) is None


@given(st.ip_addresses(v=4))
def test_no_address_that_python_calls_private_is_allowed(address):
    if not address.is_global or address.is_multicast:
        assert forbidden_reason(str(address)) is not None


@given(st.ip_addresses(v=4))
def test_embedded_addresses_are_checked(address):
    inside = (
        f"::ffff:{address}",
        f"64:ff9b::{address}",
        str(ipaddress.IPv6Address((0x2002 << 112) | int(address) << 80)),
    )
    assert {forbidden_reason(outer) for outer in inside} == {forbidden_reason(str(address))}


@over_rows(
    ("url", "address"),
    [
        ("http://127.0.0.1/", "127.0.0.1"),
        ("http://0x7f.1:8080/x", "127.0.0.1"),
        ("http://2130706433/", "127.0.0.1"),
        ("http://127。0。0。1/", "127.0.0.1"),
        ("http://[::1]:80/", "::1"),
        ("http://[::ffff:127.0.0.1]/", "::ffff:7f00:1"),
        ("http://localhost/", "127.0.0.1"),
        ("http://LOCALHOST.:8080/", "127.0.0.1"),
        ("http://a.localhost/", "127.0.0.1"),
        ("http://notlocalhost/", None),
        ("http://example.org/127.0.0.1", None),
        ("not a url", None),
        ("", None),
    ],
)
def test_literal_addresses_of_urls(url, address):
    parsed = None if address is None else str(ipaddress.ip_address(address))  # since Python 3.13 ::ffff:127.0.0.1
    assert literal_address(url) == parsed
