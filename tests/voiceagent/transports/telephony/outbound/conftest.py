"""Servers with the simulated API of each provider."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from outbound_server import OutboundServer, outbound_server
from simulated_carriers import CARRIERS, SimulatedCarrier, running


@pytest.fixture(params=CARRIERS, ids=lambda kind: kind.name)
async def carrier(request: pytest.FixtureRequest) -> AsyncIterator[SimulatedCarrier]:
    async with running(request.param) as carrier:
        yield carrier


@pytest.fixture
async def server(carrier: SimulatedCarrier, tmp_path: Path) -> AsyncIterator[OutboundServer]:
    async with outbound_server(carrier, tmp_path) as server:
        yield server
