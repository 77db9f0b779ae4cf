"""The session object and the events of transcription sessions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from call_settings import call_settings, turn_detection
from openai.types.realtime import RealtimeTranscriptionSessionCreateResponse

from audio.pcm import AudioFormat
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.settings import CallSettings
from voiceagent.transports.realtime.protocol import client_events, transcription
from voiceagent.transports.realtime.protocol.decode import Decoder
from voiceagent.transports.realtime.protocol.encode import Encoder
from voiceagent.transports.realtime.protocol.errors import RequestError
from voiceagent.transports.realtime.protocol.session_settings import merge_given
from voiceagent.transports.realtime.protocol.shown_session import show_session

TRANSCRIBES = call_settings().as_transcription()


def decoded(event: dict[str, Any], settings: CallSettings = TRANSCRIBES) -> Any:
    return Decoder(settings, lambda prefix: f"{prefix}_1").decode(json.dumps(event), settings)


def updated(settings: CallSettings = TRANSCRIBES, **session: Any) -> CallSettings:
    request = decoded({"type": "session.update", "session": {"type": "transcription", **session}}, settings)
    assert isinstance(request, ev.SettingsChanged)
    return request.settings


@pytest.mark.parametrize("kind", ["server_vad", "semantic_vad", None])
def test_the_session_is_shown_as_the_sdk_knows_it(kind: str | None):
    detection = turn_detection(kind) if kind else None
    shown = show_session("sess_1", call_settings(turn_detection=detection).as_transcription())
    model = RealtimeTranscriptionSessionCreateResponse.model_validate_json(json.dumps(shown), strict=True)
    assert model.object == "realtime.transcription_session"
    assert "output" not in shown["audio"] and "instructions" not in shown
    expected = {"server_vad": 4, "semantic_vad": 2, None: 0}[kind]
    assert len(shown["audio"]["input"]["turn_detection"] or ()) == expected


def test_an_update_of_that_type_makes_a_session_transcribe_and_no_other_type_leads_back():
    settings = updated(call_settings(tools=(), instructions="Be kind."))
    assert settings.only_transcribes
    assert settings.turn_detection is not None and not settings.turn_detection.create_response
    with pytest.raises(RequestError) as refused:
        decoded({"type": "session.update", "session": {"type": "realtime"}}, settings)
    assert refused.value.param == "session.type"
    assert "allowed: 'transcription'" in refused.value.message


@pytest.mark.parametrize("model", ["gpt-realtime-whisper", "gpt-live-transcribe"])
def test_client_ends_turns_of_a_model_without_turn_detection(model: str):
    """LiveKit's STT sends no `turn_detection` for these, and commits."""
    named = {"transcription": {"model": model}}
    assert updated(audio={"input": named}).turn_detection is None
    detecting = updated(audio={"input": {**named, "turn_detection": {"type": "server_vad"}}})
    assert detecting.turn_detection is not None


def test_other_model_leaves_turn_detection_as_it_is():
    settings = updated(audio={"input": {"transcription": {"model": "gpt-4o-transcribe"}}})
    assert settings.turn_detection == TRANSCRIBES.turn_detection


def test_formats_detection_and_logprobs_are_taken():
    detection = {"type": "server_vad", "silence_duration_ms": 300, "create_response": True}
    audio = {"input": {"format": {"type": "audio/pcmu"}, "turn_detection": detection}}
    settings = updated(audio=audio, include=[transcription.LOGPROBS])
    assert settings.input_format is AudioFormat.PCMU
    assert settings.turn_detection is not None
    assert (settings.turn_detection.silence_s, settings.turn_detection.create_response) == (0.3, False)
    assert settings.logprobs
    assert not updated(settings, include=None).logprobs
    by_hand = updated(audio={"input": {"turn_detection": None}})
    assert by_hand.turn_detection is None


@pytest.mark.parametrize(
    ("session", "param"),
    [
        ({"instructions": "Be kind."}, "session.instructions"),
        ({"audio": {"output": {"voice": "alloy"}}}, "session.audio.output"),
        ({"tools": []}, "session.tools"),
        ({"include": ["everything"]}, "session.include[0]"),
    ],
)
def test_what_only_sessions_with_responses_have_is_refused_by_name(session: dict[str, Any], param: str):
    with pytest.raises(RequestError) as refused:
        updated(**session)
    assert refused.value.param == param
    with pytest.raises(RequestError) as before:
        merge_given({"type": "transcription", **session}, call_settings())
    assert before.value.param == param


@pytest.mark.parametrize("kind", sorted(client_events.CLIENT_EVENTS.keys() - set(transcription.EVENTS)))
def test_events_that_need_an_llm_or_a_voice_are_refused(kind: str):
    with pytest.raises(RequestError) as refused:
        decoded({"type": kind, "event_id": "mine"})
    assert refused.value.client_event_id == "mine"
    assert "this is a transcription session; allowed: session.update" in refused.value.message


@pytest.mark.parametrize("kind", transcription.EVENTS)
def test_the_events_of_transcription_sessions_are_events_of_the_protocol(kind: str):
    assert kind in client_events.CLIENT_EVENTS


def test_an_unknown_type_of_session_is_refused_with_those_there_are():
    with pytest.raises(RequestError) as refused:
        merge_given({"type": "translation"}, call_settings())
    assert refused.value.param == "session.type"
    assert "'realtime', 'transcription'" in refused.value.message


@pytest.mark.parametrize(("logprob", "asked"), [(-0.5, True), (None, True), (-0.5, False)])
def test_logprobs_are_sent_where_they_are_asked_for_and_known(logprob: float | None, asked: bool):
    encoder = Encoder("sess_1", "conv_1")
    settings = updated(include=[transcription.LOGPROBS] if asked else None)
    encoder.encode(notify.NotifySettings(settings, created=True))
    (event,) = encoder.encode(notify.NotifyTranscript("item_1", "où", True, 1.0, logprob))
    if not asked:
        assert "logprobs" not in event
    elif logprob is None:
        assert event["logprobs"] is None
    else:
        assert event["logprobs"] == [{"token": "où", "bytes": [111, 195, 185], "logprob": -0.5}]
