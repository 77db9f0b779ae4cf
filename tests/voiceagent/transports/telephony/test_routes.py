"""Phone lines that a configuration serves, and the settings that serving them to others requires."""

from __future__ import annotations

import pytest
from phone_server import config_of, routes_of

from voiceagent.validation.errors import ConfigError


def paths(telephony, environment=None, **server):
    routes = routes_of(config_of(telephony, server), None, environment)
    return list(dict.fromkeys(route.path for route in routes))


def refusal(telephony, environment=None, **server):
    with pytest.raises(ConfigError) as refused:
        paths(telephony, environment, **server)
    return str(refused.value)


def test_only_a_provider_whose_table_is_there_is_served():
    assert paths({}) == []
    assert paths({"twilio": {}}) == [
        "/telephony/twilio/voice", "/telephony/twilio/{agent}/voice",
        "/telephony/twilio", "/telephony/twilio/{agent}",
    ]  # fmt: skip


def test_every_provider_is_at_its_own_path():
    names = ["twilio", "telnyx", "plivo", "vonage", "asterisk"]
    found = paths({name: {} for name in names})
    assert [path for path in found if "{agent}" not in path] == [
        "/telephony/twilio/voice",
        *(f"/telephony/{name}" for name in names),
    ]


def test_audiosocket_knows_no_keys_and_must_be_told_to_let_others_in():
    assert paths({"audiosocket": {}}) == []
    assert "it knows no keys: name it in telephony.open" in refusal({"audiosocket": {"host": "0.0.0.0"}})
    assert paths({"audiosocket": {"host": "0.0.0.0"}, "open": ["audiosocket"]}) == []


def test_a_line_that_others_reach_needs_a_key_or_an_open_door():
    message = refusal({"twilio": {}}, host="0.0.0.0", open=True)
    assert "telephony.twilio = " in message
    assert "on host 0.0.0.0: set auth_token_env, or name it in telephony.open" in message
    assert paths({"twilio": {}, "open": ["twilio"]}, host="0.0.0.0", open=True)
    assert paths({"twilio": {"auth_token_env": "TOKEN"}}, {"TOKEN": "secret"}, host="0.0.0.0", open=True)


def test_an_open_line_without_a_table_is_refused_with_the_lines_that_have_one():
    message = refusal({"twilio": {}, "telnyx": {}, "open": ["twilo"]})
    assert "open names twilo, which has no table; allowed: twilio, telnyx" in message


def test_a_line_with_a_public_url_is_reached_through_proxies():
    assert "at https://agent.example" in refusal({"public_url": "https://agent.example", "twilio": {}})


def test_a_variable_without_a_key_is_named():
    message = refusal({"twilio": {"auth_token_env": "TOKEN"}}, {"TOKEN": " "})
    assert "telephony.twilio.auth_token_env = 'TOKEN': this environment variable is empty" in message


def test_a_wrong_address_is_named():
    with pytest.raises(ConfigError, match=r"telephony\.public_url = .agent\.example"):
        config_of({"public_url": "agent.example"})
    with pytest.raises(ConfigError, match=r"telephony\.twilio\.api_url"):
        config_of({"twilio": {"api_url": "https://api.twilio.com/2010"}})
