"""The responses of an upstream on their way to the caller: made faster than they are heard, played in turn.

Pure.
"""

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
from voiceagent.upstream.messages import UPSTREAM_HZ, Event, Wanted

_CHARACTERS_A_SECOND = 15.0
"""How fast voices speak English, with its pauses."""


@dataclass(slots=True)
class Response:
    """One of them. text: all its words. sound_s: of all its sound. ended: how it ended, once it has.

    when_played: tools that wait until it was played. waiting: its sound while another is played. lost: the
    upstream that made it has gone.
    """

    response_id: str
    item_id: str = ""
    text: str = ""
    sound_s: float = 0.0
    ended: notify.NotifyResponseEnded | None = None
    when_played: list[ToolCall] = field(default_factory=list)
    waiting: list[Samples] = field(default_factory=list)
    lost: bool = False

    @property
    def usage(self) -> Usage:
        """What it took; the upstream tells when all of it is made, long before it was heard."""
        return Usage() if self.ended is None else self.ended.usage

    def heard(self, played_s: float) -> str:
        """The words that were heard in so many seconds: whole ones, as much of the text as of the sound.

        The sound of a response that is not over may come as it is heard, long after its words.
        """
        over = self.ended is not None and self.ended.status == "completed"
        whole_s = self.sound_s if over else max(self.sound_s, len(self.text) / _CHARACTERS_A_SECOND)
        if whole_s <= 0 or played_s >= whole_s:
            return self.text if played_s > 0 else ""
        end = int(len(self.text) * played_s / whole_s)
        return self.text[:end].rpartition(" ")[0].rstrip()


@dataclass(frozen=True, slots=True)
class Cut:
    """What became of a response that was cut. heard_s: seconds of it that were heard. when_played: its tools
    that waited for its end, and are not to be run. usage: what it took, as far as the upstream has told.
    lost: as `Response` has it. told: the client knows how it ended.
    """

    response_id: str
    item_id: str
    heard_s: float
    text: str
    when_played: tuple[ToolCall, ...]
    usage: Usage
    lost: bool
    told: bool


class Responses:
    """The responses of a call that are not over; the first of them is the one that is played. history: the
    call's.

    running: the calls of the agent's tools that have no result yet. heard: for each `ResponseConcluded` what
    was heard of the response, also where the history does not have it any more; whoever carries that command
    out takes it from here.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        self._all: deque[Response] = deque()
        self.running: set[str] = set()
        self.heard: deque[MessageItem] = deque()
        self._told = ""  # of whose end the client knows, though it is still played

    def __bool__(self) -> bool:
        """Whether there is one."""
        return bool(self._all)

    @property
    def playing(self) -> Response | None:
        """The one that is played, or will be next."""
        return self._all[0] if self._all else None

    def get(self, response_id: str) -> Response | None:
        """The one of this id; None where it is over, or was cut."""
        return next((one for one in self._all if one.response_id == response_id), None)

    def begin(self, begun: Event) -> list[Wanted]:
        """The upstream begins another one."""
        self._all.append(Response(begun["id"]))
        return [notify.NotifyResponseStarted(begun["id"], (begun.get("output_modalities") or ["audio"])[0])]

    def take(self, kind: str, event: Event, tools: Sequence[AgentTool]) -> list[Wanted]:
        """The upstream tells of one. tools: those that are run here."""
        response_id = messages.response_id_of(event)
        response = self.get(response_id)
        if response is None:  # it was cut here: what still comes of it is not heard
            return []
        match kind:
            case "response.output_audio.delta":
                return self.play(response_id, messages.read_sound(event))
            case "response.output_audio_transcript.delta" | "response.output_text.delta":
                return self._words(response, event["item_id"], event["delta"])
            case "response.output_item.done":
                item = messages.read_item(event["item"])
                return self._called(response, item, tools) if isinstance(item, ToolCallItem) else []
            case "response.done":
                return self.ended(response, messages.read_end(event["response"]))
            case _:
                return []

    def usages(self) -> dict[str, Usage]:
        """What each of them took, by its id."""
        return {one.response_id: one.usage for one in self._all}

    def lost(self) -> list[Response]:
        """The upstream has gone: those of which more was to come."""
        for one in self._all:
            one.lost = True
        return [one for one in self._all if one.ended is None]

    def ended(self, response: Response, ended: notify.NotifyResponseEnded) -> list[Wanted]:
        """Nothing more of a response comes."""
        response.ended = ended
        if response is not self.playing:
            return []
        if response.sound_s == 0:
            return [ended, *self.played(response)]
        if ended.status == "cancelled":
            return [do.StopPlayout(response.response_id)]
        return [do.FinishPlayout(response.response_id)]

    def sent(self, response_id: str) -> list[Wanted]:
        """All sound of a response was sent to the client, which learns of its end now."""
        response = self.get(response_id)
        if response is None or response.ended is None:
            return []
        self._told = response_id
        return [response.ended]

    def played(self, response: Response) -> list[Wanted]:
        """The response that is played has been, to its end."""
        commands: list[Wanted] = []
        if response.item_id:
            commands += self._keep(response.item_id, response.text, cut=False)
        commands += [do.RunTool(call) for call in response.when_played]
        return commands + self._next()

    def stopped(self, response: Response, played_s: float) -> tuple[list[Cut], list[Wanted]]:
        """The response that is played is cut after `played_s`, and with it all that wait behind it."""
        cuts: list[Cut] = []
        commands: list[Wanted] = []
        for each in self._all:
            heard_s = min(played_s, each.sound_s) if each is response else 0.0
            text = each.heard(heard_s)
            waited = tuple(each.when_played)
            told = each.response_id == self._told
            cuts.append(
                Cut(each.response_id, each.item_id, heard_s, text, waited, each.usage, each.lost, told)
            )
            if each.item_id:
                commands += self._keep(each.item_id, text, cut=True)
        self._all.clear()
        return cuts, commands

    def play(self, response_id: str, samples: Samples) -> list[Wanted]:
        """More sound of one, [n] at `UPSTREAM_HZ`."""
        response = self.get(response_id)
        if response is None:
            return []
        response.sound_s += len(samples) / UPSTREAM_HZ
        if response is not self.playing:
            response.waiting.append(samples)
            return []
        return [do.Play(response.response_id, Speech(samples))]

    def _words(self, response: Response, item_id: str, words: str) -> list[Wanted]:
        if item_id != response.item_id and item_id not in self._history:
            self._history.insert(MessageItem(item_id, "assistant", "", True, "in_progress"))
        response.item_id = item_id
        response.text += words
        if item_id not in self._history:  # the client has deleted it: what comes of it is heard, not read
            return []
        previous_id = self._history.previous_id(item_id)
        return [notify.NotifyResponseText(response.response_id, item_id, previous_id, words)]

    def _called(self, response: Response, item: ToolCallItem, tools: Sequence[AgentTool]) -> list[Wanted]:
        previous_id = self._history.last_id()
        self._history.insert(item)
        tool = next((one for one in tools if one.name == item.call.name), None)
        if tool is None:
            return [notify.NotifyToolCall(response.response_id, item.item_id, previous_id, item.call)]
        self.running.add(item.call.call_id)
        told: list[Wanted] = [
            notify.NotifyItemAdded(item, previous_id),
            notify.NotifyItemDone(item, previous_id),
        ]
        if tool.when_played:
            response.when_played.append(item.call)
            return told
        return [*told, do.RunTool(item.call)]

    def _keep(self, item_id: str, text: str, cut: bool) -> list[Wanted]:
        """The history has what was heard of a response."""
        said = MessageItem(item_id, "assistant", text, True, "incomplete" if cut else "completed")
        if item_id in self._history:
            self._history.put(said)
        self.heard.append(said)
        return [do.ResponseConcluded(text, cut)]

    def _next(self) -> list[Wanted]:
        """The first one is over; the next one, whose sound may be here already, has its turn."""
        self._all.popleft()
        following = self.playing
        if following is None:
            return []
        sounds, following.waiting = following.waiting, []
        commands: list[Wanted] = [do.Play(following.response_id, Speech(one)) for one in sounds]
        return commands if following.ended is None else commands + self.ended(following, following.ended)
