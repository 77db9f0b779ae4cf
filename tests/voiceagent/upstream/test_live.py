"""Translation between the Live API and the Realtime API, event by event."""

from __future__ import annotations

from typing import Any

import pytest
from call_settings import call_settings
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.conversation.client_requests import ResponseRequested
from voiceagent.conversation.history import MessageItem
from voiceagent.upstream import messages
from voiceagent.upstream.live.api import ANSWER, STOPPED, LiveApi
from voiceagent.upstream.live.session import PIECE_CHARACTERS, pieces
from voiceagent.upstream.messages import Event, Wait


def opened(**session: Any) -> LiveApi:
    """Return the translation of a session that has started. session: changes of its settings."""
    numbers = iter(range(1_000))
    api = LiveApi(lambda prefix: f"{prefix}_{next(numbers)}", "gpt-live-1", "gpt-5")
    [start] = api.opening(update(**session), [])
    assert start["type"] == "session.start"
    return api


def update(claimed: bool = False, **session: Any) -> Event:
    """Return our event with settings."""
    event = messages.session_update(call_settings(), "", claimed)
    return event | {"session": event["session"] | {"instructions": "Be brief."} | session}


def events(made: list[Event | Wait]) -> list[Event]:
    return [one for one in made if not isinstance(one, Wait)]


def kinds(made: list[Event | Wait]) -> list[str]:
    return [str(one["type"]) for one in events(made)]


def sound(voiced: bool, seconds: float = 0.0) -> Event:
    """Return an event with audio of this length, at least a sample."""
    delta = "AAAA" * max(1, round(seconds * 16_000))  # 3 bytes each, at 48,000 a second
    return {"type": "session.output_audio.delta", "delta": delta, "voiced": voiced}


def words(side: str, delta: str) -> Event:
    return {"type": f"session.{side}_transcript.delta", "delta": delta, "start_ms": 100, "end_ms": 400}


def test_streamed_silence_is_no_response() -> None:
    api = opened()
    assert api.ignores(sound(voiced=False))
    assert kinds(api.incoming(sound(voiced=True)))[0] == "response.created"
    assert not api.ignores(sound(voiced=False)), "a pause between words is played"
    assert kinds(api.waited("output")) == ["response.done"]
    assert api.ignores(sound(voiced=False))


def test_gap_in_the_audio_is_no_end_of_the_response() -> None:
    api = opened()
    [created] = events(api.incoming(sound(voiced=True)))[:1]
    assert kinds(api.waited("gap")) == []
    more = events(api.incoming(sound(voiced=True)))
    assert [one["type"] for one in more] == ["response.output_audio.delta"]
    assert more[0]["response_id"] == created["response"]["id"]


def test_silence_that_is_streamed_ends_the_response() -> None:
    api = opened()
    api.incoming(sound(voiced=True))
    ends = [kinds(api.incoming(sound(voiced=False, seconds=0.2)))[1:] for _ in range(3)]
    assert ends == [[], [], ["response.done"]]


def test_speech_after_a_pause_between_words_begins_the_silence_again() -> None:
    api = opened()
    for _ in range(3):
        api.incoming(sound(voiced=True))
        assert "response.done" not in kinds(api.incoming(sound(voiced=False, seconds=0.5)))


@pytest.mark.parametrize(
    ("event", "following"),
    [
        (
            {"type": "session.input_transcript.delta", "delta": "Yes", "start_ms": 1, "end_ms": 2},
            "input_audio",
        ),
        (
            {
                "type": "response.event",
                "delegation_id": "d",
                "event": {"type": "response.failed", "response": {"error": {"message": "full"}}},
            },
            "response.created",
        ),
    ],
)
def test_interrupted_response_ends_before_words_of_the_caller_and_calls(event: Event, following: str) -> None:
    api = opened()
    api.incoming(sound(voiced=True))
    api.waited("gap")
    ended = kinds(api.incoming(event))
    assert ended[0] == "response.done"
    assert ended[1].startswith(following)
    assert kinds(api.waited("output")) == []


def test_requested_speech_does_not_continue_an_interrupted_response() -> None:
    api = opened()
    api.incoming(sound(voiced=True))
    api.waited("gap")
    api.outgoing(messages.response_created())
    assert kinds(api.incoming(sound(voiced=True)))[:2] == ["response.done", "response.created"]


def test_words_over_the_agent_are_announced_only_after_it_has_stopped() -> None:
    """The backend decides itself what interrupts it."""
    api = opened()
    api.incoming(sound(voiced=True))
    assert "input_audio_buffer.speech_started" not in kinds(api.incoming(words("input", "mhm")))
    assert kinds(api.waited("output")) == ["response.done", "input_audio_buffer.speech_started"]


def test_backchannel_of_the_caller_stops_nothing() -> None:
    api = opened()
    api.incoming(sound(voiced=True))
    api.incoming(words("input", "mhm"))
    ended = kinds(api.waited("turn"))
    assert ended[0] == "input_audio_buffer.committed"
    assert ended[-1] == "conversation.item.input_audio_transcription.completed"
    assert "input_audio_buffer.speech_started" not in ended + kinds(api.waited("output"))


def test_late_words_of_a_turn_belong_to_it() -> None:
    api = opened()
    api.incoming(words("input", "One"))
    api.incoming(sound(voiced=True))
    api.incoming(words("input", " tuna."))
    completed = events(api.waited("turn"))[-1]
    assert completed["transcript"] == "One tuna."


def test_request_that_the_model_does_not_speak_to_ends() -> None:
    api = opened()
    asked = api.outgoing(messages.exact_speech("Hello."))
    assert kinds(asked) == ["session.commentary.append"]
    assert kinds(api.waited("request")) == ["response.created", "response.done"]
    assert api.waited("request") == []


def test_answer_is_asked_of_the_backend_only_if_it_waits_for_results() -> None:
    api = opened()
    asked = messages.response_created()
    assert [one.get("content") for one in events(api.outgoing(asked))] == [ANSWER]
    output = {"type": "function_call_output", "call_id": "c", "output": "rain", "id": "i"}
    api.outgoing({"type": "conversation.item.create", "item": output})
    assert kinds(api.outgoing(asked | {"event_id": "e1"})) == ["response.create"]


def test_guidance_is_sent_without_the_instructions_that_the_session_has() -> None:
    api = opened()
    [append] = events(api.outgoing(messages.guided_response("Be brief.\n\nAsk for the name.")))
    assert append["content"] == "Ask for the name."


@pytest.mark.parametrize(
    ("role", "kind"), [("user", "thinking"), ("assistant", "thinking"), ("system", "instructions")]
)
def test_item_that_is_added_is_context(role: Any, kind: str) -> None:
    item = MessageItem("i", role, "My number is 5.")
    [append] = events(opened().outgoing(messages.item_created(item)))
    assert append["type"] == f"session.{kind}.append"
    assert "My number is 5." in append["content"]


def test_change_of_agent_appends_instructions_and_updates_the_tools() -> None:
    made = events(opened().outgoing(update(instructions="Sell pizza.")))
    assert [one["type"] for one in made] == ["session.instructions.append", "session.update"]
    assert "Sell pizza." in made[0]["content"]
    assert made[1]["session"].keys() == {"delegation"}, "no more can change"


def test_agent_that_handles_turns_itself_keeps_the_model_silent() -> None:
    api = opened()
    assert "do not answer" in events(api.outgoing(update(claimed=True)))[0]["content"]
    assert "answer the caller by yourself again" in events(api.outgoing(update()))[0]["content"]


def test_cancelled_speech_is_reported_to_the_model() -> None:
    [append] = events(opened().outgoing({"type": "response.cancel"}))
    assert append["content"] == STOPPED


def test_function_calls_of_a_response_that_failed_do_not_run() -> None:
    api = opened()
    call = {"id": "i", "type": "function_call", "call_id": "c", "name": "add", "arguments": "{}"}
    for nested in (
        {"type": "response.output_item.done", "item": call},
        {"type": "response.failed", "response": {"error": {"code": "server_error", "message": "full"}}},
    ):
        made = api.incoming({"type": "response.event", "delegation_id": "d", "event": nested})
    assert kinds(made) == ["response.created", "response.done"]
    ended = messages.read_end(events(made)[-1]["response"])
    assert (ended.status, ended.reason) == ("failed", "full")


@pytest.mark.parametrize(
    "request_",
    [
        messages.response_created(ResponseRequested(in_conversation=False)),
        messages.response_created(ResponseRequested(modality="text")),
        update(audio={"input": {"turn_detection": None}}),
    ],
)
def test_what_the_api_cannot_do_is_refused(request_: Event) -> None:
    assert "Live API upstream" in str(opened().refusal(request_))


@given(st.text(alphabet="ab. \n", max_size=5_000))
def test_long_text_is_appended_in_pieces_without_loss(text: str) -> None:
    made = pieces(text)
    assert all(0 < len(piece) <= PIECE_CHARACTERS for piece in made)
    assert "".join("".join(made).split()) == "".join(text.split())
