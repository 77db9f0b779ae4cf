"""Moves of people and engines in a call, in any order; a move becomes an event where it can."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from call_settings import call_settings, turn_detection
from call_world import POLICY, CallWorld, fragment, speech
from hypothesis import strategies as st

from llmcore.compression.history_budget import HistoryBudget
from llmcore.engine import Tool, ToolCall, Usage
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import MessageItem, ToolOutputItem
from voiceagent.conversation.settings import AgentTool, CallSettings, InferencePause
from voiceagent.conversation.turn_policy import TurnPolicy

WORDS = ("", "yes", "uh huh", "no wait", "is there a pool", "hello")
FILLER = "One moment."
REPLIES = ("RIGHT", "WRONG: It is ten. ", "MORE: And ten. ", "It is ten.")
LEVELS_DB = (None, -20.0, -45.0)
MOVES = (
    "speak", "blip", "louder", "sustain", "prolong", "pause", "resume", "end", "partial", "answer_flush",
    "recognition_fails", "fragment", "sound", "spoken", "generated", "tool", "response_fails", "sent",
    "heard", "respond", "cancel", "commit", "clear", "truncate", "create", "delete", "idle", "summarised",
    "tool_ends", "output", "written", "late", "clip",
    "inference_idle", "wake",
)  # fmt: skip
LOOK = AgentTool(Tool("look", "Looks something up."))
CALLS = st.sampled_from(
    [
        call_settings(),
        call_settings(turn_detection=turn_detection(interrupt_response=False)),
        call_settings(turn_detection=turn_detection(create_response=False)),
        call_settings(output_modality="text"),
        call_settings(turn_detection=None),
        call_settings(agent="Clerk", agent_tools=(LOOK,)),
        call_settings(agent="Clerk", agent_tools=(LOOK,), pause=InferencePause(30.0)),
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
        self.ended_tools: set[str] = set()
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
            while self._running():
                self._tool_ends(0)
            for response_id in list(self.world.working):
                self._all_made(response_id)
            self._review(0)
            self._sent(0)
            self._heard(0)

    def _speak(self, number: int) -> None:
        if self.voice == "silent":
            self.voice = "speaking"
            level_db = LEVELS_DB[number % len(LEVELS_DB)]
            self.world.feed(ev.VoiceNoticed(self.clock_s, level_db))
            self.world.feed(ev.SpeechStarted(self.clock_s, level_db))

    def _blip(self, number: int) -> None:
        if self.voice == "silent":
            self.world.feed(ev.VoiceNoticed(self.clock_s))
            self.world.feed(ev.VoiceFaded(self.clock_s))

    def _louder(self, number: int) -> None:
        if self.voice == "speaking":
            self.world.feed(ev.VoiceLouder(self.clock_s, -5.0 * number))

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
            self.world.feed(ev.TurnEnded(self.clock_s, LEVELS_DB[number % len(LEVELS_DB)]))

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
        for response_id in sorted(set(self.world.working) - self.generated):
            event = make(response_id)
            self.made.append(event)
            self.world.feed(event)
            return

    def _fragment(self, number: int) -> None:
        for response_id in sorted(set(self.world.working) - self.generated):
            if self.sounding.get(response_id, 0) == 0:
                self.sounding[response_id] = 1
                self._of_response(
                    lambda response_id: ev.FragmentReady(response_id, fragment(f"Word {number}. "))
                )
                return

    def _late(self, number: int) -> None:
        """Report a response as late; its filler, if it gets one, is played at once."""
        for response_id in sorted(set(self.world.working) - self.generated):
            if do.Fill(response_id) in self.world.feed(ev.ResponseLate(response_id)):
                self.world.feed(ev.FragmentReady(response_id, fragment(f" {FILLER} "), filler=True))
                self.world.feed(ev.SpeechReady(response_id, speech(0.1 * number)))
                self.world.feed(ev.FragmentSpoken(response_id))
            return

    def _sound(self, number: int) -> None:
        for response_id in sorted(set(self.world.working) - self.generated):
            if self.sounding.get(response_id) and self.world.working[response_id].modality == "audio":
                event = ev.SpeechReady(response_id, speech(0.1 * number))
                self.made.append(event)
                self.world.feed(event)
                return

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
        """Let the model call a tool: the agent's, if it has one, or the client's."""
        name = "look" if self.world.settings.agent_tools and number % 4 else "f"
        calls = tuple(ToolCall("c", name, str(place)) for place in range(1 + number % 2))
        self._of_response(lambda response_id: ev.ToolCallsReady(response_id, calls))

    def _tool_ends(self, number: int) -> None:
        for call_id in self._running()[:1]:
            self.ended_tools.add(call_id)
            self.world.feed(ev.ToolFinished(call_id, "done", "rain", reply=number != 9))

    def _running(self) -> list[str]:
        ran = [one.call.call_id for one in self.world.commands if isinstance(one, do.RunTool)]
        return [call_id for call_id in ran if call_id not in self.ended_tools]

    def _output(self, number: int) -> None:
        self.world.feed(ev.ItemCreated(ToolOutputItem(f"output_{self.clock_s}", "c", "42")))

    def _written(self, number: int) -> None:
        """Report a response's text as complete, equal to its fragments or different from them."""
        texts = ("", "Yes. ", "It is.") if number else ("other words",)
        self._of_response(lambda response_id: ev.ResponseWritten(response_id, texts[number % len(texts)]))

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

    def _clip(self, number: int) -> None:
        self.world.feed(ev.ClipRequested(f"resp_clip_{self.clock_s}"))

    def _inference_idle(self, number: int) -> None:
        self.world.feed(ev.InferenceIdle(self.clock_s))

    def _wake(self, number: int) -> None:
        if self.world.conversation.paused:
            self.world.feed(ev.CallerWoke(self.clock_s))

    def _respond(self, number: int) -> None:
        text = "text" if number == 9 else None
        wanted = ev.ResponseRequested(
            interruptible=number % 2 == 0, in_conversation=number < 8, modality=text
        )
        self.world.feed(wanted)

    def _cancel(self, number: int) -> None:
        self.world.played_s = number / 10
        out_of_band = sorted(self.world.out_of_band & set(self.world.working)) if number > 4 else []
        self.world.feed(ev.ResponseCancelled(out_of_band[0] if out_of_band else None))

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

    def _review(self, number: int) -> None:
        if self.world.reviewing:
            self.world.played_s = number / 10
            self.world.review(None if number == 9 else REPLIES[number % len(REPLIES)])

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
