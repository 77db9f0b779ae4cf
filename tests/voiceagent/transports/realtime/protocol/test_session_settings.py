"""A session.update changes what it names and nothing else; what the server shows is what is in effect."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from call_settings import call_settings, turn_detection
from hypothesis import given
from hypothesis import strategies as st
from session_updates import OPERATOR, WEATHER, detection, input_, output, update, updated

from audio.pcm import AudioFormat
from llmcore.engine import Tool
from voiceagent.conversation.settings import CallSettings
from voiceagent.transports.realtime.protocol.session_settings import FORMATS, merge_given
from voiceagent.transports.realtime.protocol.shown_session import show_session

SHOP = {"type": "mcp", "server_label": "shop", "server_url": "https://shop.example/mcp"}

# ---- what changes


def test_an_empty_update_changes_nothing() -> None:
    assert updated() == OPERATOR


def test_only_what_is_given_changes() -> None:
    before = call_settings(instructions="Be kind.", voice="ash", tools=(Tool("weather", ""),))
    after = updated(before, instructions="Be brief.")
    assert after == call_settings(instructions="Be brief.", voice="ash", tools=(Tool("weather", ""),))


def test_null_sets_a_field_back_to_what_the_call_began_with() -> None:
    before = updated(instructions="Mine.", max_output_tokens=9, tools=[WEATHER], tool_choice="required")
    after = updated(before, instructions=None, max_output_tokens=None, tools=None, tool_choice=None)
    assert after == OPERATOR


def test_empty_values_clear() -> None:
    before = updated(instructions="Mine.", tools=[WEATHER])
    after = updated(before, instructions="", tools=[])
    assert (after.instructions, after.tools) == ("", ())


def test_tools_are_functions_with_a_schema() -> None:
    assert updated(tools=[WEATHER]).tools == (Tool("weather", "Sky.", {"type": "object"}),)
    assert updated(tools=[{"type": "function", "name": "now"}]).tools == (Tool("now", ""),)


@pytest.mark.parametrize("choice", ["auto", "none", "required"])
def test_tool_choice_has_three_modes(choice: str) -> None:
    assert updated(tools=[WEATHER], tool_choice=choice).tool_choice == choice


def test_tool_choice_may_force_one_function() -> None:
    choice = {"type": "function", "name": "weather"}
    assert updated(tools=[WEATHER], tool_choice=choice).tool_choice == "weather"


@pytest.mark.parametrize("named", [{}, {"name": "search"}])
def test_tool_choice_may_force_the_tools_of_an_mcp_server(named: dict[str, str]) -> None:
    choice = {"type": "mcp", "server_label": "shop", **named}
    after = updated(tools=[SHOP], tool_choice=choice)
    assert show_session("sess_1", after)["tool_choice"] == choice


def test_null_is_no_name_of_a_tool() -> None:
    choice = {"type": "mcp", "server_label": "shop", "name": None}
    shown = show_session("sess_1", updated(tools=[SHOP], tool_choice=choice))["tool_choice"]
    assert shown == {"type": "mcp", "server_label": "shop"}


@pytest.mark.parametrize(
    ("tool", "choice"),
    [
        (WEATHER, {"type": "function", "name": "weather"}),
        (SHOP, {"type": "mcp", "server_label": "shop"}),
    ],
)
@pytest.mark.parametrize("left", [[], None, [{"type": "function", "name": "now"}]])
def test_a_choice_ends_with_the_tool_that_it_forced(
    tool: dict[str, Any], choice: dict[str, str], left: list[Any] | None
) -> None:
    before = updated(tools=[tool], tool_choice=choice)
    assert updated(before, tools=left).tool_choice == "auto"


@pytest.mark.parametrize("choice", ["none", "required"])
def test_a_mode_stays_when_tools_change(choice: str) -> None:
    assert updated(updated(tools=[WEATHER], tool_choice=choice), tools=[]).tool_choice == choice


def test_an_omitted_strength_of_the_noise_reduction_stays() -> None:
    before = updated(**input_(noise_reduction={"type": "far_field", "strength": 0.5}))
    after = updated(before, **input_(noise_reduction={"type": "near_field"}))
    shown = show_session("sess_1", after)["audio"]["input"]["noise_reduction"]
    assert shown == {"type": "near_field", "strength": 0.5}


def test_noise_reduction_that_was_off_begins_anew() -> None:
    before = updated(**input_(noise_reduction={"type": "far_field", "strength": 0.5}))
    off = updated(before, **input_(noise_reduction=None))
    shown = show_session("sess_1", updated(off, **input_(noise_reduction={"type": "far_field"})))
    assert shown["audio"]["input"]["noise_reduction"] == {"type": "far_field"}


def test_a_response_is_spoken_or_written() -> None:
    assert updated(output_modalities=["text"]).output_modality == "text"
    assert updated(output_modalities=["audio"]).output_modality == "audio"


def test_endless_output_is_shown_as_it_was_sent() -> None:
    endless = updated(max_output_tokens="inf")
    assert show_session("s", endless)["max_output_tokens"] == "inf"
    assert show_session("s", updated(max_output_tokens=4096))["max_output_tokens"] == 4096
    assert updated(max_output_tokens=50).max_output_tokens == 50


@pytest.mark.parametrize(
    ("wire", "audio_format"),
    [
        ({"type": "audio/pcm", "rate": 24_000}, AudioFormat.PCM_24K),
        ({"type": "audio/pcm"}, AudioFormat.PCM_24K),
        ({"type": "audio/pcmu"}, AudioFormat.PCMU),
        ({"type": "audio/pcma"}, AudioFormat.PCMA),
    ],
)
def test_each_direction_has_its_format(wire: dict[str, Any], audio_format: AudioFormat) -> None:
    assert updated(**input_(format=wire)).input_format is audio_format
    assert updated(**output(format=wire)).output_format is audio_format


def test_g711_may_be_sent_with_its_rate() -> None:
    """Vercel's AI SDK does, though the types of the API have no such field."""
    session = {"type": "realtime", "audio": {"input": {"format": {"type": "audio/pcma", "rate": 8_000}}}}
    assert merge_given(session, call_settings()).input_format is AudioFormat.PCMA


def test_a_voice_is_kept_by_name() -> None:
    assert updated(**output(voice="marin", speed=1.0)).voice == "marin"
    assert updated(**output(voice={"id": "voice_1"})).voice == "voice_1"


def test_transcripts_are_on_unless_null() -> None:
    off = updated(**input_(transcription=None))
    assert not off.transcribe
    assert updated(off, **input_(transcription={"model": "whisper-1", "language": "en"})).transcribe
    assert not updated(off, instructions="x").transcribe


HINTS: dict[str, Any] = {
    "tracing": "auto",
    "truncation": {"type": "retention_ratio", "retention_ratio": 0.8},
    "parallel_tool_calls": False,
    "reasoning": {"effort": "low"},
}


def test_hints_without_effect_are_shown_as_they_were_sent() -> None:
    settings = updated(**HINTS, **input_(noise_reduction={"type": "near_field"}))
    assert replace(settings, echoed={}, suppress_noise=False) == OPERATOR
    shown = show_session("s", updated(settings, instructions="Be brief."))
    assert {name: shown[name] for name in HINTS} == HINTS
    assert shown["audio"]["input"]["noise_reduction"] == {"type": "near_field"}


@pytest.mark.parametrize("kind", ["near_field", "far_field"])
def test_noise_reduction_suppresses_noise_until_it_is_null(kind: str) -> None:
    settings = updated(**input_(noise_reduction={"type": kind}))
    assert settings.suppress_noise
    assert updated(settings, instructions="Be brief.").suppress_noise
    assert not updated(settings, **input_(noise_reduction=None)).suppress_noise


def test_null_takes_back_a_hint() -> None:
    settings = updated(**HINTS, **input_(noise_reduction={"type": "near_field"}))
    settings = updated(settings, **dict.fromkeys(HINTS), **input_(noise_reduction=None))
    assert show_session("s", settings) == show_session("s", OPERATOR)


def test_a_transcription_is_shown_as_it_was_sent_with_null_for_the_rest() -> None:
    settings = updated(**input_(transcription={"model": "whisper-1", "language": "en"}))
    shown = {"model": "whisper-1", "language": "en", "prompt": None}
    assert show_session("s", settings)["audio"]["input"]["transcription"] == shown
    unnamed = updated(settings, **input_(transcription={}))
    assert show_session("s", unnamed)["audio"]["input"]["transcription"]["model"] == "voiceagent"
    again = updated(settings, **input_(transcription=None))
    assert show_session("s", again)["audio"]["input"]["transcription"] is None


def test_keywords_and_the_names_of_a_prompt_are_expected_of_the_caller() -> None:
    prompt = "Bookings at Oak Hollow and the like."
    settings = updated(**input_(transcription={"keywords": ["Zyntara", " ", "Mr. Quill "], "prompt": prompt}))
    assert settings.likely_phrases == ("Zyntara", "Mr. Quill")
    assert settings.likely_words == ("Oak Hollow", "Bookings", "Hollow", "like")
    shown = show_session("s", settings)["audio"]["input"]["transcription"]
    assert (shown["keywords"], shown["prompt"]) == (["Zyntara", " ", "Mr. Quill "], prompt)


@pytest.mark.parametrize("transcription", [None, {"model": "whisper-1"}])
def test_a_transcription_without_keywords_takes_them_back(transcription: dict[str, str] | None) -> None:
    settings = updated(**input_(transcription={"keywords": ["Zyntara"], "prompt": "Bookings."}))
    settings = updated(settings, **input_(transcription=transcription))
    assert (settings.likely_phrases, settings.likely_words) == ((), ())


def test_an_update_of_other_fields_keeps_the_keywords() -> None:
    settings = updated(**input_(transcription={"keywords": ["Zyntara"]}))
    assert updated(settings, instructions="Be brief.").likely_phrases == ("Zyntara",)


def test_a_voice_is_shown_as_it_was_sent_until_an_agent_brings_its_own() -> None:
    settings = updated(**output(voice={"id": "voice_1"}))
    assert show_session("s", settings)["audio"]["output"]["voice"] == {"id": "voice_1"}
    handed = settings.handed_to("Billing", (), None, "marin")
    assert show_session("s", handed)["audio"]["output"]["voice"] == "marin"


def test_what_a_client_has_not_set_is_shown_as_openai_shows_it() -> None:
    shown = show_session("s", OPERATOR, 1_785_217_650)
    unset = {"tracing": None, "truncation": "auto", "prompt": None, "include": None}
    assert {name: shown[name] for name in unset} == unset
    assert shown["expires_at"] == 1_785_217_650
    assert not {"parallel_tool_calls", "reasoning"} & shown.keys()


@pytest.mark.parametrize("speed", [0.25, 1, 1.5])
def test_the_voice_may_be_slower_or_faster(speed: float) -> None:
    settings = updated(**output(speed=speed))
    assert settings.speed == speed
    assert show_session("s", settings)["audio"]["output"]["speed"] == speed


def test_logprobs_are_asked_for_and_shown() -> None:
    on = updated(include=["item.input_audio_transcription.logprobs"])
    assert on.logprobs
    assert show_session("s", on)["include"] == ["item.input_audio_transcription.logprobs"]
    assert show_session("s", OPERATOR)["include"] is None


def test_latency_events_are_asked_for_in_an_object_of_our_own() -> None:
    on = update(
        '{"type":"session.update","session":{"type":"realtime","voiceagent":{"latency":true}}}', OPERATOR
    )
    assert on.latency_events
    assert show_session("s", on)["voiceagent"] == {"latency": True}
    assert "voiceagent" not in show_session("s", OPERATOR)


# ---- turn detection


def test_a_threshold_and_a_silence_of_zero_are_taken() -> None:
    taken = updated(**detection(type="server_vad", threshold=0, silence_duration_ms=0)).turn_detection
    assert taken is not None
    assert (taken.threshold, taken.silence_s) == (0.0, 0.0)


def test_milliseconds_become_seconds() -> None:
    update = detection(
        type="server_vad",
        threshold=0.7,
        prefix_padding_ms=150,
        silence_duration_ms=350,
        idle_timeout_ms=6000,
        create_response=False,
        interrupt_response=False,
    )
    assert updated(**update).turn_detection == turn_detection(
        "server_vad",
        threshold=0.7,
        prefix_padding_s=0.15,
        silence_s=0.35,
        idle_timeout_s=6.0,
        create_response=False,
        interrupt_response=False,
    )


def test_a_detection_of_the_same_kind_keeps_what_is_not_given() -> None:
    before = updated(**detection(type="server_vad", silence_duration_ms=400))
    after = updated(before, **detection(type="server_vad", threshold=0.7))
    assert after.turn_detection == turn_detection(threshold=0.7, silence_s=0.4)


def test_null_in_a_detection_is_the_servers_own_value() -> None:
    before = updated(**detection(type="server_vad", silence_duration_ms=400, idle_timeout_ms=9000))
    after = updated(before, **detection(type="server_vad", silence_duration_ms=None, idle_timeout_ms=None))
    assert after.turn_detection == OPERATOR.turn_detection


def test_a_detection_of_another_kind_begins_with_the_servers_values() -> None:
    before = updated(**detection(type="server_vad", silence_duration_ms=400, create_response=False))
    after = updated(before, **detection(type="semantic_vad", eagerness="high"))
    assert after.turn_detection == turn_detection(
        "semantic_vad", threshold=0.6, silence_s=0.25, eagerness="high"
    )


def test_null_detection_means_turns_by_hand_and_can_be_undone() -> None:
    manual = updated(**input_(turn_detection=None))
    assert manual.turn_detection is None
    assert updated(manual, **detection(type="server_vad")).turn_detection == OPERATOR.turn_detection


# ---- what the server shows

_NAMES = st.text("abc", min_size=1, max_size=3)
_DETECTIONS = st.one_of(
    st.none(),
    st.builds(
        turn_detection,
        kind=st.just("server_vad"),
        threshold=st.floats(0.1, 0.9),
        prefix_padding_s=st.integers(0, 1000).map(lambda ms: ms / 1000),
        silence_s=st.integers(1, 10_000).map(lambda ms: ms / 1000),
        idle_timeout_s=st.none() | st.integers(1, 60_000).map(lambda ms: ms / 1000),
        create_response=st.booleans(),
        interrupt_response=st.booleans(),
    ),
    st.builds(
        turn_detection,
        kind=st.just("semantic_vad"),
        threshold=st.just(0.6),
        silence_s=st.just(0.25),
        eagerness=st.sampled_from(["low", "medium", "high", "auto"]),
        create_response=st.booleans(),
        interrupt_response=st.booleans(),
    ),
)
_SETTINGS = st.builds(
    call_settings,
    model=_NAMES,
    instructions=st.text(),
    output_modality=st.sampled_from(["audio", "text"]),
    voice=_NAMES,
    tools=st.lists(_NAMES, unique=True, max_size=3).map(
        lambda names: tuple(Tool(name, "", {"type": "object"}) for name in names)
    ),
    tool_choice=st.sampled_from(["auto", "none", "required"]),
    max_output_tokens=st.integers(1, 4096),
    temperature=st.floats(0.1, 2),
    turn_detection=_DETECTIONS,
    input_format=st.sampled_from(list(FORMATS.values())),
    output_format=st.sampled_from(list(FORMATS.values())),
    transcribe=st.booleans(),
    latency_events=st.just(True),
)


@given(_SETTINGS)
def test_a_session_that_is_shown_and_sent_back_is_the_same(settings: CallSettings) -> None:
    shown = show_session("sess_1", settings)
    del shown["id"], shown["object"], shown["expires_at"]
    again = update(json.dumps({"type": "session.update", "session": shown}), OPERATOR)
    assert replace(again, echoed={}) == settings
    assert show_session("sess_1", again) == show_session("sess_1", settings)


def test_a_language_of_the_transcription_is_fixed_where_calls_have_several() -> None:
    several = updated(replace(updated(), language="en"), **input_(transcription={"language": "de-CH"}))
    assert several.fixed_language == "de"
    assert updated(several, **input_(transcription={"model": "whisper-1"})).fixed_language == ""


def test_a_language_of_the_transcription_is_a_hint_where_calls_have_one() -> None:
    assert updated(**input_(transcription={"language": "de"})).fixed_language == ""
