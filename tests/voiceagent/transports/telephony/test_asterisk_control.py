"""Control of a call at Asterisk: requests to its REST interface. tests/e2e runs it on a real Asterisk."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from voiceagent.transports.telephony import asterisk
from voiceagent.transports.telephony.asterisk import AsteriskControl
from voiceagent.transports.telephony.control import ControlError, RestRequest

CHANNELS = {"our-1": "WebSocket/agent/0x1", "our-2": "WebSocket/agent/0x2", "a": "PJSIP/a", "b": "PJSIP/b"}


@dataclass
class Exchange:
    """An Asterisk with a caller and a colleague, each bridged to a channel of ours. moves: its dialplan has
    the contexts. moved: variables of the channels that were started.
    """

    bridges: list[list[str]] = field(default_factory=lambda: [["our-1", "a"], ["our-2", "b"]])
    moves: bool = True
    moved: list[dict[str, str]] = field(default_factory=list)

    async def answer(self, request: RestRequest) -> Any:
        if request.method == "POST" and request.json is not None:
            self.moved.append(request.json["variables"])
            if self.moves:
                self._move(**request.json["variables"])
            return {}
        if request.url.endswith("/bridges"):
            return [{"channels": list(channels)} for channels in self.bridges]
        return [{"id": channel, "name": name} for channel, name in CHANNELS.items()]

    def _move(self, VOICEAGENT_CHANNEL: str, VOICEAGENT_TO: str) -> None:
        context, extension, _ = VOICEAGENT_TO.split(",")
        together = {VOICEAGENT_CHANNEL} | ({extension} if context == "voiceagent-join" else set())
        self.bridges = [one for one in self.bridges if together.isdisjoint(one)]
        self.bridges.append(sorted(together))


@pytest.fixture
def exchange(monkeypatch: pytest.MonkeyPatch) -> Exchange:
    exchange = Exchange()
    monkeypatch.setattr(asterisk, "send_for_json", exchange.answer)
    monkeypatch.setattr(asterisk, "MOVED_S", 0.01)
    monkeypatch.setattr(asterisk, "POLL_S", 0.001)
    return exchange


def control_of(channel: str) -> AsteriskControl:
    return AsteriskControl("http://127.0.0.1:8088/", ("voiceagent", "secret"), CHANNELS[channel])


async def test_colleague_is_moved_to_the_caller(exchange: Exchange) -> None:
    await control_of("our-2").join(CHANNELS["our-1"])
    assert exchange.moved == [{"VOICEAGENT_CHANNEL": "b", "VOICEAGENT_TO": "voiceagent-join,a,1"}]


async def test_caller_is_moved_to_the_number(exchange: Exchange) -> None:
    await control_of("our-1").transfer("+15550123456")
    to = "voiceagent-transfer,+15550123456,1"
    assert exchange.moved == [{"VOICEAGENT_CHANNEL": "a", "VOICEAGENT_TO": to}]


@pytest.mark.parametrize("number", ["+1555,1", "+1555&x", "${EXTEN}", "", "+1555\n"])
async def test_number_that_is_no_extension_moves_nobody(number: str, exchange: Exchange) -> None:
    with pytest.raises(ControlError, match="extension"):
        await control_of("our-1").transfer(number)
    assert exchange.moved == []


@pytest.mark.parametrize("bridges", [[], [["our-2"]], [["our-1"], ["our-2", "b"]], [["our-1", "a", "c"]]])
async def test_channels_that_are_not_bridged_in_pairs_are_left_alone(
    bridges: list[list[str]], exchange: Exchange
) -> None:
    exchange.bridges = bridges
    with pytest.raises(ControlError, match="is not bridged to one other channel"):
        await control_of("our-2").join(CHANNELS["our-1"])
    assert exchange.moved == []


async def test_dialplan_that_moves_nothing_is_named(exchange: Exchange) -> None:
    exchange.moves = False
    with pytest.raises(ControlError, match="voiceagent-move"):
        await control_of("our-1").transfer("+15550123456")
