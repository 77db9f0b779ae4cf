"""Warm transfers through each provider: the colleague is called, briefed, and connected to the caller."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Literal

import pytest
from outbound_server import TO, OutboundServer
from phone_caller import PhoneCaller, calling
from phone_lines import Provider
from scripted_call import ScriptedCall
from simulated_carriers import PUBLIC_URL, Asked

from voiceagent.conversation import notifications as notify
from voiceagent.conversation.events import HangUpRequested, KeyPressed, SpeechRequested, TurnsClaimed
from voiceagent.conversation.history import MessageItem
from voiceagent.session.agent import GREETING_SILENCE_S, TransferFailed
from voiceagent.transports.telephony.outbound import colleague as colleague_module
from voiceagent.transports.telephony.outbound.colleague import BRIEFED
from voiceagent.transports.telephony.outbound.policies.progress import Joining, OutboundCall, Status
from voiceagent.transports.telephony.outbound.store import OutboundStore

CLAIM = TurnsClaimed(True, max_silence_s=GREETING_SILENCE_S)
BRIEF = "Ann calls about order 17, which is late."
CALLER = "caller-1"
CONNECTS = {"twilio": "<Conference", "telnyx": "bridge", "plivo": "conference", "vonage": "conversation"}


@asynccontextmanager
async def stream(server: OutboundServer, url: str, line_call: str) -> AsyncIterator[PhoneCaller]:
    """A stream of the provider to this public URL, of its call with this id."""
    line: Provider = server.carrier.line()
    line.call_id = line_call
    address = url.replace(PUBLIC_URL.replace("https", "wss"), f"ws://127.0.0.1:{server.port}")
    async with calling(line, address, headers=server.carrier.handshake(url)) as caller:
        yield caller


@asynccontextmanager
async def transferring(
    server: OutboundServer, number: str = TO
) -> AsyncIterator[tuple[PhoneCaller, ScriptedCall, asyncio.Task[None]]]:
    """A caller whose agent transfers them, with a brief."""
    url = f"{PUBLIC_URL.replace('https', 'wss')}/telephony/{server.carrier.name}"
    async with stream(server, url, CALLER) as caller:
        await caller.until(lambda: server.calls and server.call.line is not None)
        call = server.call
        assert call.line is not None
        transfer = asyncio.create_task(call.line.transfer(number=number, brief=BRIEF))
        yield caller, call, transfer
        transfer.cancel()


async def asked(server: OutboundServer, count: int) -> list[Asked]:
    async with asyncio.timeout(30):
        while len(server.carrier.asked) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    return server.carrier.asked


async def report(server: OutboundServer, status: str) -> str:
    answer = await server.provider.post(server.carrier.event(server.carrier.asked[0], status))
    assert answer.is_success, answer.text
    return answer.text


def colleague_of(order: Asked, server: OutboundServer) -> str:
    """The id in the start of the colleague's stream: that of the call which the provider was asked for.
    Vonage's NCCO does not pass it on.
    """
    return "" if server.carrier.name == "vonage" else order.line_call


def speak(call: ScriptedCall, words: str, length_s: float = 1.0) -> None:
    """Say words at the other end of a call."""
    call.client.notify(notify.NotifySpeechStarted("item", 0.0))
    call.client.notify(notify.NotifySpeechStopped("item", length_s))
    call.client.notify(notify.NotifyTranscript("item", words, True, length_s))


@asynccontextmanager
async def answered(server: OutboundServer) -> AsyncIterator[tuple[PhoneCaller, ScriptedCall]]:
    """The colleague's phone, which was answered; no word was spoken yet."""
    (order,) = await asked(server, 1)
    url = server.carrier.stream_url(order, await report(server, "answered"))
    async with stream(server, url, colleague_of(order, server)) as colleague:
        await colleague.until(lambda: len(server.calls) == 2 and server.call.posted)
        yield colleague, server.call


@asynccontextmanager
async def briefed(server: OutboundServer) -> AsyncIterator[tuple[PhoneCaller, ScriptedCall]]:
    """The colleague, who has answered and is being briefed."""
    async with answered(server) as (colleague, call):
        speak(call, "Hello?")
        await colleague.until(lambda: len(call.posted) == 3)
        yield colleague, call


def is_ended(server: OutboundServer, request: Asked, line_call: str) -> bool:
    """True if this request ends the provider's call."""
    text = f"{request.path} {request.fields}"
    ends: dict[str, Any] = {"twilio": "completed", "telnyx": "hangup", "vonage": "hangup", "plivo": line_call}
    return line_call in request.path and ends[server.carrier.name] in text


async def test_a_briefed_colleague_is_connected_to_the_caller(server: OutboundServer) -> None:
    async with transferring(server) as (_, _, transfer), briefed(server) as (colleague, call):
        claim, speech, leave = call.posted
        assert claim == CLAIM, "the model does not answer the colleague"
        assert speech == SpeechRequested(BRIEF, interruptible=False)
        assert isinstance(leave, HangUpRequested)
        assert call.greeted is False
        assert call.offered == ()
        assert len(server.carrier.asked) == 1, "nobody is connected before the brief was heard"
        call.hung_up = BRIEFED
        call.over.set()
        legs = 1 if server.carrier.name == "telnyx" else 2
        requests = await asked(server, 1 + legs)
        for request in requests[1:]:
            assert CONNECTS[server.carrier.name] in f"{request.path} {request.fields}"
        for leg in (CALLER, requests[0].line_call):
            assert any(leg in f"{request.path} {request.fields}" for request in requests[1:]), leg
        await colleague.until(lambda: call.closed is not None)
        await asyncio.sleep(0.5)
        assert not transfer.done(), "the provider ends the caller's stream"
        assert len(requests) == 1 + legs, "the colleague's call goes on"
        assert server.statuses[-1] == "answered"


CONNECTING = SpeechRequested("One moment, I'll connect you.")


async def test_a_silent_agent_announces_that_it_connects(server: OutboundServer) -> None:
    async with transferring(server) as (_, call, _):
        await asked(server, 1)
        assert call.posted == [CONNECTING]


@pytest.mark.parametrize(
    ("items", "sounds", "announced"),
    [
        ([("assistant", "Hello.", False), ("user", "Reception, please.", False)], (), True),
        ([("user", "Reception, please.", False), ("assistant", "I'll connect you.", False)], (), False),
        ([("user", "Reception.", False), ("assistant", " ", False)], (), True),
        ([("user", "[About this call]", True), ("assistant", "Noted.", True)], (), True),
        ([("user", "Reception, please.", False)], ("hold",), False),
        ([("user", "Reception, please.", False)], ("typing",), True),
    ],
)
async def test_only_a_caller_who_would_wait_in_silence_hears_the_phrase(
    server: OutboundServer,
    items: list[tuple[Literal["user", "assistant"], str, bool]],
    sounds: tuple[str, ...],
    announced: bool,
) -> None:
    url = f"{PUBLIC_URL.replace('https', 'wss')}/telephony/{server.carrier.name}"
    async with stream(server, url, CALLER) as caller:
        await caller.until(lambda: server.calls and server.call.line is not None)
        call = server.call
        call.items = [MessageItem(text, role, text, by_line=by_line) for role, text, by_line in items]
        call.background_sounds = sounds
        assert call.line is not None
        transfer = asyncio.create_task(call.line.transfer(number=TO, brief=BRIEF))
        await asked(server, 1)
        assert (CONNECTING in call.posted) is announced
        transfer.cancel()


@pytest.mark.parametrize("status", ["busy", "no_answer"])
async def test_a_colleague_who_does_not_answer_is_a_typed_reason(server: OutboundServer, status: str) -> None:
    async with transferring(server) as (_, call, transfer):
        await asked(server, 1)
        await report(server, status)
        with pytest.raises(TransferFailed, match="the caller is still there") as failed:
            await asyncio.wait_for(transfer, 10)
        assert failed.value.reason == status
        assert call.closed is None


async def test_a_colleague_who_hangs_up_while_briefed_has_declined(server: OutboundServer) -> None:
    async with transferring(server) as (_, call, transfer):
        async with briefed(server):
            pass
        with pytest.raises(TransferFailed) as failed:
            await asyncio.wait_for(transfer, 10)
        assert failed.value.reason == "declined"
        assert call.closed is None


@pytest.mark.parametrize(
    "words",
    ["Hi, you've reached Bea. Please leave a message after the tone.", "For sales, press one."],
)
async def test_a_machine_that_answers_for_the_colleague_is_not_briefed(
    server: OutboundServer, words: str
) -> None:
    async with transferring(server) as (_, caller, transfer), answered(server) as (colleague, call):
        speak(call, words, 4.0)
        with pytest.raises(TransferFailed, match="voicemail") as failed:
            await asyncio.wait_for(transfer, 10)
        assert failed.value.reason == "voicemail"
        await colleague.until(lambda: call.closed is not None)
        assert not any(CONNECTS[server.carrier.name] in str(one) for one in server.carrier.asked[1:])
        assert call.posted == [CLAIM]
        assert caller.closed is None, "the caller is with the agent"


async def test_a_voice_that_never_pauses_is_a_machine_s(
    server: OutboundServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(colleague_module, "GREETING_S", 0.3)
    async with transferring(server) as (_, _, transfer), answered(server) as (_, call):
        call.client.notify(notify.NotifySpeechStarted("item", 0.0))
        with pytest.raises(TransferFailed) as failed:
            await asyncio.wait_for(transfer, 10)
        assert failed.value.reason == "voicemail"


async def test_the_person_behind_a_screener_is_briefed(server: OutboundServer) -> None:
    async with transferring(server) as (_, _, transfer), answered(server) as (colleague, call):
        speak(call, "Please state your name and the reason for your call.", 4.0)
        await colleague.until(lambda: len(call.posted) == 2)
        assert call.posted[1] == SpeechRequested(BRIEF, interruptible=False), "the screener's answer"
        speak(call, "Hello?")
        await colleague.until(lambda: len(call.posted) == 4)
        assert call.posted[2:] == [SpeechRequested(BRIEF, interruptible=False), HangUpRequested(BRIEFED)]
        assert not transfer.done()


async def test_a_call_that_the_provider_refuses_is_a_failed_transfer(server: OutboundServer) -> None:
    server.carrier.refuses = True
    async with transferring(server) as (_, _, transfer):
        with pytest.raises(TransferFailed, match="no permission") as failed:
            await asyncio.wait_for(transfer, 10)
        assert failed.value.reason == "failed"


async def test_calls_that_the_provider_does_not_connect_are_a_failed_transfer(server: OutboundServer) -> None:
    async with transferring(server) as (_, _, transfer), briefed(server) as (_, call):
        server.carrier.refuses = True
        call.hung_up = BRIEFED
        call.over.set()
        with pytest.raises(TransferFailed) as failed:
            await asyncio.wait_for(transfer, 10)
        assert failed.value.reason == "failed"


async def test_a_second_request_that_the_provider_refuses_is_a_failed_transfer(
    server: OutboundServer,
) -> None:
    if server.carrier.name == "telnyx":
        pytest.skip("one request connects both")
    async with transferring(server) as (_, caller, transfer), briefed(server) as (colleague, call):
        server.carrier.accepts = 2  # the order, and the first of two that connect
        call.hung_up = BRIEFED
        call.over.set()
        with pytest.raises(TransferFailed) as failed:
            await asyncio.wait_for(transfer, 10)
        assert failed.value.reason == "failed"
        assert caller.closed is None, "the caller is with the agent"
        await colleague.until(lambda: call.closed is not None)
        assert not any(CONNECTS[server.carrier.name] in str(one) for one in server.carrier.asked[3:])


async def test_the_allow_list_holds_for_the_colleague(server: OutboundServer) -> None:
    async with transferring(server, "+19005550100") as (_, _, transfer):
        with pytest.raises(TransferFailed, match=r"outbound\.allow") as failed:
            await asyncio.wait_for(transfer, 10)
        assert failed.value.reason == "failed"
    assert server.carrier.asked == []


async def test_a_cancelled_transfer_ends_the_ringing_call_of_the_colleague(server: OutboundServer) -> None:
    async with transferring(server) as (_, _, transfer):
        (order,) = await asked(server, 1)
        await report(server, "ringing")
        transfer.cancel()  # as the session cancels a cancellable tool, or one that takes too long
        _, end = await asked(server, 2)
        assert is_ended(server, end, order.line_call)
        url = server.carrier.stream_url(order, await report(server, "answered"))
        with pytest.raises(Exception, match="403"):
            async with stream(server, url, order.line_call):
                pass


async def test_a_caller_who_leaves_ends_the_call_of_the_colleague_though_the_tool_runs_on(
    server: OutboundServer,
) -> None:
    url = f"{PUBLIC_URL.replace('https', 'wss')}/telephony/{server.carrier.name}"
    async with stream(server, url, CALLER) as caller:
        await caller.until(lambda: server.calls and server.call.line is not None)
        line = server.call.line
        assert line is not None
        transfer = asyncio.create_task(line.transfer(number=TO, brief=BRIEF))
        (order,) = await asked(server, 1)
        await report(server, "ringing")
    requests = await asked(server, 2)
    assert any(is_ended(server, request, order.line_call) for request in requests[1:])
    with pytest.raises(TransferFailed, match="the caller has left"):
        await asyncio.wait_for(transfer, 10)


async def test_a_caller_who_leaves_during_the_brief_ends_it_and_nobody_is_connected(
    server: OutboundServer,
) -> None:
    url = f"{PUBLIC_URL.replace('https', 'wss')}/telephony/{server.carrier.name}"
    async with AsyncExitStack() as colleague_line:
        async with stream(server, url, CALLER) as caller:
            await caller.until(lambda: server.calls and server.call.line is not None)
            line = server.call.line
            assert line is not None
            transfer = asyncio.create_task(line.transfer(number=TO, brief=BRIEF))
            colleague, call = await colleague_line.enter_async_context(briefed(server))
        requests = await asked(server, 2)
        assert any(is_ended(server, request, requests[0].line_call) for request in requests[1:])
        call.hung_up = BRIEFED  # heard to its end all the same
        call.over.set()
        await colleague.until(lambda: call.closed is not None)
        assert not any(CONNECTS[server.carrier.name] in str(one) for one in server.carrier.asked)
        with pytest.raises(TransferFailed, match="the caller has left"):
            await asyncio.wait_for(transfer, 10)


async def test_a_briefing_that_ends_for_another_reason_connects_nobody(server: OutboundServer) -> None:
    async with transferring(server) as (_, _, transfer), briefed(server) as (_, call):
        call.hung_up = "the caller is silent"
        call.over.set()
        _, end = await asked(server, 2)
        assert CONNECTS[server.carrier.name] not in f"{end.path} {end.fields}"
        with pytest.raises(TransferFailed) as failed:
            await asyncio.wait_for(transfer, 10)
        assert failed.value.reason == "declined"


async def test_a_store_that_fails_while_the_calls_are_joined_ends_the_colleague_s_call(
    server: OutboundServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with transferring(server) as (_, _, transfer), briefed(server) as (_, call):

        def change(*_: object) -> None:
            raise OSError("disk full")

        monkeypatch.setattr(OutboundStore, "change", change)
        call.hung_up = BRIEFED
        call.over.set()
        _, end = await asked(server, 2)
        monkeypatch.undo()
        assert CONNECTS[server.carrier.name] not in f"{end.path} {end.fields}"
        transfer.cancel()


@pytest.mark.parametrize("joining", [Joining.BRIEFING, Joining.JOINING])
def test_a_colleague_s_call_that_is_over_is_never_waited_for(joining: Joining) -> None:
    call = OutboundCall("call_1", TO, TO, "twilio", status=Status.COMPLETED, joins="line-1", joining=joining)
    assert call.transfer_failure is not None


async def test_a_key_of_the_colleague_does_not_cut_the_brief(server: OutboundServer) -> None:
    async with transferring(server), briefed(server) as (colleague, call):
        before = list(call.requests)
        colleague.press("1")
        await asyncio.sleep(0.1)
        added = [request for request in call.requests[len(before) :] if not isinstance(request, KeyPressed)]
        assert len(call.requests) == len(before) + 1, "the key came"
        assert added == []
