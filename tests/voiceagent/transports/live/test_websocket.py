"""A Live session over a WebSocket, from its first event to its end; the calls behind it are scripted."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import numpy as np
import pytest
from call_settings import call_settings
from live_server import PHRASE, LiveServer, LiveSocket, serving, session
from scripted_call import ScriptedCall
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from audio.pcm import AudioFormat, encode
from audio.wav import wav_bytes
from llmcore.engine import ToolCall
from voiceagent.access.auth import ApiKeys
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import MessageItem, ToolOutputItem
from voiceagent.conversation.settings import InferencePause
from voiceagent.session.call import CallRefused
from voiceagent.transports.live import acknowledgements
from voiceagent.transports.live import call as live_call
from voiceagent.transports.live.protocol import settings as live_settings
from voiceagent.transports.live.protocol.settings import FIRST_SOUND_S

pytestmark = pytest.mark.timeout(30)
FRAME = np.full(480, 7, np.int16)
SOUND = base64.b64encode(FRAME.tobytes()).decode()
WEATHER = {"type": "function", "name": "weather", "description": "Tells.", "parameters": {"type": "object"}}
RESPONSES = {
    "type": "responses",
    "responses": {"model": "gpt-5", "instructions": "Look.", "tools": [WEATHER]},
}


async def close_code(socket: LiveSocket) -> int:
    with pytest.raises(ConnectionClosed) as caught:
        while True:
            await socket.receive()
    assert caught.value.rcvd is not None
    return caught.value.rcvd.code


def delegate(call: ScriptedCall, name: str = "delegate", words: str = "") -> None:
    """Have the model call a function, after some words or none."""
    call.client.notify(notify.NotifyResponseStarted("resp_1", "audio"))
    if words:
        call.client.notify(notify.NotifyResponseText("resp_1", "item_1", None, words))
    call.client.notify(notify.NotifyToolCall("resp_1", "item_2", None, ToolCall("call_1", name, "{}")))
    call.client.notify(notify.NotifyResponseEnded("resp_1", "completed"))


def created(call: ScriptedCall) -> list[Any]:
    """Return the items that the session added to the conversation."""
    return [request.item for request in call.requests if isinstance(request, ev.ItemCreated)]


# ---- the start


async def test_session_begins_with_its_configuration() -> None:
    async with serving() as server, connect(server.url) as websocket:
        socket = LiveSocket(websocket)
        audio = {"format": {"type": "audio/pcmu", "rate": 8_000}, "output": {"voice": "cedar"}}
        config = {"model": "some-model", "instructions": "Be brief.", "audio": audio, "delegation": RESPONSES}
        await socket.send("session.start", event_id="e1", session=config)
        started = await socket.receive()
        assert (started["type"], started["client_event_id"]) == ("session.started", "e1")
        shown = started["session"]
        assert (shown["id"], shown["model"]) == (server.call.call_id, "some-model")
        assert (shown["instructions"], shown["audio"]) == ("Be brief.", audio)
        settings = server.call.settings
        assert settings.instructions == "Be brief.\n\nLook."
        assert settings.input_format is settings.output_format is AudioFormat.PCMU
        assert [tool.name for tool in settings.tools] == ["weather"]
        assert server.call.model == "some-model"


async def test_other_first_event_is_refused_and_the_session_can_still_start() -> None:
    async with serving() as server, connect(server.url) as websocket:
        socket = LiveSocket(websocket)
        await socket.send("session.close", event_id="e1")
        error = (await socket.receive())["error"]
        assert (error["code"], error["client_event_id"]) == ("session_not_started", "e1")
        await socket.send("session.start", session={"model": "m", "voice": "marin"})
        assert (await socket.receive())["error"]["param"] == "session.voice"
        await socket.send("session.start", session={"model": "m"})
        assert (await socket.receive())["type"] == "session.started"
        assert len(server.calls) == 1, "no call is opened for a refused start"


async def test_endless_refused_events_close_the_connection() -> None:
    async with serving() as server, connect(server.url) as websocket:
        socket = LiveSocket(websocket)
        for _ in range(16):
            await socket.send("session.close")
        assert await close_code(socket) == 1008


async def test_wrong_key_is_refused_at_the_handshake() -> None:
    async with serving(ApiKeys(frozenset({"k1"}))) as server:
        with pytest.raises(InvalidStatus) as caught:
            await connect(server.url, additional_headers={"authorization": "Bearer k2"})
        assert caught.value.response.status_code == 401


async def test_secret_with_a_realtime_session_opens_no_live_session() -> None:
    async with serving(ApiKeys(frozenset({"k1"}))) as server:
        secret = server.admission.new_secret({"type": "realtime", "instructions": "Be kind."}, 60.0)
        with pytest.raises(InvalidStatus) as caught:
            await connect(server.url, additional_headers={"authorization": f"Bearer {secret.value}"})
        assert caught.value.response.status_code == 403


async def test_full_server_says_so_and_closes() -> None:
    def full() -> dict[str, Any]:
        raise CallRefused("all 8 calls are taken")

    async with serving(prepare=full) as server, connect(server.url) as websocket:
        socket = LiveSocket(websocket)
        await socket.send("session.start", event_id="e1", session={"model": "m"})
        error = (await socket.receive())["error"]
        assert (error["code"], error["client_event_id"]) == ("call_refused", "e1")
        assert await close_code(socket) == 1013


async def test_storing_is_refused_where_no_calls_are_kept() -> None:
    async with serving(keeps_calls=False) as server, connect(server.url) as websocket:
        socket = LiveSocket(websocket)
        await socket.send("session.start", session={"model": "m", "store": True})
        assert (await socket.receive())["error"]["param"] == "session.store"


async def test_history_is_in_the_conversation_and_the_caller_is_not_greeted() -> None:
    history = [
        {"role": "developer", "content": [{"text": "The caller is Ann."}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "Hello Ann."}]},
    ]
    async with session(input=history) as (server, _):
        assert [(item.role, item.text) for item in created(server.call)] == [
            ("system", "The caller is Ann."),
            ("assistant", "Hello Ann."),
        ]
        assert server.call.greeted is False


async def test_session_without_history_may_be_greeted() -> None:
    async with session() as (server, _):
        assert server.call.greeted is True


# ---- backchannels


@pytest.mark.parametrize(("configured", "used"), [("live", "all"), ("all", "all"), ("off", "off")])
async def test_session_has_backchannels_unless_they_are_off(configured: Any, used: str) -> None:
    settings = call_settings(backchannels=configured)
    async with session(prepare=lambda: {"settings": settings}) as (server, _):
        assert server.call.settings.backchannels == used


async def test_backchannel_is_audio_without_a_transcript() -> None:
    async with session() as (server, socket):
        client = server.call.client
        client.notify(notify.NotifyResponseStarted("resp_1", "audio"))
        client.notify(notify.NotifyResponseText("resp_1", "item_2", None, "Good day."))
        client.play("", FRAME)
        client.play("resp_1", FRAME)
        kinds = [(await socket.receive())["type"] for _ in range(3)]
        assert kinds == ["session.output_audio.delta"] * 2 + ["session.output_transcript.delta"]


# ---- pauses of inference


async def test_pause_of_inference_is_told_and_counted_apart() -> None:
    policy = {"type": "speech", "vad_threshold": 0.8}
    async with session(idle_timeout_s=20, wake_policy=policy) as (server, socket):
        assert server.call.settings.pause == InferencePause(20.0, 0.8)
        assert not socket.events[0]["session"].keys() & {"idle_timeout_s", "wake_policy"}
        server.call.client.notify(notify.NotifyInferencePaused())
        assert (await socket.receive())["type"] == "session.paused"
        server.call.client.notify(notify.NotifyInferenceResumed())
        assert (await socket.receive())["type"] == "session.resumed"
        await socket.send("session.close")
        usage = (await socket.until("session.closed"))["usage"]
        assert usage["seconds"] == usage["active_seconds"] + usage["paused_seconds"]


async def test_session_without_an_idle_timeout_never_pauses() -> None:
    async with session(wake_policy={"type": "speech"}) as (server, _):
        assert server.call.settings.pause is None


# ---- audio and transcripts


@pytest.mark.parametrize(
    ("wire", "audio_format"),
    [
        ({"type": "audio/pcm", "rate": 16_000}, AudioFormat.PCM_16K),
        ({"type": "audio/pcm", "rate": 24_000}, AudioFormat.PCM_24K),
        ({"type": "audio/pcmu", "rate": 8_000}, AudioFormat.PCMU),
        ({"type": "audio/pcma", "rate": 8_000}, AudioFormat.PCMA),
    ],
)
async def test_audio_goes_both_ways_in_each_format(wire: dict[str, Any], audio_format: AudioFormat) -> None:
    async with session(audio={"format": wire}) as (server, socket):
        sound = base64.b64encode(encode(np.zeros(160, np.int16), audio_format)).decode()
        await socket.send("session.input_audio.append", audio=sound)
        await socket.send("session.input_audio.append", event_id="e1", audio=sound)
        await server.call.until(lambda call: call.taken_samples == 320)
        server.call.client.play("resp_1", np.zeros(160, np.int16))
        assert (await socket.receive()) == {"type": "session.output_audio.delta", "delta": sound}


async def test_both_sides_are_transcribed_with_their_times() -> None:
    async with session() as (server, socket):
        client = server.call.client
        client.notify(notify.NotifySpeechStarted("item_1", 0.0))
        client.notify(notify.NotifyTranscript("item_1", "Hello.", True))
        assert (await socket.receive())["delta"] == "Hello."
        client.notify(notify.NotifyResponseStarted("resp_1", "audio"))
        client.notify(notify.NotifyResponseText("resp_1", "item_2", None, "Good day."))
        client.play("resp_1", FRAME)
        said = await socket.until("session.output_transcript.delta")
        assert said["delta"] == "Good"
        assert said["start_ms"] < said["end_ms"]
        client.notify(notify.NotifyResponseEnded("resp_1", "completed"))
        assert (await socket.until("session.output_transcript.delta"))["delta"] == " day."


async def test_muted_caller_is_silent_until_unmuted() -> None:
    async with session() as (server, socket):
        await socket.send("session.input_audio.mute", event_id="e1")
        assert (await socket.receive())["client_event_id"] == "e1"
        await socket.send("session.input_audio.append", audio=SOUND)
        await socket.send("session.input_audio.unmute")
        assert (await socket.receive())["type"] == "session.input_audio.unmuted"
        await socket.send("session.input_audio.append", audio=SOUND)
        await server.call.until(lambda call: len(call.heard) == 2)
        muted, unmuted = server.call.heard
        assert not muted.any()
        assert (unmuted == FRAME).all()


async def test_audio_ahead_of_real_time_is_one_error() -> None:
    async with session(prepare=lambda: {"room_samples": 480}) as (_, socket):
        for _ in range(3):
            await socket.send("session.input_audio.append", audio=SOUND)
        assert (await socket.receive())["error"]["code"] == "input_audio_buffer_overflow"
        await socket.send("session.input_audio.mute")
        assert (await socket.receive())["type"] == "session.input_audio.muted"


async def test_unreadable_audio_is_refused() -> None:
    async with session() as (_, socket):
        await socket.send("session.input_audio.append", event_id="e1", audio="AAA")
        error = (await socket.receive())["error"]
        assert (error["param"], error["client_event_id"]) == ("audio", "e1")


async def test_file_in_place_of_raw_audio_is_refused_by_name_and_not_heard() -> None:
    wav = base64.b64encode(wav_bytes(FRAME, 24_000)).decode()
    async with session() as (server, socket):
        for event_id in ({}, {"event_id": "e1"}):  # the first is short enough for the fast path
            await socket.send("session.input_audio.append", **event_id, audio=wav)
            error = (await socket.receive())["error"]
            assert (error["param"], error["client_event_id"]) == ("audio", event_id.get("event_id"))
            assert "a WAV file" in error["message"]
        await socket.send("session.input_audio.append", audio=SOUND)
        await server.call.until(lambda call: len(call.heard) == 1)
        assert (server.call.heard[0] == FRAME).all()


# ---- context


async def test_instructions_last_for_the_rest_of_the_session() -> None:
    async with session(instructions="Be brief.") as (server, socket):
        await socket.send(
            "session.instructions.append", event_id="e1", content="Be kind.", delegation_id=None
        )
        appended = await socket.receive()
        assert (appended["type"], appended["client_event_id"]) == ("session.instructions.appended", "e1")
        assert server.call.settings.instructions == "Be brief.\n\nBe kind."


async def test_thinking_informs_without_a_response() -> None:
    async with session() as (server, socket):
        await socket.send("session.thinking.append", content="It rains.", delegation_id=None)
        assert (await socket.receive())["type"] == "session.thinking.appended"
        (note,) = created(server.call)
        assert (note.role, "It rains." in note.text) == ("system", True)
        assert not server.call.posted


async def test_commentary_is_a_message_and_a_report() -> None:
    """See `conversation/test_reports.py` for how reports are told, each once."""
    async with session() as (server, socket):
        for content in ("It rains.", "It is cold."):
            await socket.send("session.commentary.append", content=content, delegation_id=None)
            assert (await socket.receive())["type"] == "session.commentary.appended"
        assert [isinstance(item, MessageItem) for item in created(server.call)] == [True, True]
        assert [reply.is_report for reply in server.call.posted] == [True, True]
        assert [reply.fallback for reply in server.call.posted] == ["It rains.", "It is cold."]


@pytest.mark.parametrize("kind", ["thinking", "commentary"])
async def test_context_that_the_history_refuses_is_an_error_and_nothing_else(kind: str) -> None:
    full = notify.NotifyError("limit_exceeded", "the conversation is full", "item", "e1")

    def refuse(call: ScriptedCall, request: ev.ClientRequest) -> None:
        if isinstance(request, ev.ItemCreated):
            call.client.notify(full)

    async with session() as (server, socket):
        server.call.answer = refuse
        await socket.send(f"session.{kind}.append", event_id="e1", content="It rains.", delegation_id=None)
        await socket.send("session.input_audio.mute")
        assert (await socket.receive())["error"]["client_event_id"] == "e1"
        assert (await socket.receive())["type"] == "session.input_audio.muted"
        assert not server.call.posted


# ---- delegation


async def test_client_delegation_is_answered_by_commentary() -> None:
    async with session(delegation={"type": "client", "acknowledgement_delay_ms": 600_000}) as (
        server,
        socket,
    ):
        assert [tool.name for tool in server.call.settings.tools] == ["delegate"]
        delegate(server.call)
        about = (await socket.until("session.delegation.created"))["delegation"]
        assert about["target"] == "client"
        for content in ("It rains.", "All week."):
            await socket.send("session.commentary.append", content=content, delegation_id=about["id"])
            await socket.receive()
        result, more = created(server.call)
        assert (result.call_id, result.output) == ("call_1", "It rains.")
        assert isinstance(result, ToolOutputItem)
        assert isinstance(more, MessageItem)


async def test_call_of_an_invented_tool_is_delegated_to_the_client_too() -> None:
    async with session() as (server, socket):
        delegate(server.call, "book_table")
        about = (await socket.until("session.delegation.created"))["delegation"]
        await socket.send("session.commentary.append", content="Booked.", delegation_id=about["id"])
        await socket.until("session.commentary.appended")
        (result,) = created(server.call)
        assert isinstance(result, ToolOutputItem)


@pytest.mark.parametrize(("delegation", "words_only"), [({"type": "client"}, True), (RESPONSES, False)])
async def test_commentary_of_a_client_that_does_the_work_asks_for_words_only(
    delegation: dict[str, Any], words_only: bool
) -> None:
    async with session(delegation=delegation) as (server, socket):
        await socket.send("session.commentary.append", content="It rains.", delegation_id=None)
        await socket.receive()
        (reply,) = server.call.posted
        assert reply.words_only is words_only


async def test_result_of_a_delegation_asks_for_words_only() -> None:
    async with session(delegation={"type": "client", "acknowledgement_delay_ms": 600_000}) as (
        server,
        socket,
    ):
        delegate(server.call)
        about = (await socket.until("session.delegation.created"))["delegation"]
        await socket.send("session.commentary.append", content="It rains.", delegation_id=about["id"])
        await socket.receive()
        (reply,) = server.call.posted
        assert (reply.words_only, reply.is_report, "It rains." in reply.guidance) == (True, True, True)


async def test_delegation_without_words_is_acknowledged_in_time() -> None:
    async with session(delegation={"type": "client", "acknowledgement_delay_ms": 0}) as (server, _):
        delegate(server.call)
        await server.call.until(lambda call: bool(call.posted))
        assert server.call.posted == [ev.SpeechRequested(PHRASE)]


async def test_first_sound_is_due_so_long_after_the_caller() -> None:
    async with session() as (server, _):
        assert server.call.settings.filler_by_s == FIRST_SOUND_S


async def turn(server: LiveServer, socket: LiveSocket) -> None:
    """End a turn of the caller after a silence of two seconds."""
    client = server.call.client
    for _ in range(20):
        await socket.send("session.input_audio.append", audio=base64.b64encode(bytes(4_800)).decode())
    await server.call.until(lambda call: call.taken_samples == 48_000)
    client.notify(notify.NotifySpeechStarted("item_1", 0.0))
    client.notify(notify.NotifySpeechStopped("item_1", 0.0))


async def test_delegation_of_a_slow_model_is_acknowledged_without_the_usual_delay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live_settings, "ACKNOWLEDGEMENT_DELAY_MS", 600_000)
    async with session() as (server, socket):
        await turn(server, socket)
        delegate(server.call)
        await server.call.until(lambda call: call.posted == [ev.SpeechRequested(PHRASE)])


async def test_delegation_after_the_first_response_has_the_usual_delay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live_settings, "ACKNOWLEDGEMENT_DELAY_MS", 600_000)
    async with session() as (server, socket):
        await turn(server, socket)
        server.call.client.notify(notify.NotifyResponseStarted("resp_0", "audio"))
        server.call.client.notify(notify.NotifyResponseEnded("resp_0", "completed"))
        delegate(server.call)
        await socket.until("session.delegation.created")
        await asyncio.sleep(0.1)
        assert not server.call.posted


async def test_delay_that_the_client_sets_is_kept() -> None:
    async with session(delegation={"type": "client", "acknowledgement_delay_ms": 600_000}) as (
        server,
        socket,
    ):
        await turn(server, socket)
        delegate(server.call)
        await socket.until("session.delegation.created")
        await asyncio.sleep(0.1)
        assert not server.call.posted


async def test_filler_in_the_delegating_response_is_its_acknowledgement() -> None:
    async with session(delegation={"type": "client", "acknowledgement_delay_ms": 0}) as (server, socket):
        client = server.call.client
        client.notify(notify.NotifyResponseStarted("resp_1", "audio"))
        client.notify(notify.NotifyToolCall("resp_1", "item_2", None, ToolCall("call_1", "delegate", "{}")))
        client.notify(notify.NotifyResponseText("resp_1", "item_1", None, PHRASE))
        client.notify(notify.NotifyResponseEnded("resp_1", "completed"))
        await socket.until("session.delegation.created")
        await asyncio.sleep(0.1)
        assert not server.call.posted


async def test_acknowledgement_leaves_the_conversation_once_it_is_spoken() -> None:
    async with session(delegation={"type": "client", "acknowledgement_delay_ms": 0}) as (server, _):
        delegate(server.call)
        await server.call.until(lambda call: bool(call.posted))
        client = server.call.client
        client.notify(notify.NotifyResponseStarted("resp_2", "audio"))
        client.notify(notify.NotifyResponseText("resp_2", "item_3", None, PHRASE))
        client.notify(notify.NotifyResponseEnded("resp_2", "completed"))
        assert server.call.requests[-1] == ev.ItemDeleted("item_3")


def say_phrase(call: ScriptedCall, response_id: str) -> None:
    """Speak the acknowledgement, as a session does that is asked to."""
    call.posted.clear()
    call.client.notify(notify.NotifyResponseStarted(response_id, "audio"))
    call.client.notify(notify.NotifyResponseText(response_id, f"item_of_{response_id}", None, PHRASE))
    call.client.notify(notify.NotifyResponseEnded(response_id, "completed"))


async def test_caller_who_waits_on_hears_the_acknowledgement_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acknowledgements, "AGAIN_S", 0.02)
    async with session(delegation={"type": "client", "acknowledgement_delay_ms": 0}) as (server, socket):
        delegate(server.call)
        about = (await socket.until("session.delegation.created"))["delegation"]
        for number in range(3):
            await server.call.until(lambda call: call.posted == [ev.SpeechRequested(PHRASE)])
            say_phrase(server.call, f"resp_{number + 2}")
        await socket.send("session.commentary.append", content="It rains.", delegation_id=about["id"])
        await socket.until("session.commentary.appended")
        server.call.posted.clear()
        say_phrase(server.call, "resp_9")
        await asyncio.sleep(0.2)
        assert not server.call.posted, "the result has come"


@pytest.mark.parametrize(
    "last",
    [notify.NotifyResponseEnded("resp_1", "completed"), notify.NotifySpeechStopped("item_9", 1.0)],
    ids=["words of the model", "words of the caller"],
)
async def test_acknowledgement_comes_again_after_words_too(
    last: notify.Notification, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acknowledgements, "AGAIN_S", 0.1)
    async with session(delegation={"type": "client", "acknowledgement_delay_ms": 0}) as (server, socket):
        delegate(server.call, words="Let me look.")
        await socket.until("session.delegation.created")
        server.call.client.notify(notify.NotifySpeechStarted("item_9", 1.0))
        await asyncio.sleep(0.2)
        assert not server.call.posted, "nothing over the caller's words"
        server.call.client.notify(last)
        await server.call.until(lambda call: call.posted == [ev.SpeechRequested(PHRASE)])


async def test_no_acknowledgement_follows_words_of_the_model() -> None:
    async with session(delegation={"type": "client", "acknowledgement_delay_ms": 0}) as (server, socket):
        delegate(server.call, words="Let me look.")
        await socket.until("session.delegation.created")
        await asyncio.sleep(0.05)
        assert not server.call.posted


@pytest.mark.parametrize("kind", ["thinking", "commentary"])
async def test_appended_context_cancels_the_acknowledgement(kind: str) -> None:
    async with session(delegation={"type": "client", "acknowledgement_delay_ms": 1000}) as (server, socket):
        delegate(server.call)
        await socket.until("session.delegation.created")
        await socket.send(f"session.{kind}.append", content="It rains.", delegation_id=None)
        await socket.until(f"session.{kind}.appended")
        await asyncio.sleep(1.3)  # the delay is long, as a busy machine appends late
        assert ev.SpeechRequested(PHRASE) not in server.call.posted


async def test_caller_hears_the_acknowledgement_though_only_thinking_follows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(acknowledgements, "AGAIN_S", 0.02)
    async with session(delegation={"type": "client", "acknowledgement_delay_ms": 600_000}) as (
        server,
        socket,
    ):
        delegate(server.call)
        await socket.until("session.delegation.created")
        await socket.send("session.thinking.append", content="It takes a while.", delegation_id=None)
        await server.call.until(lambda call: call.posted == [ev.SpeechRequested(PHRASE)])


async def test_backend_continues_once_all_calls_have_outputs() -> None:
    async with session(delegation=RESPONSES) as (server, socket):
        delegate(server.call, "weather")
        await socket.until("session.delegation.created")
        await socket.send("response.create", event_id="e1")
        error = (await socket.until("error"))["error"]
        assert (error["code"], error["client_event_id"]) == ("function_call_outputs_required", "e1")
        output = {"type": "function_call_output", "call_id": "call_1", "output": "rain"}
        await socket.send("response.item.create", item=output)
        await socket.send("response.create")
        await server.call.until(lambda call: ev.ReplyRequested("", is_report=True) in call.posted)
        (item,) = created(server.call)
        assert (item.call_id, item.output) == ("call_1", "rain")


async def test_output_that_the_history_refuses_may_be_sent_again() -> None:
    full = notify.NotifyError("limit_exceeded", "the conversation is full", "item", "e1")

    def refuse(call: ScriptedCall, request: ev.ClientRequest) -> None:
        if isinstance(request, ev.ItemCreated) and request.client_event_id == "e1":
            call.client.notify(full)

    async with session(delegation=RESPONSES) as (server, socket):
        delegate(server.call, "weather")
        server.call.answer = refuse
        output = {"type": "function_call_output", "call_id": "call_1", "output": "rain"}
        await socket.send("response.item.create", event_id="e1", item=output)
        assert (await socket.until("error"))["error"]["client_event_id"] == "e1"
        await socket.send("response.create", event_id="e2")
        assert (await socket.until("error"))["error"]["code"] == "function_call_outputs_required"
        await socket.send("response.item.create", item=output)
        await socket.send("response.create")
        await server.call.until(lambda call: ev.ReplyRequested("", is_report=True) in call.posted)


async def test_result_that_the_history_refuses_may_be_sent_again() -> None:
    full = notify.NotifyError("limit_exceeded", "the conversation is full", "item", "e1")

    def refuse(call: ScriptedCall, request: ev.ClientRequest) -> None:
        if isinstance(request, ev.ItemCreated) and request.client_event_id == "e1":
            call.client.notify(full)

    async with session(delegation={"type": "client", "acknowledgement_delay_ms": 600_000}) as (
        server,
        socket,
    ):
        delegate(server.call)
        about = (await socket.until("session.delegation.created"))["delegation"]
        server.call.answer = refuse
        append = {"content": "It rains.", "delegation_id": about["id"]}
        await socket.send("session.commentary.append", event_id="e1", **append)
        assert (await socket.until("error"))["error"]["code"] == "limit_exceeded"
        await socket.send("session.commentary.append", event_id="e2", **append)
        await socket.until("session.commentary.appended")
        assert isinstance(created(server.call)[-1], ToolOutputItem)


async def test_events_of_a_requested_response_name_the_request() -> None:
    async with session(delegation=RESPONSES) as (server, socket):
        await socket.send("response.create", event_id="e1")
        await server.call.until(lambda call: bool(call.posted))
        client = server.call.client
        for response_id in ("resp_1", "resp_2"):
            client.notify(notify.NotifyResponseStarted(response_id, "audio"))
            client.notify(
                notify.NotifyToolCall(response_id, "item_1", None, ToolCall("call_1", "weather", "{}"))
            )
            client.notify(notify.NotifyResponseEnded(response_id, "completed"))
        for _ in range(2):
            while (await socket.until("response.event"))["event"]["type"] != "response.completed":
                pass
        named = [event.get("client_event_id") for event in socket.events if event["type"] == "response.event"]
        assert named[0] == "e1"
        assert set(named) == {"e1", None}
        assert named == sorted(named, key=lambda name: name is None), "the model's own response has none"


async def test_update_changes_the_backend_and_nothing_else() -> None:
    async with session(instructions="Be brief.", delegation=RESPONSES) as (server, socket):
        time = {"type": "function", "name": "time", "parameters": {"type": "object"}}
        update = {"delegation": {"type": "responses", "responses": {"tools": [time]}}}
        await socket.send("session.update", event_id="e1", session=update)
        updated = await socket.receive()
        assert (updated["type"], updated["client_event_id"]) == ("session.updated", "e1")
        assert [tool["name"] for tool in updated["session"]["delegation"]["responses"]["tools"]] == ["time"]
        settings = server.call.settings
        assert [tool.name for tool in settings.tools] == ["time"]
        assert settings.instructions == "Be brief.\n\nLook."


async def test_backend_without_a_model_has_the_sessions() -> None:
    delegation = {"type": "responses", "responses": {"instructions": "Look."}}
    async with session(delegation=delegation) as (_, socket):
        started = socket.events[0]["session"]
        assert started["delegation"]["responses"]["model"] == started["model"]
        await socket.send("session.update", session={"delegation": {"type": "responses", "responses": {}}})
        updated = (await socket.receive())["session"]
        assert updated["delegation"]["responses"]["model"] == started["model"]


async def test_kind_of_delegation_cannot_change() -> None:
    async with session() as (_, socket):
        await socket.send("session.update", session={"delegation": {"type": "responses"}})
        assert (await socket.receive())["error"]["param"] == "session.delegation.type"


async def test_tokens_of_tool_servers_are_not_shown() -> None:
    server_tool = {
        "type": "mcp",
        "server_label": "docs",
        "server_url": "https://a.b/mcp",
        "authorization": "t",
    }
    delegation = {"type": "responses", "responses": {"model": "m", "tools": [server_tool]}}
    async with session(delegation=delegation) as (server, socket):
        shown = socket.events[0]["session"]["delegation"]["responses"]["tools"]
        assert shown == [{"type": "mcp", "server_label": "docs", "server_url": "https://a.b/mcp"}]
        assert server.call.settings.mcp_servers[0].headers == (("Authorization", "Bearer t"),)


# ---- the end


async def test_close_is_answered_with_reason_and_usage() -> None:
    async with session() as (server, socket):
        await socket.send("session.close", event_id="e1")
        closed = await socket.receive()
        assert (closed["type"], closed["reason"]) == ("session.closed", "close_requested")
        assert closed["client_event_id"] == "e1"
        assert closed["usage"]["seconds"] >= 0
        assert await close_code(socket) == 1000
        assert server.call.closed


async def test_call_that_breaks_off_on_the_server_is_a_lost_connection() -> None:
    async with session() as (server, socket):
        server.call.over.set()
        assert (await socket.receive())["reason"] == "connection_lost"
        assert await close_code(socket) == 1011


async def test_agent_that_hangs_up_closes_the_session() -> None:
    async with session() as (server, socket):
        server.call.hung_up = "goodbye"
        server.call.over.set()
        assert (await socket.receive())["reason"] == "close_requested"


async def test_second_start_is_refused() -> None:
    async with session() as (_, socket):
        await socket.send("session.start", session={"model": "m"})
        assert (await socket.receive())["error"]["code"] == "session_already_started"


@pytest.mark.parametrize(("store", "kept"), [({"store": True}, True), ({"store": False}, False), ({}, False)])
async def test_session_is_kept_only_with_store(store: dict[str, Any], kept: bool) -> None:
    """The API's default is false."""
    async with session(**store) as (server, _):
        assert server.call.stored is kept


async def test_usage_is_reported_while_the_session_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_call, "USAGE_S", 0.01)
    async with session() as (_, socket):
        for _ in range(2):
            event = await socket.until("session.usage.updated")
            assert event["usage"]["seconds"] >= 0
