"""Errors in `[calls]` are reported before anything starts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from fixed_config import write_config
from kept_folder import keep_calls

from voiceagent.calls.store import StoreError
from voiceagent.config.tables import load
from voiceagent.server.app import Server
from voiceagent.server.kept_calls import find_session
from voiceagent.server.supervisor import Supervisor
from voiceagent.transports.realtime.protocol.errors import RequestError
from voiceagent.validation.errors import ConfigError


@pytest.mark.parametrize("server", [Server, Supervisor])
@pytest.mark.parametrize(
    ("key", "message"), [('database = "nonsense"', "nonsense"), ('storage = "nowhere9://x"', "nowhere9")]
)
def test_a_store_or_storage_that_is_none_is_named(tmp_path: Path, server, key: str, message: str):
    config = load(write_config(tmp_path, f'[calls]\nfolder = "./kept"\n{key}\n'))
    with pytest.raises(ConfigError, match=message):
        server(config)


def test_without_the_extra_its_install_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "voiceagent.calls.kept_calls", raising=False)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    monkeypatch.delitem(sys.modules, "voiceagent.calls.store", raising=False)
    monkeypatch.delitem(sys.modules, "voiceagent.calls.archiver", raising=False)
    with pytest.raises(ConfigError, match=r"pip install 'voiceagent-server\[calls\]'"):
        Server(load(write_config(tmp_path, '[calls]\nfolder = "./kept"\n')))


async def test_session_cannot_be_found_while_the_store_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(call_id: str) -> None:
        raise StoreError("/secret/calls.db is locked")

    kept = keep_calls(tmp_path)
    try:
        monkeypatch.setattr(kept.store, "get", fail)
        with pytest.raises(RequestError) as caught:
            await find_session(kept, "live_1")
    finally:
        kept.close()
    assert caught.value.code == "unavailable"
    assert "secret" not in caught.value.message
