"""Requests to the REST APIs of Telnyx, Plivo and Vonage."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator

import httpx
import httpx2
import pytest
from phone_server import phone_server
from webhook_receiver import receiving

from audio.pcm import AudioFormat
from voiceagent.transports.telephony import control
from voiceagent.transports.telephony import plivo as plivo_api
from voiceagent.transports.telephony import telnyx as telnyx_api
from voiceagent.transports.telephony import vonage as vonage_api
from voiceagent.transports.telephony.control import ControlError
from voiceagent.transports.telephony.plivo import NONCE_HEADER, PlivoControl, PlivoSerializer, signature
from voiceagent.transports.telephony.stream.serializer import Started

API = "https://api.example"


def test_telnyx_hangs_up_and_transfers_by_call_control():
    request = telnyx_api.hang_up_request(API, "v2:a/b", "key")
    assert (request.method, request.url) == ("POST", f"{API}/v2/calls/v2%3Aa%2Fb/actions/hangup")
    assert request.headers == {"Authorization": "Bearer key"}
    request = telnyx_api.transfer_request(API, "id", "key", "+1555")
    assert request.url == f"{API}/v2/calls/id/actions/transfer"
    assert request.json == {"to": "+1555"}


def test_plivo_hangs_up_and_sends_the_callers_leg_to_other_xml():
    request = plivo_api.hang_up_request(API, "MA1", "id", "token")
    assert (request.method, request.url) == ("DELETE", f"{API}/v1/Account/MA1/Call/id/")
    assert request.user == ("MA1", "token")
    request = plivo_api.transfer_request(API, "MA1", "id", "token", "https://h/x")
    assert request.method == "POST"
    assert request.json == {"legs": "aleg", "aleg_url": "https://h/x", "aleg_method": "POST"}


def test_plivo_transfers_only_where_it_knows_the_way_back():
    started = Started("id", AudioFormat.PCMU, AudioFormat.PCMU, "MA1")
    assert not PlivoControl(API, "token", None, started).transfers
    assert PlivoControl(API, "token", "https://h", started).transfers


async def test_an_api_that_does_not_answer_is_told_in_words(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(control, "TIMEOUT_S", 0.1)
    async with receiving(None) as api:
        with pytest.raises(ControlError, match=r"POST http\S+: nothing came within 0\.1 s"):
            await control.send(control.RestRequest("POST", api.url, json={}))


@pytest.fixture
def no_certificates_read() -> Iterator[None]:
    control._certificates.cache_clear()
    yield
    control._certificates.cache_clear()


async def test_certificates_are_read_once_and_outside_the_event_loop(
    monkeypatch: pytest.MonkeyPatch, no_certificates_read: None
):
    threads: list[int] = []

    def read() -> ssl.SSLContext:
        threads.append(threading.get_ident())
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    monkeypatch.setattr(httpx2, "create_ssl_context", read)
    async with receiving() as api:
        for _ in range(2):
            await control.send(control.RestRequest("POST", api.url, json={}))
    assert len(threads) == 1
    assert threading.get_ident() not in threads


async def test_plivo_is_not_asked_to_dial_what_its_way_back_would_refuse():
    started = Started("id", AudioFormat.PCMU, AudioFormat.PCMU, "MA1")
    control = PlivoControl(API, "token", "https://h", started, frozenset({"+1555"}))
    with pytest.raises(ControlError, match="Plivo dials the numbers of"):
        await control.transfer("+1900")


def test_vonage_hangs_up_and_transfers_by_an_update():
    request = vonage_api.hang_up_request(API, "id", "jwt")
    assert (request.method, request.url) == ("PUT", f"{API}/v1/calls/id")
    assert request.json == {"action": "hangup"}
    request = vonage_api.transfer_request(API, "id", "jwt", "+1555")
    assert request.json is not None
    (action,) = request.json["destination"]["ncco"]
    assert action == {"action": "connect", "endpoint": [{"type": "phone", "number": "1555"}]}


@pytest.mark.parametrize(("to", "status"), [("+1555", 200), ("+1900", 400)])
async def test_plivo_dials_only_those_who_may_be_dialled(to, status):
    telephony = {"transfers": {"desk": "+1555"}, "plivo": {"auth_token_env": "TOKEN"}}
    async with (
        phone_server(telephony, {"TOKEN": "secret"}) as server,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        url = f"http://127.0.0.1:{server.port}/telephony/plivo/transfer?to=%2B{to[1:]}"
        assert (await client.post(url, data={"a": "b"})).status_code == 403
        signed = signature("secret", url, {"a": ["b"]}, "n1")
        headers = {"x-plivo-signature-v3": signed, NONCE_HEADER: "n1"}
        answer = await client.post(url, data={"a": "b"}, headers=headers)
        assert answer.status_code == status
        assert (f"<Number>{to}</Number>" in answer.text) == (status == 200)


def test_closing_the_stream_is_no_hang_up_of_its_own():
    assert PlivoSerializer().hang_up() is None
