"""The table of all event types is complete, and names tests that are there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from live_events import CLIENT, SERVER, Row, page
from live_types import types_of
from openai.types.live import ClientEvent, ServerEvent
from openai.types.live.connect_client_event import ConnectClientEvent
from openai.types.live.connect_server_event import ConnectServerEvent

ROOT = Path(__file__).parents[5]
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


def test_table_has_every_event_type_of_the_package() -> None:
    assert types_of(ClientEvent) | types_of(ConnectClientEvent) <= {row.event for row in CLIENT}
    assert types_of(ServerEvent) | types_of(ConnectServerEvent) <= {row.event for row in SERVER}


@pytest.mark.parametrize("row", CLIENT + SERVER)
def test_named_test_is_there_and_its_file_has_the_event(row: Row) -> None:
    source = (ROOT / row.file).read_text()
    functions = (one for one in ast.parse(source).body if isinstance(one, FUNCTION))
    assert row.test in {function.name for function in functions}
    assert row.event in source


def test_page_is_the_table() -> None:
    assert (ROOT / "docs/live-events.md").read_text() == page()
