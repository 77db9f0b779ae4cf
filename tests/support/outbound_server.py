"""A server that places calls through a simulated provider, with scripted calls behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from phone_server import PhoneServer, config_of, routes_of
from simulated_carriers import ENVIRONMENT, PUBLIC_URL, Posting, SimulatedCarrier

from voiceagent.access.access_control import Admission
from voiceagent.access.auth import ApiKeys
from voiceagent.config.tables import Config
from voiceagent.session.call import CallRefused, OpenCall
from voiceagent.transports.telephony.outbound.build import dialer_of
from voiceagent.transports.telephony.outbound.campaigns import dialing
from voiceagent.transports.telephony.outbound.dialer import Dialer, DialRules
from voiceagent.transports.telephony.outbound.endpoint import OutboundEndpoint
from voiceagent.transports.telephony.outbound.policies.progress import OutboundCall
from voiceagent.transports.telephony.provider import Placement

PATIENCE_S = 30.0
"""Longest wait for an answer: on a busy machine httpx's 5 s have passed once."""
KEY = {"authorization": "Bearer the-key"}
TO, OWN = "+15550123456", "+15550100000"


class OutboundServer(PhoneServer):
    """A server with `POST /v1/calls`. changes: calls whose status changed, in order."""

    def __init__(
        self, prepare: Callable[[], dict[str, Any]], folder: Path, carrier: SimulatedCarrier
    ) -> None:
        super().__init__(prepare)
        self.carrier = carrier
        self.changes: list[OutboundCall] = []
        self.now_s = 0.0
        self.provider = Posting(self.port)
        self._folder = folder

    def new_dialer(self, config: Config, clock: Callable[[], float] | None = None) -> Dialer:
        """Make the dialer of a configuration."""
        rules = DialRules(lambda: None, self._check_agent, 600.0)
        path = self._folder / "test.toml"
        dialer = dialer_of(
            config.telephony, config.outbound, ENVIRONMENT, path, None, rules, self.changes.append
        )
        assert dialer is not None
        if clock is not None:
            dialer.clock = clock
        return dialer

    @property
    def statuses(self) -> list[str]:
        """All statuses that were published."""
        return [call.status.value for call in self.changes]

    async def post(self, body: Any, **headers: str) -> httpx.Response:
        """Ask for a call."""
        async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as client:
            url = f"http://127.0.0.1:{self.port}/v1/calls"
            return await client.post(url, json=body, headers={**KEY, **headers})

    async def hang_up(self, call_id: str) -> httpx.Response:
        """Ask for the end of a call."""
        async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as client:
            url = f"http://127.0.0.1:{self.port}/v1/calls/{call_id}/hangup"
            return await client.post(url, headers=KEY)

    async def status(self, call_id: str) -> dict[str, Any]:
        """Ask for the status of a call."""
        async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as client:
            url = f"http://127.0.0.1:{self.port}/v1/calls/{call_id}/status"
            return dict((await client.get(url, headers=KEY)).json())

    @staticmethod
    def _check_agent(name: str) -> None:
        if name not in ("orders", "room 12"):
            raise CallRefused(f"no agent is called {name!r}; allowed: orders", 404)


def outbound_config(carrier: SimulatedCarrier, public_url: str = PUBLIC_URL, **outbound: Any) -> Config:
    """A configuration that may call numbers that begin with +1555."""
    config = config_of({"public_url": public_url, carrier.name: carrier.table()})
    table = {"allow": ("+1555",), "numbers": {carrier.name: OWN}, **outbound}
    changed = type(config.outbound).model_validate(table)
    return config.model_copy(update={"outbound": changed})


@asynccontextmanager
async def outbound_server(
    carrier: SimulatedCarrier,
    folder: Path,
    open_call: OpenCall | None = None,
    clock: Callable[[], float] | None = None,
    reachable: bool = False,
    **outbound: Any,
) -> AsyncIterator[OutboundServer]:
    """A server that runs for the length of the block. reachable: its public URL is its own address. outbound:
    keys of `[outbound]`.
    """
    server = OutboundServer(dict, folder, carrier)
    public_url = f"http://127.0.0.1:{server.port}" if reachable else PUBLIC_URL
    config = outbound_config(carrier, public_url, **outbound)
    dialer = server.new_dialer(config, clock)
    admission = Admission(ApiKeys(frozenset({"the-key"})))
    routes = [
        *OutboundEndpoint(dialer, admission).routes(),
        *routes_of(config, open_call or server.open_call, ENVIRONMENT, Placement(dialer=dialer)),
    ]
    async with server.serving(routes, 65_536), dialing(dialer):
        yield server
