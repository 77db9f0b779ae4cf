"""Outbound calls through each provider: request, status, stream, and what the agent knows."""

from __future__ import annotations

import asyncio
import sqlite3
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from outbound_server import OWN, TO, OutboundServer, outbound_server
from phone_caller import calling
from simulated_carriers import (
    PLACING,
    PUBLIC_URL,
    Asterisk,
    Plivo,
    SimulatedCarrier,
    Telnyx,
    Twilio,
    Vonage,
    Webhook,
    running,
)
from websockets.asyncio.client import ClientConnection, connect

from voiceagent.transports.telephony.outbound import store

ORDER = {"to": TO, "agent": "orders", "reason": "the order is ready", "parameters": {"order": "17"}}


async def placed(server: OutboundServer, order: dict[str, Any] = ORDER) -> dict[str, Any]:
    answer = await server.post(order)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


@pytest.fixture(params=PLACING, ids=lambda kind: kind.name)
async def carrier(request: pytest.FixtureRequest) -> AsyncIterator[SimulatedCarrier]:
    async with running(request.param) as carrier:
        yield carrier


async def report(server: OutboundServer, status: str) -> str:
    """Let the provider report a status of the first call, if it reports this one. Return the body of the
    answer.
    """
    carrier = server.carrier
    if carrier.name == "asterisk" and status not in carrier.statuses:
        return ""
    answer = await server.provider.post(carrier.event(carrier.asked[0], status))
    assert answer.is_success, answer.text
    return answer.text


def address_of(server: OutboundServer, stream_url: str) -> str:
    """The stream's URL as it reaches the server, behind its proxy."""
    return stream_url.replace(PUBLIC_URL.replace("https", "wss"), f"ws://127.0.0.1:{server.port}")


async def test_an_answered_call_reaches_its_agent_which_knows_whom_it_called_and_why(
    server: OutboundServer,
) -> None:
    carrier = server.carrier
    call = await placed(server)
    assert call["status"] == "queued"
    assert call["provider_call_id"] == carrier.asked[0].line_call
    await report(server, "ringing")
    assert server.calls == [], "the agent waits for the answer"
    xml = await report(server, "answered")
    url = carrier.stream_url(carrier.asked[0], xml)
    async with calling(carrier.line(), address_of(server, url), headers=carrier.handshake(url)) as caller:
        await caller.until(lambda: server.calls and server.call.greeted)
        assert server.call.call_id == call["id"]
        assert server.call.model == "orders"
        assert server.call.line is not None
        assert server.call.line.outbound is not None
        assert server.call.line.outbound.to == TO
        assert server.call.line.outbound.reason == "the order is ready"
        known = server.call.identified
        assert {
            **ORDER["parameters"],
            "direction": "outbound",
            "to": TO,
            "from": OWN,
        }.items() <= known.items()
    await report(server, "completed")
    rings = [] if carrier.name in ("telnyx", "asterisk") else ["ringing"]  # these do not report that it rings
    assert server.statuses == ["queued", *rings, "answered", "completed"]


@pytest.mark.parametrize("status", ["busy", "no_answer"])
async def test_a_call_that_nobody_answers_says_why(server: OutboundServer, status: str) -> None:
    call = await placed(server)
    await report(server, status)
    shown = await server.status(call["id"])
    assert shown["status"] == status
    assert shown["cause"]


async def test_a_request_that_the_provider_refuses_fails_with_its_reason(server: OutboundServer) -> None:
    server.carrier.refuses = True
    call = await placed(server)
    assert call["status"] == "failed"
    assert "no permission" in call["cause"]


async def test_a_provider_that_fails_may_have_placed_the_call(server: OutboundServer) -> None:
    """A gateway's 502 does not say whether the request was carried out: the call's reports do."""
    server.carrier.refuses, server.carrier.refusal = True, "502 Bad Gateway"
    call = await placed(server)
    assert call["status"] == "queued"
    await report(server, "busy")
    assert (await server.status(call["id"]))["status"] == "busy"


@pytest.mark.parametrize("kind", [Twilio, Plivo, Asterisk], ids=lambda kind: kind.name)
async def test_a_completed_call_was_answered_though_that_is_reported_later(
    kind: type[SimulatedCarrier], tmp_path: Path
) -> None:
    async with running(kind) as carrier, outbound_server(carrier, tmp_path) as server:
        call = await placed(server)
        await report(server, "completed")
        await report(server, "answered")
        assert (await server.status(call["id"]))["status"] == "completed"


async def test_a_report_that_could_not_be_stored_counts_when_it_is_repeated(
    server: OutboundServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = await placed(server)
    webhook = server.carrier.event(server.carrier.asked[0], "busy")

    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as failing:
        failing.setattr(store, "save", fail)
        assert (await server.provider.post(webhook)).status_code == 503
    assert (await server.provider.post(webhook)).is_success
    assert (await server.status(call["id"]))["status"] == "busy"


async def test_a_ringing_call_is_ended_by_its_id(server: OutboundServer) -> None:
    carrier = server.carrier
    call = await placed(server)
    assert (await server.hang_up(call["id"])).is_success
    asked = carrier.asked[1]
    assert carrier.asked[0].line_call in asked.path
    method = {"plivo": "DELETE", "vonage": "PUT", "asterisk": "DELETE"}.get(carrier.name, "POST")
    assert asked.method == method
    await report(server, "no_answer")
    assert (await server.hang_up(call["id"])).is_success
    assert len(carrier.asked) == 2, "it is over"
    assert (await server.hang_up("call_x")).status_code == 404


async def test_a_stream_connects_once_and_only_to_a_call_that_was_placed(server: OutboundServer) -> None:
    carrier = server.carrier
    await placed(server)
    xml = await report(server, "answered")
    url = carrier.stream_url(carrier.asked[0], xml)
    address, headers = address_of(server, url), carrier.handshake(url)
    async with calling(carrier.line(), address, headers=headers) as caller:
        await caller.until(lambda: server.calls)
        with pytest.raises(Exception, match="403"):
            async with calling(carrier.line(), address, headers=headers):
                pass
    assert len(server.calls) == 1


async def test_the_same_idempotency_key_places_one_call(server: OutboundServer) -> None:
    first, second = [await server.post(ORDER, **{"idempotency-key": "k1"}) for _ in range(2)]
    assert first.json()["id"] == second.json()["id"]
    assert len(server.carrier.asked) == 1
    other = await server.post({**ORDER, "reason": "another"}, **{"idempotency-key": "k1"})
    assert other.status_code == 409


@pytest.mark.parametrize("kind", [Twilio, Plivo, Asterisk], ids=lambda kind: kind.name)
async def test_a_call_goes_on_with_the_stream_that_its_provider_opens_after_a_loss(
    kind: type[SimulatedCarrier], tmp_path: Path
) -> None:
    async with running(kind) as carrier, outbound_server(carrier, tmp_path) as server:
        call = await placed(server)
        url = carrier.stream_url(carrier.asked[0], await report(server, "answered"))
        address, headers = address_of(server, url), carrier.handshake(url)
        for number in (1, 2, 3):
            async with connect(address, additional_headers=headers, proxy=None) as stream:
                for message in carrier.line().start():
                    await stream.send(message)
                frame = np.zeros(carrier.line.format.rate_hz // 50, np.int16)
                await stream.send(carrier.line().sound(frame, 1))
                async with asyncio.timeout(20):
                    while not server.calls:  # noqa: ASYNC110
                        await asyncio.sleep(0.02)
                    await server.call.until(lambda one, number=number: len(one.heard) >= number)
                assert (await server.status(call["id"]))["status"] == "answered"
                stream.transport.abort()
            await asyncio.sleep(0.2)
        assert len(server.calls) == 1
        await report(server, "completed")
        assert (await server.status(call["id"]))["status"] == "completed"


@pytest.mark.parametrize("kind", [Telnyx, Vonage], ids=lambda kind: kind.name)
async def test_a_lost_stream_ends_the_call_where_the_provider_opens_no_other(
    kind: type[SimulatedCarrier], tmp_path: Path
) -> None:
    async with running(kind) as carrier, outbound_server(carrier, tmp_path) as server:
        call = await placed(server)
        url = carrier.stream_url(carrier.asked[0], await report(server, "answered"))
        async with calling(carrier.line(), address_of(server, url), headers=carrier.handshake(url)) as caller:
            await caller.until(lambda: server.calls)
        async with asyncio.timeout(20):
            while (await server.status(call["id"]))["status"] != "completed":  # noqa: ASYNC110
                await asyncio.sleep(0.05)


@pytest.mark.parametrize("kind", [Twilio, Plivo], ids=lambda kind: kind.name)
async def test_the_provider_is_told_to_open_the_stream_again(
    kind: type[SimulatedCarrier], tmp_path: Path
) -> None:
    async with running(kind) as carrier, outbound_server(carrier, tmp_path) as server:
        await placed(server)
        xml = await report(server, "answered") or carrier.asked[0].fields["Twiml"][0]
        urls = [one.attrib.get("url") or one.text for one in ElementTree.fromstring(xml).iter("Stream")]
        assert len(urls) == 4
        assert len(set(urls)) == 1


reopening = pytest.mark.parametrize("kind", [Telnyx, Vonage], ids=lambda kind: kind.name)


async def stream_lost(server: OutboundServer) -> str:
    """Let the provider report the loss of the first call's stream. Return the URL at which it opens the
    stream again, "" for none.
    """
    carrier = server.carrier
    answer = await server.provider.post(carrier.stream_lost(carrier.asked[0]))
    assert answer.is_success, answer.text
    return carrier.reopened_url(answer.text)


@asynccontextmanager
async def stream(server: OutboundServer, url: str) -> AsyncIterator[ClientConnection]:
    """The provider's stream of a call at this URL, after its start."""
    headers = server.carrier.handshake(url)
    async with connect(address_of(server, url), additional_headers=headers, proxy=None) as websocket:
        for message in server.carrier.line().start():
            await websocket.send(message)
        yield websocket


async def begun(server: OutboundServer) -> None:
    """Wait for the agent's call."""
    while not server.calls:  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    await server.call.until(lambda call: call.greeted)


@reopening
async def test_a_call_goes_on_after_the_loss_of_its_stream(
    kind: type[SimulatedCarrier], tmp_path: Path
) -> None:
    async with running(kind) as carrier, outbound_server(carrier, tmp_path) as server:
        await placed(server)
        url = carrier.stream_url(carrier.asked[0], await report(server, "answered"))
        for _ in range(3):
            async with stream(server, url) as lost, asyncio.timeout(20):
                await begun(server)
                await server.call.until(lambda call: call.pauses[-1:] != [True])
                lost.transport.abort()
                await server.call.until(lambda call: call.pauses[-1:] == [True])
            url = await stream_lost(server)
            assert url, "the provider is asked to open the stream again"
        async with stream(server, url), asyncio.timeout(20):
            await server.call.until(lambda call: call.pauses == [True, False] * 3)
            assert len(server.calls) == 1
            assert not await told_again(server), "a server that cannot be reached is not called for ever"


async def told_again(server: OutboundServer) -> bool:
    """Report the loss of the stream once more. Return True if the provider is to open it again."""
    asked = len(server.carrier.asked)
    answer = await server.provider.post(server.carrier.stream_lost(server.carrier.asked[0]))
    return len(server.carrier.asked) > asked or answer.text != ""


@reopening
async def test_the_stream_of_a_call_that_is_over_or_never_began_is_not_opened_again(
    kind: type[SimulatedCarrier], tmp_path: Path
) -> None:
    async with running(kind) as carrier, outbound_server(carrier, tmp_path) as server:
        await placed(server)
        assert not await told_again(server)
        url = carrier.stream_url(carrier.asked[0], await report(server, "answered"))
        async with stream(server, url):
            await report(server, "completed")
        assert not await told_again(server)


@reopening
async def test_a_stream_that_the_provider_refuses_to_open_again_ends_the_call_in_time(
    kind: type[SimulatedCarrier], tmp_path: Path
) -> None:
    async with running(kind) as carrier, outbound_server(carrier, tmp_path) as server:
        await placed(server)
        url = carrier.stream_url(carrier.asked[0], await report(server, "answered"))
        async with stream(server, url) as lost, asyncio.timeout(20):
            await begun(server)
            lost.transport.abort()
            await server.call.until(lambda call: call.pauses == [True])
            carrier.refuses = True
            answer = await server.provider.post(carrier.stream_lost(carrier.asked[0]))
            assert answer.is_success, "the report itself was taken"
            assert server.call.closed is None, "it waits, as the provider may come all the same"


async def test_the_report_of_another_calls_stream_is_refused(tmp_path: Path) -> None:
    """Vonage's report has no id of the call: the address of the stream has it."""
    async with running(Vonage) as carrier, outbound_server(carrier, tmp_path) as server:
        await placed(server)
        await placed(server)
        one, other = (carrier.stream_lost(asked) for asked in carrier.asked)
        answer = await server.provider.post(Webhook(one.url, other.body, other.headers))
        assert answer.status_code == 403
        assert "not this call's stream" in answer.text


async def test_an_empty_idempotency_key_is_refused(server: OutboundServer) -> None:
    """A script whose variable is empty would believe that its repeated request is harmless."""
    answer = await server.post(ORDER, **{"idempotency-key": ""})
    assert answer.status_code == 400
    assert "Idempotency-Key is ''; allowed: 1 to 255 visible" in answer.json()["error"]["message"]
    assert server.carrier.asked == []


async def test_a_call_needs_a_key(server: OutboundServer) -> None:
    assert (await server.post(ORDER, authorization="Bearer wrong")).status_code == 401
    assert server.carrier.asked == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"to": "5550123456"}, "invalid_number"),
        ({"to": 5}, "invalid_value"),
        ({"agent": "nobody"}, "call_refused"),
        ({"provider": "audiosocket"}, "unknown_provider"),
        ({"form": "+15550199999"}, "invalid_value"),
        ({"parameters": {"a": 1}}, "invalid_value"),
    ],
)
async def test_a_wrong_order_is_refused_by_name(
    server: OutboundServer, change: dict[str, Any], code: str
) -> None:
    answer = await server.post({**ORDER, **change})
    assert answer.status_code in (400, 404)
    assert answer.json()["error"]["code"] == code
    assert server.carrier.asked == []


async def test_a_report_of_asterisk_needs_the_password_and_counts_once(tmp_path: Path) -> None:
    async with running(Asterisk) as carrier, outbound_server(carrier, tmp_path) as server:
        call = await placed(server)
        genuine = carrier.event(carrier.asked[0], "busy")
        forged = {"authorization": "Basic " + b64encode(b"asterisk:guessed").decode()}
        for headers in ({}, forged):
            answer = await server.provider.post(Webhook(genuine.url, genuine.body, headers))
            assert answer.status_code == 403
        assert (await server.status(call["id"]))["status"] == "queued"
        assert (await server.provider.post(genuine)).is_success
        assert (await server.provider.post(genuine)).status_code == 403
        assert (await server.status(call["id"]))["status"] == "busy"
