"""The HTTP side of WebRTC calls: offers and what is wrong with them, keys, and pages of other sites."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import aioice
import httpx
import numpy as np
import pytest
from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.rtcsctptransport import AbortChunk
from rtc_caller import Microphone, RtcCaller
from webrtc_site import Site, browsing

from voiceagent.access.access_control import Admission
from voiceagent.access.auth import ApiKeys
from voiceagent.transports.realtime.http import MAX_BODY_BYTES
from voiceagent.transports.webrtc.aiortc_sctp_internals import drop_unsendable
from voiceagent.transports.webrtc.network import Network
from voiceagent.transports.webrtc.wire import SILENT

KEY = {"authorization": "Bearer secret-key"}
SDP = {"content-type": "application/sdp"}
ELSEWHERE = {"origin": "http://elsewhere.example"}
NO_SOUND = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n"


async def offer(http: httpx.AsyncClient) -> str:
    caller = RtcCaller(http)
    sdp = await caller.offer()
    await caller.peer.close()
    return sdp


def error(response: httpx.Response) -> dict[str, Any]:
    return dict(response.json()["error"])


async def test_an_offer_is_answered_with_a_call() -> None:
    site = Site(Admission())
    async with browsing(site) as http:
        response = await http.post("/v1/realtime/calls?model=some", content=await offer(http), headers=SDP)
        assert response.status_code == 201
        assert response.headers["content-type"].startswith("application/sdp")
        assert response.headers["location"] == f"/v1/realtime/calls/{site.calls[0].call_id}"
        assert "useinbandfec=1" in response.text
        assert site.calls[0].model == "some"


@pytest.mark.parametrize(
    ("body", "headers", "status", "code"),
    [
        ("no sdp at all", SDP, 400, "invalid_offer"),
        (NO_SOUND, SDP, 400, "invalid_offer"),
        ("{}", {"content-type": "application/json"}, 415, "unsupported_content_type"),
        ("x" * (MAX_BODY_BYTES + 1), SDP, 413, "too_long"),
    ],
)
async def test_what_cannot_be_answered_is_refused_and_leaves_no_call(
    body: str, headers: dict[str, str], status: int, code: str
) -> None:
    site = Site(Admission())
    async with browsing(site) as http:
        response = await http.post("/v1/realtime/calls", content=body, headers=headers)
        assert (response.status_code, error(response)["code"]) == (status, code)
        assert all(call.closed for call in site.calls)


@pytest.mark.parametrize("body", ["", "no sdp at all", '{"type": "offer"}'])
async def test_a_body_that_is_no_sdp_is_called_that(body: str) -> None:
    async with browsing(Site(Admission())) as http:
        response = await http.post("/v1/realtime/calls", content=body, headers=SDP)
    assert error(response)["message"] == "the offer is no SDP, which begins with v=0"


async def test_an_offer_without_opus_is_refused() -> None:
    site = Site(Admission())
    async with browsing(site) as http:
        other = (await offer(http)).replace("opus/48000/2", "unheard/48000/2").replace(" PCMU/", " X/")
        response = await http.post("/v1/realtime/calls", content=other, headers=SDP)
        assert response.status_code == 400
        assert "Opus" in error(response)["message"]


async def test_a_session_that_is_wrong_is_named_and_leaves_no_call() -> None:
    site = Site(Admission())
    async with browsing(site) as http:
        parts = {
            "sdp": (None, await offer(http)),
            "session": (None, json.dumps({"type": "realtime", "tools": [{"type": "function"}]})),
        }
        response = await http.post("/v1/realtime/calls", files=parts)
        assert response.status_code == 400
        assert error(response)["param"] == "session.tools[0].name"
        assert all(call.closed for call in site.calls)


async def test_a_form_without_an_offer_is_refused() -> None:
    async with browsing(Site(Admission())) as http:
        response = await http.post("/v1/realtime/calls", files={"session": (None, "{}")})
        assert (response.status_code, error(response)["param"]) == (400, "sdp")


async def test_what_the_api_has_and_this_server_has_not_is_named() -> None:
    async with browsing(Site(Admission())) as http:
        response = await http.post("/v1/realtime/calls/rtc_1/refer", json={"target_uri": "tel:+1"})
        assert (response.status_code, error(response)["code"]) == (404, "not_found")
        assert "POST '/v1/realtime/calls/rtc_1/refer' is not there" in error(response)["message"]
        assert "POST /v1/realtime/calls/{call_id}/hangup" in error(response)["message"]
        assert (await http.get("/v1/realtime/calls")).status_code == 405


async def test_a_full_server_says_so() -> None:
    async with browsing(Site(Admission(), full=True)) as http:
        response = await http.post("/v1/realtime/calls", content=await offer(http), headers=SDP)
        assert (response.status_code, error(response)["code"]) == (503, "call_refused")


async def test_sound_goes_both_ways_and_is_accounted_for() -> None:
    site = Site(Admission())
    async with browsing(site) as http:
        caller = RtcCaller(http)
        try:
            await caller.connect()
            (call,) = site.calls
            async with asyncio.timeout(30):
                await call.until(lambda call: call.taken_samples >= 16_000)
                frame = (8000 * np.sin(np.arange(480) / 5)).astype(np.int16)
                while np.abs(caller.sound[-960:]).max(initial=0) < 4000:
                    call.client.play("resp_1", frame)
                    await asyncio.sleep(0.02)
                heard = sent = None
                while heard is None or not sent:  # the reports of either side, once a second or so
                    call.client.play("resp_1", frame)
                    await asyncio.sleep(0.02)
                    stats = await caller.peer.getStats()
                    heard = next((s for s in stats.values() if s.type == "remote-inbound-rtp"), None)
                    sent = next((s.packetsSent for s in stats.values() if s.type == "remote-outbound-rtp"), 0)
            assert heard.packetsLost == 0
        finally:
            await caller.peer.close()


async def test_the_voice_need_not_be_the_first_of_an_offer() -> None:
    site = Site(Admission())
    async with browsing(site) as http:
        peer = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        peer.addTransceiver("video")
        caller = RtcCaller(http, peer)
        try:
            async with asyncio.timeout(30):
                await caller.connect()
                await site.calls[0].until(lambda call: call.taken_samples > 0)
        finally:
            await caller.peer.close()


async def test_who_has_no_channel_is_told_nothing_and_heard() -> None:
    site = Site(Admission())
    async with browsing(site) as http:
        peer = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        peer.addTrack(Microphone())
        try:
            await peer.setLocalDescription()
            response = await http.post("/v1/realtime/calls", content=peer.localDescription.sdp, headers=SDP)
            await peer.setRemoteDescription(RTCSessionDescription(response.text, "answer"))
            (call,) = site.calls
            async with asyncio.timeout(30):
                await call.until(lambda call: call.taken_samples > 0)
                outbox = call.client.outbox  # type: ignore[attr-defined]
                for _ in range(3):
                    outbox.put("{}")
                while len(outbox):  # noqa: ASYNC110  it is sent in a task of its own
                    await asyncio.sleep(0.02)
        finally:
            await peer.close()


async def test_who_has_no_channel_and_hangs_up_is_not_a_lost_connection() -> None:
    site = Site(Admission())
    async with browsing(site) as http:
        peer = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        peer.addTrack(Microphone())
        await peer.setLocalDescription()
        response = await http.post("/v1/realtime/calls", content=peer.localDescription.sdp, headers=SDP)
        await peer.setRemoteDescription(RTCSessionDescription(response.text, "answer"))
        async with asyncio.timeout(30):
            await site.calls[0].until(lambda call: call.taken_samples > 0)
            await peer.close()
            await site.calls[0].gone.wait()
    assert site.calls[0].closed == "the client left"


async def test_events_without_a_line_are_dropped_without_harm() -> None:
    peer = RTCPeerConnection()
    peer.createDataChannel("oai-events")
    drop_unsendable(peer.sctp)
    peer.sctp._remote_port = 5000
    await peer.sctp._send_chunk(AbortChunk())
    await peer.close()


async def test_a_caller_whose_network_is_gone_is_named_so_and_leaves_his_slot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(aioice.ice, "CONSENT_INTERVAL", 0.05)
    monkeypatch.setattr(aioice.stun, "RETRY_RTO", 0.01)
    site = Site(Admission())
    async with browsing(site) as http:
        caller = RtcCaller(http)
        await caller.connect()
        caller.peer.getTransceivers()[0].sender.transport.transport._connection.request_received = (
            lambda *message: None
        )
        async with asyncio.timeout(20):
            await site.calls[0].gone.wait()
        await caller.peer.close()
    assert site.calls[0].closed == SILENT


async def test_calls_take_ports_of_the_range_and_tell_the_announced_address() -> None:
    site = Site(Admission(), Network(announced_address="203.0.113.9", ports=(41_000, 41_099)))
    async with browsing(site) as http:
        answer = (await http.post("/v1/realtime/calls", content=await offer(http), headers=SDP)).text
        hosts = [line.split() for line in answer.splitlines() if "typ host" in line]
        assert hosts
        assert all(fields[4] == "203.0.113.9" for fields in hosts)
        assert all(41_000 <= int(fields[5]) <= 41_099 for fields in hosts)


async def test_one_port_is_enough_for_all_calls() -> None:
    async with browsing(Site(Admission(), Network(ports=(41_100, 41_100)))) as http:
        body = await offer(http)
        for _ in range(2):
            answer = await http.post("/v1/realtime/calls", content=body, headers=SDP)
            assert answer.status_code == 201
            assert " 41100 typ host" in answer.text


async def test_a_range_without_a_free_port_refuses_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aioice.ice.get_host_addresses", lambda use_ipv4, use_ipv6: ["127.0.0.1"])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 41_101))
        async with browsing(Site(Admission(), Network(ports=(41_101, 41_101)))) as http:
            response = await http.post("/v1/realtime/calls", content=await offer(http), headers=SDP)
            assert response.status_code == 503
            assert "41101" in error(response)["message"]


# ---- who may call


async def test_without_keys_only_pages_of_this_server_may_call() -> None:
    async with browsing(Site(Admission())) as http:
        for path in ("calls", "client_secrets"):
            response = await http.post(f"/v1/realtime/{path}", headers=ELSEWHERE)
            assert (response.status_code, error(response)["code"]) == (403, "origin_not_allowed")
            assert "access-control-allow-origin" not in response.headers
        own = await http.post("/v1/realtime/client_secrets", headers={"origin": "http://here.example"})
        assert own.status_code == 200


async def test_with_keys_pages_of_any_site_may_call_if_they_have_one() -> None:
    async with browsing(Site(Admission(ApiKeys(frozenset({"secret-key"}))))) as http:
        asked = {
            **ELSEWHERE,
            "access-control-request-method": "POST",
            "access-control-request-headers": "authorization,content-type,x-openai-agents-sdk",
        }
        assert (await http.options("/v1/realtime/calls", headers=asked)).status_code == 200
        refused = await http.post("/v1/realtime/calls", headers=ELSEWHERE | SDP)
        assert refused.status_code == 401
        answered = await http.post(
            "/v1/realtime/calls", content=await offer(http), headers=ELSEWHERE | SDP | KEY
        )
        assert answered.status_code == 201
        assert "location" in answered.headers["access-control-expose-headers"].lower()


async def test_a_client_secret_lets_in_until_it_ends_and_makes_no_other() -> None:
    now_s = 1000.0
    admission = Admission(ApiKeys(frozenset({"secret-key"})), clock=lambda: now_s, unix_clock=lambda: 1.8e9)
    async with browsing(Site(admission)) as http:
        assert (await http.post("/v1/realtime/client_secrets")).status_code == 401
        wanted = {"expires_after": {"anchor": "created_at", "seconds": 30}}
        made = (await http.post("/v1/realtime/client_secrets", json=wanted, headers=KEY)).json()
        assert made["expires_at"] == 1_800_000_030
        assert made["session"]["instructions"] == "Be kind."
        secret = {"authorization": f"Bearer {made['value']}"}
        assert (await http.post("/v1/realtime/client_secrets", headers=secret)).status_code == 401
        response = await http.post("/v1/realtime/calls", content=await offer(http), headers=SDP | secret)
        assert response.status_code == 201
        now_s = 1030.0
        assert (await http.post("/v1/realtime/calls", headers=SDP | secret)).status_code == 401


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"expires_after": {"anchor": "created_at", "seconds": 5}}, "expires_after.seconds"),
        ({"session": {"type": "realtime", "temperature": 3}}, "session.temperature"),
        ({"sessions": {}}, "sessions"),
    ],
)
async def test_a_secret_that_cannot_be_made_says_why(body: dict[str, Any], param: str) -> None:
    async with browsing(Site(Admission())) as http:
        response = await http.post("/v1/realtime/client_secrets", json=body)
        assert (response.status_code, error(response)["param"]) == (400, param)
