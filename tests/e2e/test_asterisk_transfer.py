"""Callers at a real Asterisk are transferred to colleagues, with and without a brief."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest
from asterisk_server import PASSWORD, asterisk, free_port
from asterisk_server import Asterisk as Exchange
from outbound_server import OutboundServer, outbound_server
from recordings import recorded
from scripted_call import ScriptedCall
from simulated_carriers import ENVIRONMENT, Asterisk

from audio.wav import read_wav, write_wav
from voiceagent.conversation import notifications as notify
from voiceagent.session.agent import ToolFailed, TransferFailed
from voiceagent.transports.telephony.outbound.colleague import BRIEFED
from voiceagent.transports.telephony.outbound.policies.progress import Status

ANSWERS, BUSY, RINGS = "+15550123456", "+15550123457", "+15550123458"
DIALPLAN = """
[globals]
PASSWORD = {password}

[phones]
exten => caller,1,Answer()
 same => n,MixMonitor(,r({folder}/heard.wav))
 same => n,Wait(60)
exten => _+15550123456,1,Answer()
 same => n(speaking),Playback({folder}/something)
 same => n,Goto(speaking)
exten => _+15550123457,1,Busy(5)
exten => _+15550123458,1,Wait(30)

[agents]
exten => websocket,1,Answer()
 same => n,Dial(WebSocket/agent/c(slin16)f(json))
 same => n,Wait(60)

[voiceagent-move]
exten => s,1,ChannelRedirect(${{VOICEAGENT_CHANNEL}},${{VOICEAGENT_TO}})

[voiceagent-transfer]
exten => _+X.,1,Dial(Local/${{EXTEN}}@phones/n)

[voiceagent-join]
exten => _X.,1,Bridge(${{EXTEN}},x)

[voiceagent-dial]
exten => _+X.,1,Dial(Local/${{EXTEN}}@phones/n,${{VOICEAGENT_RING_S}})
exten => h,1,Set(CURLOPT(userpwd)=asterisk:${{PASSWORD}})
 same => n,Set(FORM=status=${{DIALSTATUS}}&cause=${{HANGUPCAUSE}}&call=${{VOICEAGENT_CALL}})
 same => n,Set(ANSWER=${{CURL(${{VOICEAGENT_REPORT}},${{FORM}})}})

[voiceagent-agent]
exten => s,1,Dial(WebSocket/agent/c(slin16)f(json)v(outbound_call=${{VOICEAGENT_CALL}}))
"""
"""The dialplan of docs/telephony.md, with phones of its own in place of the trunk."""


@asynccontextmanager
async def calling(
    folder: Path, monkeypatch: pytest.MonkeyPatch, dialplan: str = DIALPLAN
) -> AsyncIterator[tuple[OutboundServer, Exchange, ScriptedCall]]:
    """A caller who is with the agent and has heard nothing so far."""
    monkeypatch.setitem(ENVIRONMENT, "ASTERISK_PASSWORD", PASSWORD)
    monkeypatch.setitem(ENVIRONMENT, "ARI_PASSWORD", PASSWORD)
    write_wav(folder / "something.wav", recorded("something.wav", 8_000), 8_000)
    carrier, port = Asterisk(), free_port()
    carrier.api_url = f"http://127.0.0.1:{port}"
    dialplan = dialplan.format(folder=folder, password=PASSWORD)
    async with (
        outbound_server(carrier, folder, ring_s=5, reachable=True) as server,
        asterisk(folder, server.url("asterisk"), dialplan, port) as exchange,
    ):
        await exchange.call("caller", "websocket")
        await until(lambda: server.calls and server.call.line is not None)
        yield server, exchange, server.call


async def until(is_done: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not is_done():  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def hears(folder: Path) -> bool:
    """True once the caller's phone has received something loud."""
    if not (folder / "heard.wav").exists():
        return False
    samples, _ = read_wav(folder / "heard.wav")
    return bool(np.abs(samples).max(initial=0) > 500)


async def transfer(call: ScriptedCall, number: str, brief: str = "") -> None:
    assert call.line is not None
    await call.line.transfer(number=number, brief=brief)


async def test_a_briefed_colleague_is_connected_to_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with calling(tmp_path, monkeypatch) as (server, exchange, call):
        transferring = asyncio.create_task(transfer(call, ANSWERS, "Ann calls."))
        await until(lambda: len(server.calls) == 2 and server.call.posted)
        colleague = server.call
        colleague.client.notify(notify.NotifySpeechStarted("item", 0.0))
        colleague.client.notify(notify.NotifySpeechStopped("item", 1.0))
        colleague.client.notify(notify.NotifyTranscript("item", "Hello?", True, 1.0))
        await until(lambda: len(colleague.posted) == 3)
        assert not hears(tmp_path), "nobody is connected before the brief was heard"
        colleague.hung_up = BRIEFED
        colleague.over.set()
        await until(lambda: hears(tmp_path))
        await until(lambda: colleague.closed is not None and call.closed is not None)
        transferring.cancel()
        assert server.changes[-1].status is Status.ANSWERED, "the colleague's call goes on"
        assert (await server.hang_up(server.changes[-1].call_id)).is_success
        await exchange.until_idle()
        await until(lambda: server.changes[-1].status is Status.COMPLETED)


@pytest.mark.parametrize(("number", "reason"), [(BUSY, "busy"), (RINGS, "no_answer")])
async def test_a_colleague_who_does_not_answer_leaves_the_caller_with_the_agent(
    number: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with calling(tmp_path, monkeypatch) as (_, _, call):
        with pytest.raises(TransferFailed) as failed:
            await transfer(call, number, "Ann calls.")
        assert failed.value.reason == reason
        assert call.closed is None


async def test_a_colleague_who_hangs_up_during_the_brief_has_declined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with calling(tmp_path, monkeypatch) as (server, _, call):
        transferring = asyncio.create_task(transfer(call, ANSWERS, "Ann calls."))
        await until(lambda: len(server.calls) == 2 and server.call.posted)
        assert (await server.hang_up(server.changes[-1].call_id)).is_success
        with pytest.raises(TransferFailed) as failed:
            await transferring
        assert failed.value.reason == "declined"
        assert call.closed is None


async def test_a_caller_is_transferred_without_a_brief(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with calling(tmp_path, monkeypatch) as (_, _, call):
        transferring = asyncio.create_task(transfer(call, ANSWERS))
        await until(lambda: hears(tmp_path))
        await until(lambda: call.closed is not None)
        transferring.cancel()


async def test_a_dialplan_that_lacks_the_contexts_leaves_the_caller_with_the_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = DIALPLAN.replace("[voiceagent-move]", "[moves]")
    async with calling(tmp_path, monkeypatch, without) as (_, _, call):
        with pytest.raises(ToolFailed, match="the caller is still there"):
            await transfer(call, ANSWERS)
        assert call.closed is None
