"""Allowed MCP servers: those of the list, and private addresses only if it names them."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.mcp.reach import NotAllowed, Reach, check_addresses

REACH = Reach(("https://shop.example/mcp", "http://127.0.0.1:9000/tools/", "http://localhost:9001"))


@pytest.mark.parametrize(
    "url",
    [
        "https://shop.example/mcp",
        "https://shop.example/mcp/",
        "https://shop.example:443/mcp/v2?key=1",
        "https://SHOP.example/mcp",
        "http://127.0.0.1:9000/tools",
        "http://localhost:9001/anything",
    ],
)
def test_a_url_below_an_allowed_one_is_allowed(url: str) -> None:
    REACH.check_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://shop.example/mcp",
        "https://shop.example:8443/mcp",
        "https://shop.example/",
        "https://shop.example/mcpx",
        "https://shop.example/mcp/../admin",
        "https://shop.example/mcp/%2e%2e/admin",
        "https://shop.example/mcp/..%2fadmin",
        "https://shop.example/mcp\\..\\admin",
        "https://shop.example/mcp//admin",
        "https://shop.example.evil.example/mcp",
        "https://shop.example@evil.example/mcp",
        "https://evil.example/https://shop.example/mcp",
        "http://127.0.0.1:9000@evil.example/tools",
        "http://[::ffff:127.0.0.1]:9000/tools",
        "http://2130706433:9000/tools",
        "ftp://shop.example/mcp",
        "file:///etc/passwd",
        "https://shop.example/mcp\r\nHost: evil.example",
        "https://shop.example:0/mcp",
        "https://shop.example:99999/mcp",
        "",
    ],
)
def test_every_other_url_is_refused(url: str) -> None:
    with pytest.raises(NotAllowed):
        REACH.check_url(url)


def test_nothing_is_allowed_where_the_list_is_empty() -> None:
    with pytest.raises(NotAllowed):
        Reach(()).check_url("https://shop.example/mcp")


@given(st.text(max_size=60))
def test_no_text_passes_that_leads_elsewhere(text: str) -> None:
    for url in (text, f"https://shop.example{text}", f"https://shop.example/mcp{text}"):
        try:
            REACH.check_url(url)
        except NotAllowed:
            continue
        parts = urlsplit(url)
        assert parts.hostname in ("shop.example", "127.0.0.1", "localhost")
        assert parts.hostname != "shop.example" or unquote(parts.path).startswith("/mcp")


PRIVATE = [
    "10.0.0.1", "127.0.0.1", "169.254.169.254", "192.168.1.1", "172.16.0.1", "100.64.0.1", "0.0.0.0",
    "224.0.0.1", "::1", "fe80::1", "fd00::1", "::ffff:10.0.0.1", "2002:7f00:1::", "ff02::1",
    "64:ff9b::10.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1",
]  # fmt: skip


@pytest.mark.parametrize("address", PRIVATE)
def test_a_name_that_leads_to_a_private_address_is_refused(address: str) -> None:
    with pytest.raises(NotAllowed, match="private address"):
        REACH.check_address("shop.example", address)


def test_one_private_address_among_public_ones_is_enough() -> None:
    with pytest.raises(NotAllowed):
        check_addresses(REACH, "shop.example", ["93.184.216.34", "10.0.0.1"])


def test_public_addresses_are_reached() -> None:
    assert check_addresses(REACH, "shop.example", ["93.184.216.34"]) == "93.184.216.34"


def test_an_address_that_the_list_names_is_reached() -> None:
    REACH.check_address("127.0.0.1", "127.0.0.1")
    REACH.check_address("localhost", "::1")
    with pytest.raises(NotAllowed):
        REACH.check_address("localhost", "10.0.0.1")


def test_private_networks_are_reached_where_they_are_allowed() -> None:
    reach = Reach(REACH.urls, ("10.1.0.0/16", "fd00::/64"))
    reach.check_address("shop.example", "10.1.2.3")
    reach.check_address("shop.example", "fd00::7")
    with pytest.raises(NotAllowed):
        reach.check_address("shop.example", "10.2.0.1")


@given(st.ip_addresses())
def test_only_global_addresses_are_reached_by_name(address: object) -> None:
    found = ip_address(str(address))
    try:
        REACH.check_address("shop.example", str(address))
    except NotAllowed:
        return
    assert found.is_global or getattr(found, "ipv4_mapped", None) or str(found).startswith(("2002:", "2001:"))
