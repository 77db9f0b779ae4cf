from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.access.auth import ApiKeys, accepted_keys, presented_key
from voiceagent.access.config import AccessConfig
from voiceagent.validation.errors import ConfigError

FILE = Path("/x/a.toml")


def keys_in(environment: dict[str, str]) -> ApiKeys | None:
    """Return the keys that a server accepts whose variable is KEYS."""
    return accepted_keys(AccessConfig(api_keys_env="KEYS"), FILE, environment)


def test_a_key_that_is_known_is_accepted_and_no_other():
    keys = ApiKeys(frozenset({"one", "two"}))
    assert keys.accepts("one")
    assert keys.accepts("two")
    assert not keys.accepts("three")
    assert not keys.accepts("")
    assert not keys.accepts(None)


@given(st.frozensets(st.text(min_size=1)), st.text())
def test_exactly_the_known_keys_are_accepted(known, key):
    assert ApiKeys(known).accepts(key) == (key in known)


def test_keys_do_not_show_in_the_object():
    keys = ApiKeys(frozenset({"secret"}))
    assert "secret" not in repr(keys)
    assert "secret" not in repr(vars(keys))


def test_without_a_variable_everyone_may_call():
    assert accepted_keys(AccessConfig(), FILE, {}) is None


@pytest.mark.parametrize("value", ["one,two", "one two", " one,\n two, "])
def test_keys_in_the_variable_are_separated_by_commas_or_spaces(value):
    keys = keys_in({"KEYS": value})
    assert keys is not None
    assert keys.accepts("one")
    assert keys.accepts("two")
    assert not keys.accepts("")


@pytest.mark.parametrize("environment", [{}, {"KEYS": ""}, {"KEYS": " , "}])
def test_a_variable_without_keys_is_refused(environment):
    with pytest.raises(ConfigError, match=r"server\.api_keys_env = 'KEYS': this environment variable is"):
        keys_in(environment)


def test_an_error_about_keys_names_the_file():
    with pytest.raises(ConfigError, match=r"^/x/a\.toml: "):
        keys_in({})


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ({"authorization": "Bearer abc"}, "abc"),
        ({"authorization": "bearer  abc "}, "abc"),
        ({"authorization": "Basic abc"}, None),
        ({"authorization": "Bearer"}, None),
        ({"sec-websocket-protocol": "realtime, openai-insecure-api-key.abc"}, "abc"),
        ({"sec-websocket-protocol": "realtime, openai-insecure-api-key."}, None),
        ({"sec-websocket-protocol": "realtime"}, None),
        ({}, None),
    ],
)
def test_a_key_is_found_in_header_or_subprotocol(headers, key):
    assert presented_key(headers) == key
