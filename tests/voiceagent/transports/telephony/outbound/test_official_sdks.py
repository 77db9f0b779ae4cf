"""Requests for calls, against those that the providers' own SDKs send for the same call.

Versions that these tests were written with: twilio 9.13.0, telnyx 4.189.0, plivo 4.63.0, vonage 4.9.1.
"""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any
from unittest.mock import patch
from urllib.parse import unquote

import httpx
import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from pydantic import TypeAdapter
from simulated_carriers import ENVIRONMENT, TELNYX_KEY

from voiceagent.transports.telephony import plivo as plivo_line
from voiceagent.transports.telephony import telnyx as telnyx_line
from voiceagent.transports.telephony import twilio as twilio_line
from voiceagent.transports.telephony import vonage as vonage_line
from voiceagent.transports.telephony.outbound.carriers.carrier import Dial
from voiceagent.transports.telephony.outbound.carriers.plivo import PlivoCarrier
from voiceagent.transports.telephony.outbound.carriers.telnyx import TelnyxCarrier
from voiceagent.transports.telephony.outbound.carriers.twilio import EVENTS, TwilioCarrier
from voiceagent.transports.telephony.outbound.carriers.vonage import VonageCarrier

URL = "https://agent.example/telephony/x/outbound/call_1"
STREAM = "wss://agent.example/telephony/x/outbound/call_1"
DIAL = Dial("call_1", "+15550123456", "+15550100000", URL, STREAM, 30)


class TwilioHttp:
    """Records the request of Twilio's SDK, and sends nothing."""

    def __init__(self) -> None:
        self.sent: dict[str, Any] = {}

    def request(self, method: str, uri: str, **content: Any) -> Any:
        self.sent.update(method=method, uri=uri, **content)
        raise InterruptedError


def telnyx_client(telnyx: Any) -> tuple[Any, list[httpx.Request]]:
    """Return Telnyx's client, and the list of its requests, each of which succeeds."""
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, json={"data": {"result": "ok"}})

    return telnyx.Telnyx(
        api_key="key", http_client=httpx.Client(transport=httpx.MockTransport(answer))
    ), asked


def test_twilio() -> None:
    rest = pytest.importorskip("twilio.rest")
    ours = TwilioCarrier("https://api.twilio.com", "AC1", "token").request(DIAL)
    assert ours.form is not None
    http = TwilioHttp()
    client = rest.Client("AC1", "token", http_client=http)
    with pytest.raises(InterruptedError):
        client.calls.create(
            to=DIAL.to,
            from_=DIAL.caller,
            twiml=ours.form["Twiml"],
            status_callback=f"{URL}/status",
            status_callback_event=list(EVENTS),
            status_callback_method="POST",
            timeout=30,
        )
    assert (ours.method, ours.url, ours.user) == (http.sent["method"], http.sent["uri"], http.sent["auth"])
    theirs = {
        name: str(value) if isinstance(value, int) else value for name, value in http.sent["data"].items()
    }
    assert {**ours.form, "StatusCallbackEvent": list(EVENTS)} == {k: v for k, v in theirs.items() if v}


def test_telnyx() -> None:
    telnyx = pytest.importorskip("telnyx")
    ours = TelnyxCarrier("https://api.telnyx.com", "key", "token", "c1", TELNYX_KEY.public_key()).request(
        DIAL
    )
    assert ours.json is not None
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, json={"data": {"call_control_id": "v3:1"}})

    client = telnyx.Telnyx(api_key="key", http_client=httpx.Client(transport=httpx.MockTransport(answer)))
    fields = dict(ours.json)
    client.calls.dial(from_=fields.pop("from"), **fields)
    (theirs,) = asked
    assert (ours.method, ours.url) == (theirs.method, str(theirs.url))
    assert ours.json == json.loads(theirs.content)
    assert ours.headers["Authorization"] == theirs.headers["authorization"]
    dialled = telnyx.types.CallDialParams.__annotations__
    assert {"from_" if name == "from" else name for name in ours.json} <= dialled.keys()


def test_plivo() -> None:
    plivo = pytest.importorskip("plivo")
    requests = pytest.importorskip("requests")
    ours = PlivoCarrier("https://api.plivo.com", "MA" + "1" * 18, "token").request(DIAL)
    assert ours.json is not None
    asked: list[Any] = []

    def send(_: Any, request: Any, **__: Any) -> Any:
        asked.append(request)
        raise InterruptedError

    fields = dict(ours.json)
    client = plivo.RestClient("MA" + "1" * 18, "token")
    with patch.object(requests.Session, "send", send), pytest.raises(InterruptedError):
        client.calls.create(from_=fields.pop("from"), to_=fields.pop("to"), **fields)
    (theirs,) = asked
    assert ours.method == theirs.method
    assert ours.url.split("/v1/")[1] == theirs.url.split("/v1/")[1]
    defaults = {
        "error_if_parent_not_found": False,
        "fallback_method": "POST",
        "machine_detection_method": "POST",
        "machine_detection_time": 5_000,
    }
    assert {**defaults, **ours.json} == json.loads(theirs.body)
    basic = b64encode(":".join(ours.user or ()).encode()).decode()
    assert theirs.headers["Authorization"] == f"Basic {basic}"


def test_vonage() -> None:
    models = pytest.importorskip("vonage_voice.models")
    key = load_pem_private_key(ENVIRONMENT["VONAGE_KEY"].encode(), None)
    ours = VonageCarrier("https://api.nexmo.com", "a1", key, "secret").request(DIAL)  # type: ignore[arg-type]
    assert ours.json is not None
    endpoint = models.WebsocketEndpoint(
        uri=STREAM, contentType="audio/l16;rate=16000", authorization={"type": "vonage"}
    )
    theirs = models.CreateCallRequest(
        to=[models.ToPhone(number="15550123456")],
        from_=models.Phone(number="15550100000"),
        ncco=[models.Connect(endpoint=[endpoint], from_="15550100000")],
        event_url=[f"{URL}/status"],
        event_method="POST",
        ringing_timer=30,
    )
    assert ours.json == theirs.model_dump(by_alias=True, exclude_none=True, mode="json")
    assert (ours.method, ours.url) == ("POST", "https://api.nexmo.com/v1/calls")


def test_keys_through_telnyx() -> None:
    telnyx = pytest.importorskip("telnyx")
    ours = telnyx_line.digits_request("https://api.telnyx.com", "v3:1", "key", "1w2#")
    client, asked = telnyx_client(telnyx)
    client.calls.actions.send_dtmf("v3:1", digits="1w2#")
    assert unquote(ours.url) == unquote(str(asked[0].url))
    assert ours.json == json.loads(asked[0].content)


def test_keys_through_plivo() -> None:
    plivo = pytest.importorskip("plivo")
    requests = pytest.importorskip("requests")
    account = "MA" + "1" * 18
    ours = plivo_line.digits_request("https://api.plivo.com", account, "id", "token", "1w2#")
    asked: list[Any] = []

    def send(_: Any, request: Any, **__: Any) -> Any:
        asked.append(request)
        raise InterruptedError

    client = plivo.RestClient(account, "token")
    with patch.object(requests.Session, "send", send), pytest.raises(InterruptedError):
        client.calls.send_digits("id", digits="1w2#", leg="aleg")
    assert ours.url.split("/v1/")[1] == asked[0].url.split("/v1/")[1]
    assert {**(ours.json or {}), "call_uuid": "id"} == json.loads(asked[0].body)


def test_keys_through_vonage() -> None:
    utils = pytest.importorskip("vonage_utils.types")
    ours = vonage_line.digits_request("https://api.nexmo.com", "id", "jwt", "1w2#")
    assert (ours.method, ours.url) == ("PUT", "https://api.nexmo.com/v1/calls/id/dtmf")
    assert ours.json is not None
    assert TypeAdapter(utils.Dtmf).validate_python(ours.json["digits"]) == "1p2#"


def test_twilio_moves_a_call_into_a_conference() -> None:
    rest = pytest.importorskip("twilio.rest")
    ours = twilio_line.conference_request("https://api.twilio.com", "AC1", "CA1", "token", "CA2")
    assert ours.form is not None
    http = TwilioHttp()
    response = pytest.importorskip("twilio.twiml.voice_response").VoiceResponse()
    response.dial().conference("CA2", beep="false", end_conference_on_exit=True)
    client = rest.Client("AC1", "token", http_client=http)
    with pytest.raises(InterruptedError):
        client.calls("CA1").update(twiml=response)
    assert (ours.method, ours.url, ours.user) == (http.sent["method"], http.sent["uri"], http.sent["auth"])
    theirs = {name: str(value) for name, value in http.sent["data"].items() if value}
    theirs["Twiml"] = theirs["Twiml"].removeprefix('<?xml version="1.0" encoding="UTF-8"?>')
    assert ours.form == theirs


def test_telnyx_connects_two_calls() -> None:
    telnyx = pytest.importorskip("telnyx")
    ours = telnyx_line.bridge_request("https://api.telnyx.com", "v3:1", "key", "v3:2")
    client, asked = telnyx_client(telnyx)
    client.calls.actions.bridge("v3:1", call_control_id_to_bridge_with="v3:2")
    assert unquote(ours.url) == unquote(str(asked[0].url))
    assert ours.json == json.loads(asked[0].content)


def test_plivo_moves_a_call_into_a_conference() -> None:
    plivo = pytest.importorskip("plivo")
    response = plivo.plivoxml.ResponseElement()
    response.add(plivo.plivoxml.ConferenceElement("room & 1", end_conference_on_exit=True))
    assert plivo_line.conference_xml("room & 1") == response.to_string(False)


def test_vonage_moves_a_call_into_a_conversation() -> None:
    models = pytest.importorskip("vonage_voice.models")
    ours = vonage_line.conference_request("https://api.nexmo.com", "id", "jwt", "room")
    assert (ours.method, ours.url) == ("PUT", "https://api.nexmo.com/v1/calls/id")
    theirs = models.Conversation(name="room", endOnExit=True).model_dump(by_alias=True, exclude_none=True)
    assert ours.json == {"action": "transfer", "destination": {"type": "ncco", "ncco": [theirs]}}
