"""The webhook of a number, and what Twilio's REST API is asked."""

from __future__ import annotations

from urllib.parse import parse_qs
from xml.etree import ElementTree

import httpx
import pytest
from phone_server import phone_server
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from audio.pcm import AudioFormat
from voiceagent.session.call import CallRefused
from voiceagent.transports.telephony import control
from voiceagent.transports.telephony.control import ControlError
from voiceagent.transports.telephony.provider import Placement
from voiceagent.transports.telephony.stream.serializer import Started
from voiceagent.transports.telephony.twilio import HEADER, TwilioControl, connect_twiml, signature
from voiceagent.transports.telephony.webhook import MAX_FORM

FORM = {"From": "+15550001", "To": "+15550002", "CallSid": "CA1"}
KEY = {"auth_token_env": "TOKEN"}
HERE = Placement()


async def ask(telephony, query="", headers=None, form=FORM, placement=HERE, line="twilio"):
    async with (
        phone_server(telephony, {"TOKEN": "secret"}, placement=placement) as server,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        url = server.url(line).replace("ws://", "http://") + "/voice" + query
        return url, await client.post(url, data=form, headers=headers(url) if headers else None)


def signed(token="secret", url=None):
    def headers(asked):
        return {HEADER: signature(token, url or asked, {name: [value] for name, value in FORM.items()})}

    return headers


async def test_the_stream_is_given_both_numbers_and_the_urls_parameters():
    url, answer = await ask({"twilio": {}}, "?agent=front%20desk")
    assert answer.headers["content-type"].startswith("text/xml")
    stream = ElementTree.fromstring(answer.text).find("./Connect/Stream")
    assert stream is not None
    assert stream.get("url") == url.partition("/voice")[0].replace("http://", "ws://")
    given = {parameter.get("name"): parameter.get("value") for parameter in stream}
    assert given == {"from": "+15550001", "to": "+15550002", "agent": "front desk"}


async def test_the_trace_of_the_webhook_goes_on_in_the_stream():
    _, answer = await ask({"twilio": {}}, headers=lambda _: {"traceparent": "00-a-b-01"})
    assert '<Parameter name="traceparent" value="00-a-b-01"/>' in answer.text


async def test_the_stream_is_at_the_gateway_that_takes_the_call():
    placement = Placement(lambda: "https://other.example")
    _, answer = await ask(
        {"public_url": "https://agent.example", "twilio": {}, "open": ["twilio"]}, placement=placement
    )
    assert 'url="wss://other.example/telephony/twilio"' in answer.text


async def test_a_number_that_asks_by_get_is_told_to_post():
    async with phone_server({"twilio": {}}) as server, httpx.AsyncClient(trust_env=False) as client:
        answer = await client.get(server.url("twilio").replace("ws://", "http://") + "/voice", params=FORM)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert answer.text == "Twilio asks by GET; allowed: POST"


async def test_twilio_is_told_to_go_elsewhere_when_nobody_takes_the_call():
    def refuse():
        raise CallRefused("all 20 calls are taken", retry_after_s=5.0)

    _, answer = await ask({"twilio": {}}, placement=Placement(refuse))
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")


@pytest.mark.parametrize(("token", "status"), [("secret", 404), ("other", 403)])
async def test_who_dials_a_number_whose_url_names_no_agent_is_refused(token, status):
    def check(name):
        raise CallRefused(f"no agent is called {name!r}", 404)

    _, answer = await ask(
        {"twilio": KEY}, headers=signed(token), placement=Placement(check_agent=check), line="twilio/shpo"
    )
    assert answer.status_code == status
    assert ("'shpo'" in answer.text) == (status == 404), "only Twilio is told which agents there are"


@pytest.mark.parametrize(("query", "again"), [("?a=b", "?a=b&retry=1"), ("?retry=2", "?retry=3")])
async def test_a_call_whose_gateway_is_lost_asks_again(query, again):
    public = {"public_url": "https://agent.example", "twilio": KEY}
    url = "https://agent.example/telephony/twilio/voice"
    _, answer = await ask(public, query, headers=signed(url=url + query))
    connect, redirect = ElementTree.fromstring(answer.text)
    assert (connect.tag, redirect.tag, redirect.text) == ("Connect", "Redirect", url + again)


@pytest.mark.parametrize("agent", ["", "/shop"])
async def test_the_stream_of_a_call_that_may_ask_again_names_the_call(agent):
    public = {"public_url": "https://agent.example", "twilio": KEY}
    url = f"https://agent.example/telephony/twilio{agent}/voice"
    _, answer = await ask(public, headers=signed(url=url), line=f"twilio{agent}")
    assert f'url="wss://agent.example/telephony/twilio{agent}/calls/CA1"' in answer.text


@pytest.mark.parametrize(("table", "query"), [(KEY, "?retry=3"), (KEY, "?retry=-1"), ({}, "")])
async def test_a_call_asks_no_more_where_it_did_or_cannot_be_hung_up(table, query):
    url = "https://agent.example/telephony/twilio/voice" + query
    public = {"public_url": "https://agent.example", "twilio": table, "open": ["twilio"]}
    _, answer = await ask(public, query, signed(url=url))
    assert [element.tag for element in ElementTree.fromstring(answer.text)] == ["Connect"]


async def test_the_stream_is_at_the_public_url():
    _, answer = await ask({"public_url": "https://agent.example", "twilio": {}, "open": ["twilio"]})
    assert 'url="wss://agent.example/telephony/twilio"' in answer.text


def test_nothing_can_break_out_of_the_twiml():
    twiml = connect_twiml('wss://h/"><Dial>1</Dial>', {"a": '"/><Dial>2</Dial>'})
    assert [element.tag for element in ElementTree.fromstring(twiml).iter()] == [
        "Response", "Connect", "Stream", "Parameter",
    ]  # fmt: skip


async def test_only_what_twilio_signed_is_answered():
    _, answer = await ask({"twilio": KEY}, headers=signed())
    assert answer.status_code == 200
    for headers in (None, signed("other"), signed(url="http://elsewhere/telephony/twilio/voice")):
        _, answer = await ask({"twilio": KEY}, headers=headers)
        assert answer.status_code == 403


async def test_behind_a_proxy_the_public_url_is_what_was_signed():
    public = "https://agent.example/telephony/twilio/voice"
    _, answer = await ask({"public_url": "https://agent.example", "twilio": KEY}, headers=signed(url=public))
    assert answer.status_code == 200


async def test_a_form_beyond_all_reason_is_refused():
    _, answer = await ask({"twilio": {}}, form={"From": "1" * MAX_FORM})
    assert answer.status_code == 413


@pytest.fixture
def twilio_api(monkeypatch):
    """Stands for Twilio's REST API: keeps the requests, answers `status`."""
    asked: list[tuple[str, str, dict[str, list[str]]]] = []

    async def update(request: Request) -> Response:
        form = parse_qs((await request.body()).decode())
        asked.append((request.url.path, request.headers["authorization"], form))
        return PlainTextResponse("no such call\n", 404 if "gone" in request.url.path else 200)

    app = Starlette(routes=[Route("/{path:path}", update, methods=["POST"])])
    real = control.httpx2.AsyncClient
    transport = control.httpx2.ASGITransport(app)
    monkeypatch.setattr(control.httpx2, "AsyncClient", lambda **options: real(transport=transport, **options))
    return asked


def at_twilio(call_id="CA1"):
    return TwilioControl(
        "https://api.twilio.com", "secret", Started(call_id, AudioFormat.PCMU, AudioFormat.PCMU, "AC1")
    )


async def test_a_call_is_hung_up_by_completing_it(twilio_api):
    await at_twilio().hang_up()
    ((path, authorization, form),) = twilio_api
    assert path == "/2010-04-01/Accounts/AC1/Calls/CA1.json"
    assert authorization == "Basic QUMxOnNlY3JldA=="
    assert form == {"Status": ["completed"]}


async def test_a_caller_is_handed_on_by_twiml_that_dials(twilio_api):
    await at_twilio().transfer("+1555&")
    ((_, _, form),) = twilio_api
    dialled = ElementTree.fromstring(form["Twiml"][0]).find("./Dial")
    assert dialled is not None
    assert dialled.text == "+1555&"


async def test_what_twilio_refuses_is_reported_without_the_key(twilio_api):
    with pytest.raises(ControlError, match="HTTP 404: no such call") as refused:
        await at_twilio("gone").hang_up()
    assert "secret" not in str(refused.value)
