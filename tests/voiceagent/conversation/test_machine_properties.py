"""What holds in every call, whatever happens in whatever order. `CallWorld` asserts the rest at every
command.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from call_settings import call_settings, turn_detection
from call_world import POLICY, CallWorld, fragment, speech
from hypothesis import given, settings
from hypothesis import strategies as st

from llmcore.compression.history_budget import HistoryBudget
from llmcore.engine import ToolCall, Usage
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import MessageItem, to_messages
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.turn_policy import TurnPolicy

WORDS = ("", "yes", "uh huh", "no wait", "is there a pool", "hello")
MOVES = (
    "speak", "blip", "sustain", "prolong", "pause", "resume", "end", "partial", "answer_flush",
    "recognition_fails", "fragment", "sound", "spoken", "generated", "tool", "response_fails", "sent",
    "heard", "respond", "cancel", "commit", "clear", "truncate", "create", "delete", "idle", "summarised",
)  # fmt: skip
CALLS = st.sampled_from(
    [
        call_settings(),
        call_settings(turn_detection=turn_detection(interrupt_response=False)),
        call_settings(turn_detection=turn_detection(create_response=False)),
        call_settings(output_modality="text"),
        call_settings(turn_detection=None),
    ]
)
FORGETFUL = replace(POLICY, history=HistoryBudget(max_tokens=20, kept_tokens=5))
"""Old turns are summarised at every occasion."""
SCRIPTS = st.lists(st.tuples(st.sampled_from(MOVES), st.integers(0, 9)), max_size=60)


class Caller:
    """Turns moves into events that a session could post at that moment; a move that is impossible now does
    nothing.
    """

    def __init__(self, world: CallWorld) -> None:
        self.world = world
        self.clock_s = 0.0
        self.voice = "silent"
        self.generated: set[str] = set()
        self.sounding: dict[str, int] = {}
        self.made: list[ev.FragmentReady | ev.SpeechReady | ev.FragmentSpoken | ev.ToolCallsReady] = []

    def move(self, name: str, number: int) -> None:
        """Do one move; late events of dead responses are replayed now and then."""
        self.clock_s += 0.5
        getattr(self, f"_{name}", lambda number: None)(number)
        late = [event for event in self.made if event.response_id not in self.world.live()]
        if number == 9 and late:
            self.world.feed(late[len(late) // 2])

    def finish(self) -> None:
        """Everybody falls silent, every engine answers, every sound is played."""
        if self.voice == "speaking":
            self._pause(0)
        if self.voice == "paused":
            self._end(0)
        for _ in range(12):
            while any(self.world.flushes.values()):
                self._answer_flush(4)
            for response_id in list(self.world.working):
                self._all_made(response_id)
            self._sent(0)
            self._heard(0)

    def _speak(self, number: int) -> None:
        if self.voice == "silent":
            self.voice = "speaking"
            self.world.feed(ev.VoiceNoticed(self.clock_s))
            self.world.feed(ev.SpeechStarted(self.clock_s))

    def _blip(self, number: int) -> None:
        if self.voice == "silent":
            self.world.feed(ev.VoiceNoticed(self.clock_s))
            self.world.feed(ev.VoiceFaded(self.clock_s))

    def _sustain(self, number: int) -> None:
        if self.voice == "speaking":
            self.world.feed(ev.InterruptionCandidate(self.clock_s))

    def _prolong(self, number: int) -> None:
        if self.voice == "speaking":
            self.world.feed(ev.InterruptionConfirmed(self.clock_s))

    def _pause(self, number: int) -> None:
        if self.voice == "speaking":
            self.voice = "paused"
            self.world.feed(ev.SpeechPaused(self.clock_s))

    def _resume(self, number: int) -> None:
        if self.voice == "paused":
            self.voice = "speaking"
            self.world.feed(ev.SpeechResumed(self.clock_s))

    def _end(self, number: int) -> None:
        if self.voice == "paused":
            self.voice = "silent"
            self.world.feed(ev.TurnEnded(self.clock_s))

    def _partial(self, number: int) -> None:
        for item_id in sorted(self.world.recognizing):
            self.world.feed(ev.TranscriptChanged(item_id, WORDS[number % len(WORDS)]))

    def _answer_flush(self, number: int) -> None:
        for item_id, waiting in sorted(self.world.flushes.items()):
            if waiting:
                self.world.flushes[item_id] -= 1
                self.world.feed(ev.TranscriptChanged(item_id, WORDS[number % len(WORDS)], "", True))
                return

    def _recognition_fails(self, number: int) -> None:
        for item_id in sorted(self.world.recognizing):
            self.world.flushes[item_id] = 0
            self.world.feed(ev.RecognitionFailed(item_id, "it broke"))
            return

    def _of_response(self, make: Callable[[str], ev.Event]) -> None:
        for response_id in set(self.world.working) - self.generated:
            event = make(response_id)
            self.made.append(event)
            self.world.feed(event)
            return

    def _fragment(self, number: int) -> None:
        for response_id in set(self.world.working) - self.generated:
            if self.sounding.get(response_id, 0) == 0:
                self.sounding[response_id] = 1
                self._of_response(
                    lambda response_id: ev.FragmentReady(response_id, fragment(f"Word {number}. "))
                )
                return

    def _sound(self, number: int) -> None:
        if any(self.sounding.get(response_id) for response_id in self.world.working):
            self._of_response(lambda response_id: ev.SpeechReady(response_id, speech(0.1 * number)))

    def _spoken(self, number: int) -> None:
        for response_id in self.world.working:
            if self.sounding.get(response_id):
                self.sounding[response_id] = 0
                self._of_response(ev.FragmentSpoken)
                return

    def _generated(self, number: int) -> None:
        if not any(self.sounding.get(response_id) for response_id in self.world.working):
            for response_id in list(self.world.working):
                self._generate(response_id)
                return

    def _generate(self, response_id: str) -> None:
        if response_id not in self.generated:
            self.generated.add(response_id)
            self.world.feed(ev.ResponseGenerated(response_id, "stop", Usage(50, 0, 1)))

    def _tool(self, number: int) -> None:
        self._of_response(lambda response_id: ev.ToolCallsReady(response_id, (ToolCall("c", "f", "{}"),)))

    def _response_fails(self, number: int) -> None:
        for response_id in list(self.world.working):
            self.world.feed(ev.ResponseFailed(response_id, "llm", "it broke"))
            return

    def _sent(self, number: int) -> None:
        for response_id in set(self.world.finished) - set(self.world.ended):
            self.world.feed(ev.PlayoutSent(response_id))

    def _heard(self, number: int) -> None:
        for response_id in set(self.world.finished) & set(self.world.ended):
            self.world.finished.discard(response_id)
            self.world.feed(ev.PlayoutPlayed(response_id))

    def _respond(self, number: int) -> None:
        self.world.feed(ev.ResponseRequested(interruptible=number % 2 == 0, in_conversation=number < 8))

    def _cancel(self, number: int) -> None:
        self.world.played_s = number / 10
        self.world.feed(ev.ResponseCancelled())

    def _commit(self, number: int) -> None:
        self.world.feed(ev.InputCommitted(0.5))
        self.voice = "silent"

    def _clear(self, number: int) -> None:
        self.world.feed(ev.InputCleared())
        self.voice = "silent"

    def _truncate(self, number: int) -> None:
        for item in self.world.conversation.history.items:
            self.world.feed(ev.ItemTruncated(item.item_id, number / 10))

    def _create(self, number: int) -> None:
        self.world.feed(ev.ItemCreated(MessageItem(f"made_{self.clock_s}", "user", "typed")))

    def _delete(self, number: int) -> None:
        if item_id := self.world.conversation.history.last_id():
            self.world.feed(ev.ItemDeleted(item_id))

    def _idle(self, number: int) -> None:
        self.world.feed(ev.CallerIdle(self.clock_s))

    def _summarised(self, number: int) -> None:
        self.world.feed(ev.HistorySummarised(f"Summary {number}." if number else ""))

    def _all_made(self, response_id: str) -> None:
        if self.sounding.get(response_id):
            self.sounding[response_id] = 0
            self.world.feed(ev.FragmentSpoken(response_id))
        self._generate(response_id)


def run(
    settings_of_call: CallSettings, script: list[tuple[str, int]], policy: TurnPolicy = POLICY
) -> CallWorld:
    world = CallWorld(settings_of_call, policy)
    caller = Caller(world)
    for name, number in script:
        caller.move(name, number)
    caller.finish()
    return world


@settings(max_examples=300)
@given(CALLS, SCRIPTS)
def test_every_response_that_began_ends_once_and_the_call_comes_to_rest(call: CallSettings, script):
    world = run(call, script)
    assert sorted(world.begun) == sorted(world.ended)
    assert world.conversation.idle


@settings(max_examples=300)
@given(CALLS, SCRIPTS)
def test_the_prompt_of_every_response_alternates(call: CallSettings, script):
    world = run(call, script, FORGETFUL)
    for command in world.commands:
        if isinstance(command, do.StartResponse):
            roles = [message.role for message in command.request.messages if message.role != "tool"]
            assert all(one != other for one, other in pairwise(roles))


@settings(max_examples=300)
@given(CALLS, SCRIPTS)
def test_the_history_holds_only_what_was_heard(call: CallSettings, script):
    world = run(call, script)
    told = {}
    for command in world.commands:
        if isinstance(command, notify.NotifyResponseText):
            told[command.item_id] = told.get(command.item_id, "") + command.text
    for item in world.conversation.history.items:
        if isinstance(item, MessageItem) and item.role == "assistant":
            words = iter(told.get(item.item_id, "").split())
            assert all(word in words for word in item.text.split()), (
                "a word that was never told, or out of order"
            )
            assert item.status != "in_progress"


def false_end(world: CallWorld) -> list[str]:
    """What the history holds of each response that was taken back and has an item there."""
    ended = [c for c in world.commands if isinstance(c, notify.NotifyResponseEnded) and c.false_end]
    responses = {command.response_id for command in ended}
    told = [
        c for c in world.commands if isinstance(c, notify.NotifyResponseText) and c.response_id in responses
    ]
    items = {command.item_id for command in told}
    return [
        item.text
        for item in world.conversation.history.items
        if isinstance(item, MessageItem) and item.item_id in items
    ]


@settings(max_examples=300)
@given(CALLS, SCRIPTS)
def test_nothing_of_a_response_that_was_taken_back_is_in_the_history(call: CallSettings, script):
    assert not any(false_end(run(call, script)))


def test_such_calls_do_take_responses_back():
    turn = [("speak", 0), ("pause", 0), ("answer_flush", 4), ("fragment", 1), ("sound", 9), ("end", 0)]
    assert false_end(run(call_settings(), [*turn, ("speak", 0), ("prolong", 0)])) == [""]


@settings(max_examples=300)
@given(CALLS, SCRIPTS)
def test_a_preemptive_response_is_silent_until_the_turn_has_ended(call: CallSettings, script):
    world = run(call, script)
    preemptive: set[str] = set()
    ended: set[str] = set()
    turn_of: dict[str, str | None] = {}
    for command in world.commands:
        match command:
            case do.StartResponse(response_id=response_id, turn_id=turn_id, preemptive=True):
                preemptive.add(response_id)
                turn_of[response_id] = turn_id
            case notify.NotifyInputCommitted(item_id):
                ended.add(item_id)
            case do.ReleaseResponse(response_id):
                assert turn_of[response_id] in ended
                preemptive.discard(response_id)
            case (
                do.Play(response_id)
                | notify.NotifyResponseText(response_id)
                | notify.NotifyResponseStarted(response_id)
            ):
                assert response_id not in preemptive
            case _:
                pass


@settings(max_examples=300)
@given(CALLS, SCRIPTS)
def test_no_summary_changes_what_the_client_is_told(call: CallSettings, script):
    told = [
        [repr(c) for c in run(call, script, policy).commands if type(c).__module__ == notify.__name__]
        for policy in (POLICY, FORGETFUL)
    ]
    assert told[0] == told[1]


def test_same_events_same_commands():
    script = [(MOVES[n % len(MOVES)], n % 10) for n in range(200)]
    assert repr(run(call_settings(), script).commands) == repr(run(call_settings(), script).commands)


def test_a_history_of_one_role_becomes_one_message():
    items = [MessageItem("a", "user", "one"), MessageItem("b", "user", "two")]
    assert [message.content for message in to_messages(items)] == ["one two"]
