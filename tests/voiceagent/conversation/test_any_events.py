"""Properties of the conversation for any events: late, repeated, empty, in any order."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from call_settings import call_settings, turn_detection
from call_world import POLICY, RATE_HZ, fragment, of, speech
from hypothesis import example, given, settings
from hypothesis import strategies as st

from llmcore.engine import ToolCall, Usage
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import MessageItem
from voiceagent.conversation.machine import Conversation
from voiceagent.conversation.settings import CallSettings

CALLS = st.sampled_from(
    [
        call_settings(),
        call_settings(turn_detection=turn_detection(kind="semantic_vad")),
        call_settings(output_modality="text"),
        call_settings(turn_detection=None),
    ]
)
IDS = st.integers(1, 4)
ITEMS = IDS.map(lambda number: f"item_{number}")
RESPONSES = IDS.map(lambda number: f"resp_{number}")
SECONDS = st.floats(0.0, 3.0)
LEVELS = st.none() | st.floats(-60.0, 0.0)
TEXTS = st.sampled_from(["", "uh huh", "stop", "is there a pool", "I am coming by car."])
EVENTS: st.SearchStrategy[ev.Event] = st.one_of(
    st.builds(ev.CallStarted, st.sampled_from(["", "Good evening."])),
    st.builds(ev.CallerIdle, SECONDS),
    st.builds(ev.VoiceNoticed, SECONDS, LEVELS, st.booleans()),
    st.builds(ev.VoiceLouder, SECONDS, st.floats(-60, 0)),
    st.builds(ev.VoiceFaded, SECONDS),
    st.builds(ev.SpeechStarted, SECONDS, LEVELS),
    st.builds(ev.SpokeOverAgent, RESPONSES, SECONDS),
    st.builds(ev.EchoMeasured, st.floats(0.0, 1.0)),
    st.builds(ev.InterruptionCandidate, SECONDS),
    st.builds(ev.InterruptionConfirmed, SECONDS),
    st.builds(ev.SpeechPaused, SECONDS),
    st.builds(ev.SpeechResumed, SECONDS),
    st.builds(ev.TurnDue, SECONDS),
    st.builds(ev.TurnEnded, SECONDS, LEVELS, st.none() | SECONDS),
    st.builds(ev.CallsDue, RESPONSES),
    st.builds(ev.TranscriptChanged, ITEMS, TEXTS, TEXTS, st.booleans(), st.none() | st.floats(0, 1)),
    st.builds(ev.TranscriptRevised, ITEMS, TEXTS, st.lists(TEXTS, max_size=2).map(tuple)),
    st.builds(ev.TurnJudged, ITEMS, st.floats(0, 1)),
    st.builds(ev.RecognitionFailed, ITEMS, st.just("it broke")),
    st.builds(ev.FragmentReady, RESPONSES, TEXTS.map(fragment)),
    st.builds(ev.SpeechReady, RESPONSES, SECONDS.map(speech)),
    st.builds(ev.FragmentSpoken, RESPONSES),
    st.builds(ev.ToolCallsReady, RESPONSES, st.just((ToolCall("call", "weather", "{}"),))),
    st.builds(ev.ResponseGenerated, RESPONSES, st.sampled_from(["stop", "length"]), st.just(Usage(9, 0, 1))),
    st.builds(ev.ResponseFailed, RESPONSES, st.just("llm"), st.just("it broke")),
    st.builds(ev.ResponseLate, RESPONSES),
    st.builds(ev.PlayoutSent, RESPONSES),
    st.builds(ev.PlayoutPlayed, RESPONSES),
    st.builds(ev.PlayoutStopped, RESPONSES, SECONDS),
    st.builds(ev.PreemptiveAllowed, st.booleans()),
    st.builds(ev.HistorySummarised, TEXTS),
    st.builds(ev.SettingsChanged, CALLS),
    st.builds(
        ev.ResponseRequested,
        modality=st.sampled_from([None, "text"]),
        interruptible=st.booleans(),
        in_conversation=st.booleans(),
    ),
    st.builds(ev.SpeechRequested, TEXTS, st.booleans()),
    st.builds(ev.ReplyRequested, TEXTS, st.booleans(), st.booleans()),
    st.builds(ev.UpdateRequested, ITEMS, TEXTS),
    st.builds(ev.GuidanceRequested, ITEMS, TEXTS),
    st.builds(ev.ResponseCancelled, st.none() | RESPONSES),
    st.builds(ev.InputCommitted, SECONDS),
    st.just(ev.InputCleared()),
    st.just(ev.OutputCleared()),
    st.builds(ev.ItemCreated, ITEMS.map(lambda item_id: MessageItem(f"made_{item_id}", "user", "typed"))),
    st.builds(ev.ItemDeleted, ITEMS),
    st.builds(ev.ItemTruncated, ITEMS, SECONDS),
)

SCRIPTS = st.lists(EVENTS, max_size=60)
ANSWERED: list[ev.Event] = [
    ev.SpeechStarted(1.0),
    ev.SpeechPaused(2.0),
    ev.TranscriptChanged("item_1", "is there a pool", settled=True),
    ev.TurnEnded(2.0),
    ev.FragmentReady("resp_1", fragment("Yes, there is.")),
    ev.SpeechReady("resp_1", speech(1.0)),
    ev.FragmentSpoken("resp_1"),
]
"""A question whose answer plays."""


@dataclass
class Watched:
    """A conversation, and what became of its responses."""

    call: CallSettings
    preemptive: set[str] = field(default_factory=set)
    active: set[str] = field(default_factory=set)
    out_of_band: set[str] = field(default_factory=set)
    written: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        numbers = {"item": count(1), "resp": count(1), "call": count(1)}
        self.conversation = Conversation(
            self.call, POLICY, RATE_HZ, lambda prefix: f"{prefix}_{next(numbers[prefix])}"
        )

    def feed(self, event: ev.Event) -> list[do.Command]:
        """Take one event in; a response ends where it is released, cancelled or over."""
        commands = self.conversation.handle(event)
        for command in commands:
            match command:
                case do.StartResponse(response_id=response_id, preemptive=True):
                    self.preemptive.add(response_id)
                case do.ReleaseResponse(response_id):
                    self.preemptive.remove(response_id)
                case do.CancelResponse(response_id):
                    self.preemptive.discard(response_id)
                case notify.NotifyResponseStarted(response_id, out_of_band=out_of_band):
                    (self.out_of_band if out_of_band else self.active).add(response_id)
                case notify.NotifyResponseEnded(response_id, out_of_band=out_of_band):
                    (self.out_of_band if out_of_band else self.active).remove(response_id)
                case notify.NotifyResponseText(item_id=item_id, text=text):
                    self.written[item_id] = self.written.get(item_id, "") + text
                case _:
                    pass
            assert len(self.active) <= 1 and len(self.preemptive) <= 1, "two responses at once"
        return commands

    def come_to_rest(self) -> None:
        """The caller falls silent, every engine answers, every sound is played."""
        self.feed(ev.SpeechPaused(9.0))
        self.feed(ev.TurnEnded(9.0))
        for number in range(1, 200):
            self.feed(ev.RecognitionFailed(f"item_{number}", "it broke"))
        for number in range(1, 200):
            response_id = f"resp_{number}"
            self.feed(ev.PlayoutStopped(response_id, 0.0))
            self.feed(ev.ResponseGenerated(response_id, "stop", Usage()))
            self.feed(ev.PlayoutSent(response_id))
            self.feed(ev.PlayoutPlayed(response_id))


def run(call: CallSettings, events: list[ev.Event]) -> Watched:
    watched = Watched(call)
    for event in events:
        watched.feed(event)
    return watched


@settings(max_examples=300)
@given(CALLS, SCRIPTS)
@example(call_settings(), ANSWERED)
def test_no_sequence_of_events_raises_or_makes_two_responses(call: CallSettings, events: list[ev.Event]):
    run(call, events)


@settings(max_examples=300)
@given(CALLS, SCRIPTS)
@example(call_settings(), ANSWERED)
def test_every_response_is_released_cancelled_or_over_in_the_end(call: CallSettings, events: list[ev.Event]):
    watched = run(call, events)
    watched.come_to_rest()
    assert watched.conversation.idle
    assert not watched.active and not watched.preemptive and not watched.out_of_band


@settings(max_examples=300)
@given(CALLS, SCRIPTS)
@example(call_settings(), ANSWERED)
def test_the_history_has_no_word_of_the_agent_that_was_not_written(
    call: CallSettings, events: list[ev.Event]
):
    watched = run(call, events)
    watched.come_to_rest()
    for item in watched.conversation.history.items:
        if isinstance(item, MessageItem) and item.role == "assistant":
            assert watched.written[item.item_id].strip().startswith(item.text)
            assert item.status != "in_progress"


@settings(max_examples=300)
@given(CALLS, SCRIPTS)
@example(call_settings(), ANSWERED)
def test_of_a_response_cut_before_it_played_no_word_is_kept(call: CallSettings, events: list[ev.Event]):
    watched = run(call, events)
    for stop in of(do.StopPlayout, watched.feed(ev.OutputCleared())):
        for cut in of(notify.NotifyItemTruncated, watched.feed(ev.PlayoutStopped(stop.response_id, 0.0))):
            items = watched.conversation.history.items
            assert [item.text for item in items if item.item_id == cut.item_id] in ([""], [])
