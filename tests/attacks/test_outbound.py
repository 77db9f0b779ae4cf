"""Toll fraud and forged reports: calls that may not be placed, webhooks that may not count."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from outbound_server import KEY, TO, OutboundServer, outbound_server
from phone_server import config_of
from simulated_carriers import (
    CARRIERS,
    ENVIRONMENT,
    PUBLIC_URL,
    SimulatedCarrier,
    Telnyx,
    Twilio,
    Vonage,
    Webhook,
    running,
)
from starlette.applications import Starlette
from starlette.testclient import TestClient

from voiceagent.access.access_control import Admission
from voiceagent.access.auth import ApiKeys
from voiceagent.access.requester import AccessRules
from voiceagent.transports.telephony.outbound.build import dialer_of
from voiceagent.transports.telephony.outbound.dialer import DialRules
from voiceagent.transports.telephony.outbound.endpoint import OutboundEndpoint


@pytest.fixture(params=CARRIERS, ids=lambda kind: kind.name)
async def server(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[OutboundServer]:
    async with running(request.param) as carrier, outbound_server(carrier, tmp_path) as server:
        yield server


@pytest.mark.parametrize(
    "to",
    [
        "+19005550100",  # premium
        "+1 555 0123456",
        "+1555",
        "15550123456",
        "+15550123456;phone-context=evil",
        "+15550123456,,900",
        "sip:+15550123456@evil.example",
        "\uff0b15550123456",
        "+1555\u0660123456",
        "+15550123456\n",
        "+15550123456" + "0" * 10_000,
    ],
)
async def test_numbers_outside_the_allow_list_are_never_dialled(server: OutboundServer, to: str) -> None:
    answer = await server.post({"to": to})
    assert answer.status_code in (400, 403)
    assert server.carrier.asked == []


def test_without_an_allow_list_nobody_can_be_called() -> None:
    config = config_of({"public_url": PUBLIC_URL, "twilio": Twilio().table()})
    rules = DialRules(lambda: None, lambda name: None, 600.0)
    args = config.telephony, config.outbound, ENVIRONMENT, config.source, None, rules
    assert dialer_of(*args, lambda call: None) is None


def test_the_api_of_a_server_without_an_allow_list_refuses_calls() -> None:
    admission = Admission(ApiKeys(frozenset({"the-key"})))
    client = TestClient(Starlette(routes=OutboundEndpoint(None, admission).routes()))
    answer = client.post("/v1/calls", json={"to": TO}, headers=KEY)
    assert answer.status_code == 403
    assert "outbound.allow" in answer.json()["error"]["message"]


@pytest.mark.parametrize("peer", ["203.0.113.9", "127.0.0.1"])
def test_a_server_without_keys_lets_this_machine_alone_call(peer: str) -> None:
    admission = Admission(None, AccessRules(open=True))
    app = Starlette(routes=OutboundEndpoint(None, admission).routes())
    client = TestClient(app, base_url="http://localhost", client=(peer, 1))
    code = client.post("/v1/calls", json={"to": TO}).json()["error"]["code"]
    assert code == ("outbound_off" if peer == "127.0.0.1" else "key_needed")


async def test_a_leaked_key_cannot_call_without_end(tmp_path: Path) -> None:
    async with (
        running(Twilio) as carrier,
        outbound_server(carrier, tmp_path, max_calls=100, max_calls_per_hour=3) as server,
    ):
        answers = [await server.post({"to": f"+1555010000{number}"}) for number in range(6)]
    assert [answer.status_code for answer in answers] == [201, 201, 201, 429, 429, 429]
    assert int(answers[-1].headers["retry-after"]) > 3_000
    assert len(carrier.asked) == 3


async def test_the_hourly_limit_survives_a_restart(tmp_path: Path) -> None:
    async with running(Twilio) as carrier:
        for expected in (201, 429):
            async with outbound_server(carrier, tmp_path, max_calls_per_hour=1) as server:
                assert (await server.post({"to": TO})).status_code == expected


async def test_calls_at_the_same_time_are_limited(tmp_path: Path) -> None:
    async with running(Twilio) as carrier, outbound_server(carrier, tmp_path, max_calls=1) as server:
        assert (await server.post({"to": TO})).status_code == 201
        assert (await server.post({"to": TO})).status_code == 429
        await server.provider.post(carrier.event(carrier.asked[0], "busy"))
        assert (await server.post({"to": TO})).status_code == 201


async def test_a_replayed_webhook_is_refused(server: OutboundServer) -> None:
    await server.post({"to": TO})
    webhook = server.carrier.event(server.carrier.asked[0], "ringing")
    assert (await server.provider.post(webhook)).is_success
    seen = list(server.statuses)
    assert (await server.provider.post(webhook)).status_code == 403
    assert server.statuses == seen


@pytest.mark.parametrize("written", ["query", "separator", "spaces", "list", "base64", "case", "body"])
async def test_a_replay_that_is_written_otherwise_is_refused(server: OutboundServer, written: str) -> None:
    await server.post({"to": TO})
    webhook = server.carrier.event(server.carrier.asked[0], "ringing")
    assert (await server.provider.post(webhook)).is_success
    seen = list(server.statuses)
    headers = dict(webhook.headers)
    signed = next(name for name in headers if "nonce" not in name and "timestamp" not in name)
    changed = {
        "query": replace(webhook, url=f"{webhook.url}?a=b"),
        "separator": replace(webhook, url=f"{webhook.url}?&"),
        "spaces": replace(webhook, headers={**headers, signed: headers[signed].replace(" ", "   ")}),
        "list": replace(webhook, headers={**headers, signed: f"{headers[signed]},AAAA"}),
        "base64": replace(webhook, headers={**headers, signed: headers[signed] + "==="}),
        "case": replace(webhook, headers={**headers, signed: headers[signed].replace("Bearer", "bEARER")}),
        "body": replace(webhook, body=b"&".join(reversed(webhook.body.split(b"&")))),
    }[written]
    assert (await server.provider.post(changed)).status_code == 403
    assert server.statuses == seen


async def test_a_webhook_of_one_call_does_not_count_for_another(server: OutboundServer) -> None:
    ids = [(await server.post({"to": TO})).json()["id"] for _ in range(2)]
    first, second = server.carrier.asked
    webhook = server.carrier.event(first, "busy")
    moved = replace(webhook, url=webhook.url.replace(ids[0], ids[1]))
    assert (await server.provider.post(moved)).status_code == 403
    assert (await server.status(ids[1]))["status"] == "queued"
    assert second.line_call


@pytest.mark.parametrize("forged", ["body", "signature", "nothing"])
async def test_a_forged_webhook_is_refused(server: OutboundServer, forged: str) -> None:
    call_id = (await server.post({"to": TO})).json()["id"]
    webhook = server.carrier.event(server.carrier.asked[0], "busy")
    changes = {
        "body": replace(webhook, body=webhook.body.replace(b"busy", b"completed") + b" "),
        "signature": replace(
            webhook, headers={name: value[:-4] + "AAA=" for name, value in webhook.headers.items()}
        ),
        "nothing": Webhook(webhook.url, webhook.body, {}),
    }
    assert (await server.provider.post(changes[forged])).status_code == 403
    assert (await server.status(call_id))["status"] == "queued"


@pytest.mark.parametrize("kind", [Telnyx, Vonage], ids=lambda kind: kind.name)
async def test_a_webhook_that_was_signed_long_ago_is_refused(
    kind: type[Telnyx | Vonage], tmp_path: Path
) -> None:
    async with running(kind) as carrier, outbound_server(carrier, tmp_path) as server:
        await server.post({"to": TO})
        old = carrier.event(carrier.asked[0], "busy", at_s=time.time() - 3_600)  # type: ignore[call-arg]
        assert (await server.provider.post(old)).status_code == 403


async def test_bodies_of_any_length_and_calls_that_do_not_exist_are_refused(server: OutboundServer) -> None:
    await server.post({"to": TO})
    webhook = server.carrier.event(server.carrier.asked[0], "busy")
    long = replace(webhook, body=b"x" * 1_000_000)
    assert (await server.provider.post(long)).status_code == 413
    elsewhere = replace(webhook, url=f"{PUBLIC_URL}/telephony/{server.carrier.name}/outbound/call_x/status")
    assert (await server.provider.post(elsewhere)).status_code == 404
    async with httpx.AsyncClient(trust_env=False) as client:
        url = f"http://127.0.0.1:{server.port}/v1/calls"
        for body in (b"", b"[]", b"{", b'{"to": null}', b"\xff"):
            answer = await client.post(url, content=body, headers={"authorization": "Bearer the-key"})
            assert answer.status_code == 400


async def test_an_answered_call_cannot_be_made_unanswered_by_a_late_report(
    server: OutboundServer,
) -> None:
    call_id = (await server.post({"to": TO})).json()["id"]
    asked = server.carrier.asked[0]
    late: SimulatedCarrier = server.carrier
    ringing = late.event(asked, "ringing")
    assert (await server.provider.post(late.event(asked, "answered"))).is_success
    await server.provider.post(ringing)
    assert (await server.status(call_id))["status"] == "answered"
