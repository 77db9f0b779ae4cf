"""Events of any call's conversation are valid and in a valid order on the wire."""

from __future__ import annotations

import json
import typing

import numpy as np
from call_settings import call_settings, turn_detection
from call_world import CallWorld, fragment, speech
from hypothesis import given, settings
from hypothesis import strategies as st
from openai_types import proved
from response_order import ResponseOrder

from llmcore.engine import ToolCall, Usage
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import MessageItem
from voiceagent.conversation.settings import CallSettings
from voiceagent.transports.realtime.protocol.encode import Encoder

NOTICES = typing.get_args(notify.Notification)
MOVES = (
    "say", "speak_over", "words", "tool", "generated", "fail", "sent", "heard",
    "respond", "respond_aside", "cancel", "truncate", "write", "retrieve", "delete",
)  # fmt: skip
CALLS = st.sampled_from(
    [
        call_settings(),
        call_settings(output_modality="text"),
        call_settings(turn_detection=turn_detection(interrupt_response=False)),
    ]
)


def move(world: CallWorld, name: str, number: int) -> None:
    """Let one thing happen; what is impossible now does nothing."""
    making = next(iter(set(world.working) - set(world.finished)), "")
    item_id = world.conversation.history.last_id() or "none"
    match name:
        case "say" if not world.recognizing:
            world.say("is there a pool", float(number))
        case "speak_over" if not world.recognizing:
            world.begin_speaking(float(number))
            world.feed(ev.InterruptionCandidate(number + 0.5))
            world.feed(ev.SpeechPaused(number + 1.0))
            for turn in sorted(world.recognizing):
                world.feed(ev.TranscriptChanged(turn, "no wait", "no wait", True))
            world.feed(ev.TurnEnded(number + 1.0))
        case "words" if making:
            world.feed(ev.FragmentReady(making, fragment(f"Word {number}. ")))
            if world.working[making].modality == "audio":
                world.feed(ev.SpeechReady(making, speech(0.3)))
                world.feed(ev.FragmentSpoken(making))
        case "tool" if making:
            world.feed(ev.ToolCallsReady(making, (ToolCall(f"call_{number}", "weather", "{}"),)))
        case "generated" if making:
            world.feed(ev.ResponseGenerated(making, "length" if number == 5 else "stop", Usage(1, 0, 1)))
        case "fail" if making:
            world.feed(ev.ResponseFailed(making, "llm", "it broke"))
        case "sent" | "heard":
            for response_id in sorted(world.finished):
                world.feed(ev.PlayoutSent(response_id) if name == "sent" else ev.PlayoutPlayed(response_id))
        case "respond":
            world.feed(ev.ResponseRequested(metadata={"number": str(number)}))
        case "respond_aside":
            world.feed(ev.ResponseRequested(in_conversation=False, modality="text"))
        case "cancel":
            world.feed(ev.ResponseCancelled())
        case "truncate":
            world.feed(ev.ItemTruncated(item_id, number / 10))
        case "write":
            world.feed(ev.ItemCreated(MessageItem(f"made_{len(world.commands)}", "user", "typed")))
        case "retrieve":
            world.feed(ev.ItemRetrieved(item_id))
        case "delete":
            world.feed(ev.ItemDeleted(item_id))


@settings(max_examples=200, deadline=None)
@given(CALLS, st.lists(st.tuples(st.sampled_from(MOVES), st.integers(0, 9)), max_size=40))
def test_any_call_is_lawful_on_the_wire(call: CallSettings, script: list[tuple[str, int]]) -> None:
    world = CallWorld(call)
    for name, number in script:
        move(world, name, number)
    encoder, order = Encoder("sess_1", "conv_1"), ResponseOrder()
    for command in [notify.NotifySettings(call, created=True), *world.commands]:
        if isinstance(command, NOTICES):
            events = encoder.encode(command)
            assert events, f"{command} is lost on the wire"
            for event in events:
                order.take(proved(event))
        elif isinstance(command, do.Play):
            sound = encoder.encode_audio(command.response_id, np.zeros(480, np.int16))
            assert sound is not None, "sound came before its words"
            order.take(proved(json.loads(sound)))
    assert set(order.open) <= world.live() | world.out_of_band, "a response ended, its response did not"
