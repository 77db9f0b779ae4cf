"""Responses of a backend, which are generated faster than they are played, one after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from audio.pcm import Samples
from audio.synthesizers import Speech
from llmcore.engine import ToolCall, Usage
from voiceagent.conversation import commands as do
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import History, MessageItem, ToolCallItem
from voiceagent.conversation.settings import AgentTool
from voiceagent.upstream import messages
from voiceagent.upstream.messages import UPSTREAM_HZ, Action, Event

_CHARACTERS_A_SECOND = 15.0
"""Speaking rate of English, pauses included."""
MAX_RESPONSES = 100
"""Responses in progress, one playing and the others waiting."""
MAX_SOUND_S = 600.0
"""Longest audio of a response: 29 MB. Longer ones never end."""
MAX_CHARACTERS = 100_000
"""Longest text of a response."""
MAX_TOOL_CALLS = 128
"""Tool calls of a response."""


@dataclass(slots=True)
class Response:
    """A response in progress.

    text: complete text so far. sound_s: seconds of audio so far. ended: its end, once generated. when_played:
    tools to run after playout. waiting: its audio while another is played. lost: its connection was lost.
    """

    response_id: str
    item_id: str = ""
    text: str = ""
    sound_s: float = 0.0
    ended: notify.NotifyResponseEnded | None = None
    tool_calls: int = field(default=0, init=False)
    when_played: list[ToolCall] = field(default_factory=list)
    waiting: list[Samples] = field(default_factory=list)
    lost: bool = False

    @property
    def usage(self) -> Usage:
        """Its usage, which the backend reports when all is generated, long before it is played."""
        return Usage() if self.ended is None else self.ended.usage

    def heard(self, played_s: float) -> str:
        """Return the words heard within `played_s`: the same share of the text as of the audio, whole words
        only.

        While a response is generated, its audio may arrive long after its text.
        """
        over = self.ended is not None and self.ended.status == "completed"
        whole_s = self.sound_s if over else max(self.sound_s, len(self.text) / _CHARACTERS_A_SECOND)
        if whole_s <= 0 or played_s >= whole_s:
            return self.text if played_s > 0 else ""
        end = int(len(self.text) * played_s / whole_s)
        return self.text[:end].rpartition(" ")[0].rstrip()


@dataclass(frozen=True, slots=True)
class Cut:
    """A response that was cut.

    heard_s: seconds that were played. when_played: its tools that waited for playout, and must not run.
    usage: as far as reported. lost: see `Response`. notified: the client knows of its end.
    """

    response_id: str
    item_id: str
    heard_s: float
    text: str
    when_played: tuple[ToolCall, ...]
    usage: Usage
    lost: bool
    notified: bool


class Responses:
    """Responses of a call in progress; the first one is being played. history: the call's.

    running: ids of the agent's tool calls without a result. heard: for each `ResponseConcluded` the message
    as heard, even if the history no longer has it; the executor of that command takes it from here.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        self._all: deque[Response] = deque()
        self.running: set[str] = set()
        self.heard: deque[MessageItem] = deque()
        self._notified_id = ""  # id of the response being played whose end was notified

    def __bool__(self) -> bool:
        return bool(self._all)

    @property
    def playing(self) -> Response | None:
        """The response being played, or next to play."""
        return self._all[0] if self._all else None

    def get(self, response_id: str) -> Response | None:
        """Return the response of this id; None if it is over or was cut."""
        return next((one for one in self._all if one.response_id == response_id), None)

    @property
    def sound_s(self) -> float:
        """Seconds of audio of all responses in progress, the played part of the first included."""
        return sum(one.sound_s for one in self._all)

    def begin(self, begun: Event) -> list[Action]:
        """Add a response that the backend began. Raise ValueError if too many are in progress."""
        if len(self._all) >= MAX_RESPONSES:
            raise ValueError(f"{MAX_RESPONSES} responses are in progress")
        self._all.append(Response(begun["id"]))
        return [notify.NotifyResponseStarted(begun["id"], (begun.get("output_modalities") or ["audio"])[0])]

    def on_event(self, kind: str, event: Event, tools: Sequence[AgentTool]) -> list[Action]:
        """Process an event of a response. tools: those run here. Raise ValueError if it is too long."""
        response_id = messages.response_id_of(event)
        response = self.get(response_id)
        if response is None:  # cut here: ignore the rest
            return []
        match kind:
            case "response.output_audio.delta":
                return self.play(response_id, messages.read_sound(event))
            case "response.output_audio_transcript.delta" | "response.output_text.delta":
                return self._on_text(response, event["item_id"], event["delta"])
            case "response.output_item.done":
                item = messages.read_item(event["item"])
                return self._on_tool_call(response, item, tools) if isinstance(item, ToolCallItem) else []
            case "response.done":
                return self.ended(response, messages.read_end(event["response"]))
            case _:
                return []

    def usages(self) -> dict[str, Usage]:
        """Return the usage of each response by id."""
        return {one.response_id: one.usage for one in self._all}

    def lost(self) -> list[Response]:
        """Mark all responses as lost and return the incomplete ones."""
        for one in self._all:
            one.lost = True
        return [one for one in self._all if one.ended is None]

    def ended(self, response: Response, ended: notify.NotifyResponseEnded) -> list[Action]:
        """Handle the end of a response's generation."""
        response.ended = ended
        if response is not self.playing:
            return []
        if response.sound_s == 0:
            return [ended, *self.played(response)]
        if ended.status == "cancelled":
            return [do.StopPlayout(response.response_id, "upstream")]
        return [do.FinishPlayout(response.response_id)]

    def sent(self, response_id: str) -> list[Action]:
        """Notify the client of the end of a response whose audio was all sent."""
        response = self.get(response_id)
        if response is None or response.ended is None:
            return []
        self._notified_id = response_id
        return [response.ended]

    def played(self, response: Response) -> list[Action]:
        """Handle the end of a response's playout."""
        commands: list[Action] = []
        if response.item_id:
            commands += self._update_history(response.item_id, response.text, cut=False)
        commands += [do.RunTool(call) for call in response.when_played]
        return commands + self._next()

    def stopped(self, response: Response, played_s: float) -> tuple[list[Cut], list[Action]]:
        """Cut the response being played after `played_s`, and all that wait."""
        cuts: list[Cut] = []
        commands: list[Action] = []
        for each in self._all:
            heard_s = min(played_s, each.sound_s) if each is response else 0.0
            text = each.heard(heard_s)
            waited = tuple(each.when_played)
            notified = each.response_id == self._notified_id
            cuts.append(
                Cut(each.response_id, each.item_id, heard_s, text, waited, each.usage, each.lost, notified)
            )
            if each.item_id:
                commands += self._update_history(each.item_id, text, cut=True)
        self._all.clear()
        return cuts, commands

    def play(self, response_id: str, samples: Samples) -> list[Action]:
        """Add audio of a response, [n] at `UPSTREAM_HZ`."""
        response = self.get(response_id)
        if response is None:
            return []
        if response.sound_s > MAX_SOUND_S:
            raise ValueError(f"a response has more than {MAX_SOUND_S:g} s of audio")
        response.sound_s += len(samples) / UPSTREAM_HZ
        if response is not self.playing:
            response.waiting.append(samples)
            return []
        return [do.Play(response.response_id, Speech(samples))]

    def _on_text(self, response: Response, item_id: str, words: str) -> list[Action]:
        if len(response.text) + len(words) > MAX_CHARACTERS:
            raise ValueError(f"a response has more than {MAX_CHARACTERS} characters")
        if item_id != response.item_id and item_id not in self._history:
            self._history.insert(MessageItem(item_id, "assistant", "", True, "in_progress"))
        response.item_id = item_id
        response.text += words
        if item_id not in self._history:  # deleted by the client: spoken, but not in the transcript
            return []
        previous_id = self._history.previous_id(item_id)
        return [notify.NotifyResponseText(response.response_id, item_id, previous_id, words)]

    def _on_tool_call(
        self, response: Response, item: ToolCallItem, tools: Sequence[AgentTool]
    ) -> list[Action]:
        response.tool_calls += 1
        if response.tool_calls > MAX_TOOL_CALLS:
            raise ValueError(f"a response has more than {MAX_TOOL_CALLS} tool calls")
        previous_id = self._history.last_id()
        self._history.insert(item)
        tool = next((one for one in tools if one.name == item.call.name), None)
        if tool is None:
            return [notify.NotifyToolCall(response.response_id, item.item_id, previous_id, item.call)]
        self.running.add(item.call.call_id)
        notified: list[Action] = [
            notify.NotifyItemAdded(item, previous_id),
            notify.NotifyItemDone(item, previous_id),
        ]
        if tool.when_played:
            response.when_played.append(item.call)
            return notified
        return [*notified, do.RunTool(item.call)]

    def _update_history(self, item_id: str, text: str, cut: bool) -> list[Action]:
        said = MessageItem(item_id, "assistant", text, True, "incomplete" if cut else "completed")
        if item_id in self._history:
            self._history.put(said)
        self.heard.append(said)
        return [do.ResponseConcluded(text, cut)]

    def _next(self) -> list[Action]:
        """Remove the first response and start playout of the next."""
        self._all.popleft()
        following = self.playing
        if following is None:
            return []
        sounds, following.waiting = following.waiting, []
        commands: list[Action] = [do.Play(following.response_id, Speech(one)) for one in sounds]
        return commands if following.ended is None else commands + self.ended(following, following.ended)
