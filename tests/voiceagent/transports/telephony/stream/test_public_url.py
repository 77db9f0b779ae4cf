from __future__ import annotations

import pytest

from voiceagent.transports.telephony.stream.public_url import public_url, websocket_url, with_and_without_port


def test_without_a_proxy_it_is_what_was_asked_for():
    assert public_url("/a?b=c", {"host": "h:8080"}, False, None) == "http://h:8080/a?b=c"
    assert public_url("/a", {"host": "h"}, True, None) == "https://h/a"


def test_a_proxy_tells_scheme_and_host_the_first_of_several_counts():
    headers = {"host": "inner:80", "x-forwarded-proto": "https, http", "x-forwarded-host": "a.example, b"}
    assert public_url("/a", headers, False, None) == "https://a.example/a"


@pytest.mark.parametrize("forged", ["[", "[::1", "a]b", "a b", "\xff", "h:99999", "h/x", ""])
def test_a_host_that_is_none_is_passed_over(forged):
    url = public_url("/a", {"host": "inner", "x-forwarded-host": forged}, False, None)
    assert url == "http://inner/a"
    assert with_and_without_port(url) == ("http://inner:80/a", "http://inner/a")


def test_the_configured_url_overrules_all_and_may_have_a_path():
    headers = {"host": "inner", "x-forwarded-host": "forged"}
    assert public_url("/a", headers, False, "https://agent.example/voice/") == "https://agent.example/voice/a"


def test_a_websocket_is_at_the_same_address():
    assert websocket_url("https://h/a") == "wss://h/a"
    assert websocket_url("http://h/a") == "ws://h/a"


@pytest.mark.parametrize(
    ("url", "with_port", "without"),
    [
        ("https://h/a?b#c", "https://h:443/a?b#c", "https://h/a?b#c"),
        ("ws://h/a", "ws://h:80/a", "ws://h/a"),
        ("wss://h:8443/a", "wss://h:8443/a", "wss://h/a"),
        ("https://[::1]/a", "https://[::1]:443/a", "https://[::1]/a"),
        ("https://[::1]:99/a", "https://[::1]:99/a", "https://[::1]/a"),
    ],
)
def test_an_address_is_known_with_and_without_its_port(url, with_port, without):
    assert with_and_without_port(url) == (with_port, without)
