"""Errors in [otlp] are reported before anything starts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from fixed_config import write_config

from voiceagent.config.tables import load
from voiceagent.server.app import Server
from voiceagent.server.traces import new_exporter
from voiceagent.telemetry.metrics import Metrics
from voiceagent.validation.errors import ConfigError


def test_without_the_extra_its_install_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "voiceagent.telemetry.otlp.exporter", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(ConfigError, match=r"pip install 'voiceagent-server\[otlp\]'"):
        Server(load(write_config(tmp_path, '[otlp]\nendpoint = "http://127.0.0.1:4318"\n')))


@pytest.mark.parametrize("endpoint", ["127.0.0.1:4318", "ftp://collector", "http://collector/?key=1"])
def test_an_address_that_is_none_is_named(tmp_path: Path, endpoint: str):
    with pytest.raises(ConfigError, match=r"otlp\.endpoint"):
        load(write_config(tmp_path, f'[otlp]\nendpoint = "{endpoint}"\n'))


def test_nothing_is_sent_where_no_address_is_set(tmp_path: Path):
    assert new_exporter(load(write_config(tmp_path)), Metrics()) is None
