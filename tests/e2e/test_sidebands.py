"""Sidebands through the unmodified `openai` SDK: a client has the sound, a server controls the call."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from fixed_config import write_config
from openai import AsyncOpenAI
from phone_caller import calling as phone_calling
from phone_lines import Twilio
from rtc_caller import RtcCaller, rtc_calling
from sdk_caller import calling
from served import lent, served
from sidebands import call_id_of, sideband
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

KEY, SECRET_KEY = "sk-owner", "sk-other"
WEATHER = {
    "type": "function",
    "name": "weather",
    "description": "Tells the weather.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}


@pytest_asyncio.fixture(
    scope="module", loop_scope="module", params=[1, 3], ids=["one process", "three workers"]
)
async def shared_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[str]:
    folder = tmp_path_factory.mktemp("sidebands")
    shutil.copy(Path(__file__).with_name("tool_engine.py"), folder)
    config = write_config(
        folder, f'api_keys_env = "KEYS"\nworkers = {request.param}', FixedLlm="tool_engine:ToolLlm"
    )
    text = config.read_text()
    options = (
        "ttft_s = 0.1          # from the request to the first word\nword_s = 0.01         # between words\n"
    )
    assert options in text
    config.write_text(text.replace(options, ""))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KEYS", f"{KEY} {SECRET_KEY}")
        async with served(config) as address:
            yield address


@pytest.fixture
async def address(shared_server: str) -> AsyncIterator[str]:
    """Yield the address of a server that requires keys and whose LLM calls the first tool it is offered."""
    async with lent(shared_server) as address:
        yield address


def owner(**headers: str) -> dict[str, str]:
    return {"authorization": f"Bearer {KEY}", **headers}


async def status_of(address: str, call_id: str, key: str = KEY) -> tuple[int, str]:
    """Return the status and the error of a refused handshake."""
    headers = {"authorization": f"Bearer {key}"}
    with pytest.raises(InvalidStatus) as refused:
        async with connect(f"ws://{address}/v1/realtime?call_id={call_id}", additional_headers=headers):
            pass
    response = refused.value.response
    assert response.headers["content-type"] == "application/json"
    return response.status_code, json.loads(response.body)["error"]["message"].replace(call_id, "ID")


async def secret(address: str, key: str = KEY) -> str:
    sdk = AsyncOpenAI(api_key=key, base_url=f"http://{address}/v1")
    return (await sdk.realtime.client_secrets.create()).value


async def test_tools_and_instructions_are_a_servers_while_a_browser_has_the_sound(address: str) -> None:
    key = await secret(address)
    async with rtc_calling(address, authorization=f"Bearer {key}") as caller:
        call_id = call_id_of(caller.location)
        # the connections may be in different workers
        async with sideband(address, call_id, KEY) as server, sideband(address, call_id, key) as second:
            assert server.events[0]["session"]["id"] == call_id
            await server.connection.session.update(
                session={"type": "realtime", "instructions": "Be kind.", "tools": [WEATHER]}  # type: ignore[list-item]
            )
            for one in (server, second):
                assert (await one.until("session.updated"))["session"]["instructions"] == "Be kind."
            assert (await caller.until("session.updated"))["session"]["tools"][0]["name"] == "weather"
            await server.connection.response.create()
            call = await server.until("response.function_call_arguments.done")
            await server.until("response.done")
            output = {"type": "function_call_output", "call_id": call["call_id"], "output": "sunny"}
            await server.connection.conversation.item.create(item=output)  # type: ignore[arg-type]
            await second.connection.conversation.item.create(item=output)  # type: ignore[arg-type]
            assert "has its output already" in (await second.until("error"))["error"]["message"]
            await server.connection.response.create()
            done = await server.until("response.done", 2)
            assert done["response"]["output"][0]["content"][0]["transcript"] == "It says sunny."
            await caller.until_sound(0.2)
            await server.until("output_audio_buffer.started")
            assert not server.of("response.output_audio.delta"), "sound goes to the caller alone"
            assert not server.of("error"), "an error goes to the sideband that it answers"
            assert not caller.of("error")
        await caller.until("output_audio_buffer.stopped")  # the call continues without its sidebands
        caller.send(type="response.create")
        await caller.until("response.done", 3)


async def test_the_call_s_end_closes_its_sidebands(address: str) -> None:
    async with rtc_calling(address, **owner()) as caller:
        call_id = call_id_of(caller.location)
        headers = {"authorization": f"Bearer {KEY}"}
        url = f"ws://{address}/v1/realtime?call_id={call_id}"
        async with connect(url, additional_headers=headers) as attached:
            await attached.recv()
            hang_up = await caller.http.post(f"/v1/realtime/calls/{call_id}/hangup", headers=headers)
            assert hang_up.status_code == 200
            with pytest.raises(ConnectionClosed) as closed:
                while True:
                    await asyncio.wait_for(attached.recv(), 30)
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1000, "the call has ended")
        assert (await status_of(address, call_id))[0] == 404


async def test_unknown_calls_and_somebody_elses_are_refused_in_the_same_words(
    address: str,
) -> None:
    key, other = await secret(address), await secret(address)
    async with rtc_calling(address, authorization=f"Bearer {key}") as caller:
        call_id = call_id_of(caller.location)
        somebody_elses = await status_of(address, call_id, other)
        assert somebody_elses == await status_of(address, "rtc_unknown", other)
        assert somebody_elses == await status_of(address, "rtc_unknown")
        assert somebody_elses[0] == 404
        assert (await status_of(address, call_id, "sk-wrong"))[0] == 401
        async with sideband(address, call_id, key), sideband(address, call_id, SECRET_KEY):
            pass
        hang_up = f"/v1/realtime/calls/{call_id}/hangup"
        for asking, status in ((other, 404), (key, 200), (key, 200), (other, 404)):
            answer = await caller.http.post(hang_up, headers={"authorization": f"Bearer {asking}"})
            assert answer.status_code == status, "it may be hung up again, and only by whom it is"


async def test_a_sideband_attaches_before_the_caller_is_connected(address: str) -> None:
    async with httpx.AsyncClient(base_url=f"http://{address}", trust_env=False) as http:
        caller = RtcCaller(http)
        try:
            answer = await http.post(
                "/v1/realtime/calls",
                content=await caller.offer(),
                headers=owner(**{"content-type": "application/sdp"}),
            )
            headers = {"authorization": f"Bearer {KEY}"}
            url = f"ws://{address}/v1/realtime?call_id={call_id_of(answer.headers['location'])}"
            async with connect(url, additional_headers=headers) as attached:
                # no wait before this
                update = {"type": "session.update", "session": {"type": "realtime", "instructions": "Hi."}}
                await attached.send(json.dumps(update))
                await attached.send(json.dumps({"type": "response.create"}))
                kinds = [json.loads(await attached.recv()) for _ in range(2)]
                assert [event["type"] for event in kinds] == ["session.created", "session.updated"]
                assert kinds[1]["session"]["instructions"] == "Hi."
                assert kinds[0]["session"]["expires_at"] > time.time(), "as the call's own client is shown it"
                await caller.accept(answer.text)
                created = await caller.until("session.created")
                assert created["session"]["instructions"] == "Hi."
                assert json.loads(await attached.recv())["type"] == "response.created"
                await caller.until("response.done")
        finally:
            await caller.peer.close()


async def test_a_text_is_written_before_the_caller_is_connected(address: str) -> None:
    async with httpx.AsyncClient(base_url=f"http://{address}", trust_env=False) as http:
        caller = RtcCaller(http)
        try:
            answer = await http.post(
                "/v1/realtime/calls",
                content=await caller.offer(),
                headers=owner(**{"content-type": "application/sdp"}),
            )
            call_id = call_id_of(answer.headers["location"])
            async with sideband(address, call_id, KEY) as server:
                await server.connection.session.update(
                    session={"type": "realtime", "output_modalities": ["text"]}
                )
                item: Any = {
                    "type": "message",
                    "role": "user",
                    "content": [{"type": "input_text", "text": "hi"}],
                }
                await server.connection.conversation.item.create(item=item)
                await server.connection.response.create()
                done = await server.until("response.done")
                assert done["response"]["output"][0]["content"] == [
                    {"type": "output_text", "text": "It says hi."}
                ]
            await http.post(f"/v1/realtime/calls/{call_id}/hangup", headers=owner())
        finally:
            await caller.peer.close()


async def test_a_call_over_a_websocket_has_sidebands_too(address: str) -> None:
    async with calling(address, owner()) as caller:
        session_id = (await caller.until("session.created"))["session"]["id"]
        async with sideband(address, session_id, KEY) as server:
            await server.connection.response.create()
            done = await server.until("response.done")
            mine = await caller.until("response.done")
            assert done["response"]["id"] == mine["response"]["id"]
            assert done["response"]["conversation_id"] == mine["response"]["conversation_id"]


async def test_a_phone_call_has_sidebands_and_what_they_asked_for_is_kept(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    config.write_text(f'{config.read_text()}\n[calls]\nfolder = "{tmp_path / "kept"}"\n')
    async with (
        served(config) as address,
        httpx.AsyncClient(base_url=f"http://{address}", trust_env=False) as http,
        phone_calling(Twilio(), f"ws://{address}/telephony/twilio") as caller,
    ):
        async with asyncio.timeout(30):
            while not (kept := (await http.get("/v1/calls?state=running")).json()["calls"]):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        call_id = kept[0]["call_id"]
        async with sideband(address, call_id) as server:
            await server.connection.session.update(session={"type": "realtime", "instructions": "Be kind."})
            await server.connection.response.create()
            await server.until("output_audio_buffer.started")
            await caller.until(lambda: caller.playing_s > 0)
            assert not server.of("response.output_audio.delta")
            await http.post(f"/v1/realtime/calls/{call_id}/hangup")
            await caller.until(lambda: caller.hung_up)
        async with asyncio.timeout(30):
            while (told := (await http.get(f"/v1/calls/{call_id}")).json())["call"]["reason"] is None:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
    asked = [(one["request"], one["sideband"]) for one in told["requests"]]
    assert asked == [("session.update", 1), ("response.create", 1)]
