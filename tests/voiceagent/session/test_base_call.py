"""Behaviour of every call, for any source of responses."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from call_services import call_services
from call_settings import call_settings

from voiceagent.conversation import events as ev
from voiceagent.conversation.agent_config import AgentConfig
from voiceagent.conversation.causes import CallEndCode
from voiceagent.conversation.latency import TurnReport
from voiceagent.engines.silent import SilentLlm, SilentRecognizer, SilentSynthesizer
from voiceagent.session.base_call import BaseCall
from voiceagent.session.publishing import NO_SUBSCRIPTIONS


class BrokenCall(BaseCall):
    """One whose work cannot be stopped."""

    settings, items, quiet, _playing = call_settings(), (), True, ("", 0.0)
    _runner: Any = None

    def post(self, event: ev.Event) -> None:
        self.posted = event

    def _handle_gone(self, gone: ev.CallerGone) -> list[TurnReport]:
        return []

    async def _stop(self) -> None:
        raise RuntimeError("it does not stop")


async def test_a_server_does_not_wait_for_a_call_that_a_fault_broke() -> None:
    services = await call_services(SilentRecognizer(), SilentLlm(), SilentSynthesizer())
    call = BrokenCall("call_1", services, NO_SUBSCRIPTIONS, None)
    stopped = asyncio.create_task(call.stopped())
    with pytest.raises(RuntimeError, match="does not stop"):
        await call.close("the caller hung up")
    await stopped
    await call.ended()


@pytest.mark.parametrize(
    ("end_code", "hung_up"),
    [("hung_up_by_id", "on request"), ("server_shutdown", ""), ("caller_hung_up", "")],
)
async def test_a_call_that_is_hung_up_by_its_id_has_a_reason_and_so_an_orderly_close(
    end_code: CallEndCode, hung_up: str
) -> None:
    services = await call_services(SilentRecognizer(), SilentLlm(), SilentSynthesizer())
    call = BrokenCall("call_1", services, NO_SUBSCRIPTIONS, None)
    with pytest.raises(RuntimeError, match="does not stop"):
        await call.close("on request", end_code)
    assert await call.ended() == hung_up


@pytest.mark.parametrize(("greet", "said"), [(True, "Good evening."), (False, "")])
async def test_a_call_is_greeted_if_it_goes_on_with_no_earlier_one(greet: bool, said: str) -> None:
    agent = AgentConfig(greeting="Good evening.")
    services = await call_services(SilentRecognizer(), SilentLlm(), SilentSynthesizer(), agent=agent)
    call = BrokenCall("call_1", services, NO_SUBSCRIPTIONS, None)
    call.begin(greet)
    assert call.posted == ev.CallStarted(said)
