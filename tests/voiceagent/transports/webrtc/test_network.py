"""Addresses of WebRTC calls, from the configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from voiceagent.config.tables import Config
from voiceagent.transports.webrtc.network import network
from voiceagent.validation.errors import ConfigError
from voiceagent.validation.section import check

SOURCE = Path("call.toml")
ENGINES = {stage: {"engine": "some"} for stage in ("recognizer", "llm", "synthesizer")}


def config(**webrtc: Any) -> Config:
    return check(Config, ENGINES | {"webrtc": webrtc}, SOURCE)


def test_by_default_no_server_is_asked_and_any_port_is_taken() -> None:
    found = network(config().webrtc, {}, SOURCE)
    assert found.servers == ()
    assert found.announced_address is None
    assert found.ports == (0, 0)


def test_servers_are_taken_over_with_passwords_from_the_environment() -> None:
    found = network(
        config(
            announced_address="203.0.113.9",
            ports=[50_000, 50_100],
            stun="stun:stun.example.org",
            turn="turn:turn.example.org:3478?transport=tcp",
            turn_username="me",
            turn_password_env="TURN_PASSWORD",
        ).webrtc,
        {"TURN_PASSWORD": "hidden"},
        SOURCE,
    )
    stun, turn = found.servers
    assert stun.urls == "stun:stun.example.org"
    assert (turn.username, turn.credential) == ("me", "hidden")
    assert (found.announced_address, found.ports) == ("203.0.113.9", (50_000, 50_100))


@pytest.mark.parametrize(
    ("webrtc", "key"),
    [
        ({"announced_address": "my-house"}, "webrtc.announced_address"),
        ({"ports": [50_100, 50_000]}, "webrtc"),
        ({"ports": [0, 50_000]}, "webrtc"),
        ({"ports": [1, 70_000]}, "webrtc.ports.1"),
        ({"stun": "stun.example.org"}, "webrtc.stun"),
        ({"turn": "turn:a b"}, "webrtc.turn"),
    ],
)
def test_what_cannot_be_used_is_named(webrtc: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError, match=f"call.toml: {key} = "):
        config(**webrtc)


def test_every_worker_needs_a_port_of_its_own():
    tables = ENGINES | {"webrtc": {"ports": [50_000, 50_001]}}
    check(Config, tables | {"server": {"workers": 2}}, SOURCE)
    with pytest.raises(
        ConfigError, match=r"webrtc.ports are \[50000, 50001\]; allowed: one for each of the 3"
    ):
        check(Config, tables | {"server": {"workers": 3}}, SOURCE)


def test_a_password_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match="turn_password_env = 'NOT_THERE'"):
        network(config(turn="turn:turn.example.org", turn_password_env="NOT_THERE").webrtc, {}, SOURCE)
