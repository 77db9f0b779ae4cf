"""The agent's side of the turn machine: the one response that may exist, from its request to what was heard
of it. Pure.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from llmcore.engine import Request
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.commands import Command
from voiceagent.conversation.history import History, ItemStatus, MessageItem, ToolCallItem
from voiceagent.conversation.played_text import PlayedText
from voiceagent.conversation.prompt_history import PromptHistory
from voiceagent.conversation.prompting import has_own_prompt, make_request
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.turn_policy import TurnPolicy
from voiceagent.conversation.turns import CallerTurn, HeldEvent, Response
from voiceagent.conversation.words import words_of

REMEMBERED_SOUNDS = 16
"""Responses whose sound positions are kept, for a client that truncates late."""

ResponseEvent = (
    HeldEvent | ev.ResponseFailed | ev.ResponseLate | ev.PlayoutSent | ev.PlayoutPlayed | ev.PlayoutStopped
)


class Responses:
    """Owns the response in progress.

    Commands go to `emit`. rate_hz: rate of the synthesizer's sound. What comes late from a dead response is
    ignored.
    `take`, `stop` and `apologise_for` return the response that is over now, if one is.
    """

    def __init__(
        self,
        history: History,
        prompts: PromptHistory,
        rate_hz: int,
        new_id: Callable[[str], str],
        emit: Callable[[Command], None],
    ) -> None:
        self._history = history
        self._prompts = prompts
        self._rate_hz = rate_hz
        self._new_id = new_id
        self._do = emit
        self.current: Response | None = None
        self.sounds: OrderedDict[str, PlayedText] = OrderedDict()

    @property
    def active(self) -> Response | None:
        """The response that the client knows of; a preemptive one is not active."""
        response = self.current
        return None if response is None or response.preemptive else response

    @property
    def speaking(self) -> bool:
        """Whether there is sound that has not been sent yet."""
        return self.active is not None and not self.active.told_end

    def start(
        self,
        request: ev.ResponseRequested,
        settings: CallSettings,
        policy: TurnPolicy,
        turn: CallerTurn | None = None,
        preemptive: bool = False,
        say: str = "",
    ) -> None:
        """Have a response made. A preemptive one answers `turn` as it stands, and is held until `release`."""
        items = list(self._history.items)
        if turn is not None and preemptive:
            items.append(MessageItem(turn.item_id, "user", turn.text, spoken=True))
        history = self._prompts.messages(items)
        start = do.StartResponse(
            self._new_id("resp"),
            make_request(request, settings, history, policy, preemptive),
            request.modality or settings.output_modality,
            turn.item_id if turn else None,
            preemptive,
            say,
            has_own_prompt(request),
            self._prompts.replacements,
        )
        response = self._open(start, request, turn, preemptive)
        self._do(start)
        if not preemptive:
            self._begin(response)

    def release(self) -> None:
        """The turn ended with the words that the preemptive response was made for: it is the response."""
        response = self.current
        if response is None or not response.preemptive:
            return
        response.preemptive = False
        held, response.held = response.held, []
        self._do(do.ReleaseResponse(response.response_id))
        self._begin(response)
        for event in held:
            self.take(event)

    def cancel_preemptive(self) -> None:
        """Drop the preemptive response, if there is one: nobody has heard of it."""
        if self.current is not None and self.current.preemptive:
            self._do(do.CancelResponse(self.current.response_id))
            self.current = None

    def take(self, event: ResponseEvent) -> Response | None:
        """Take in what a response made, or what became of its sound."""
        response = self.current
        if response is None or response.response_id != event.response_id:
            return None
        if isinstance(event, ev.PlayoutSent | ev.PlayoutPlayed | ev.PlayoutStopped):
            return self._played(response, event)
        if response.stopping or response.finish_reason is not None:
            return None
        if isinstance(event, ev.ResponseFailed):
            return self._failed(response, event)
        if isinstance(event, ev.ResponseLate):
            if not response.preemptive and response.spoken and not response.heard.text:
                self._do(do.Fill(response.response_id))
            return None
        if response.preemptive:
            response.held.append(event)
            return None
        return self._made(response, event)

    def stop(self, reason: str, played_s: float | None = None) -> Response | None:
        """Cut the response. played_s: how much of it was heard, where the client knows."""
        response = self.current
        if response is None or response.stopping:
            return None
        if response.preemptive:
            self.cancel_preemptive()
            return None
        response.stopping, response.stop_reason, response.reported_heard_s = True, reason, played_s
        self._do(do.CancelResponse(response.response_id))
        if response.spoken:
            self._do(do.StopPlayout(response.response_id))
            return None
        return self._over(response, response.heard.text, cut=True)

    def apologise_for(self, turn: CallerTurn, settings: CallSettings) -> Response | None:
        """Answer a turn that could not be recognized."""
        start = do.StartResponse(self._new_id("resp"), Request(()), settings.output_modality)
        response = self._open(start, ev.ResponseRequested(), turn, preemptive=False)
        self._begin(response)
        return self._fail(response, f"recognizer: {turn.failure}")

    def _open(
        self,
        start: do.StartResponse,
        request: ev.ResponseRequested,
        turn: CallerTurn | None,
        preemptive: bool,
    ) -> Response:
        self.current = Response(
            start,
            self._new_id("item"),
            PlayedText(self._rate_hz),
            turn_id=turn.item_id if turn else None,
            answers=words_of(turn.text) if turn else (),
            preemptive=preemptive,
            interruptible=request.interruptible,
            in_conversation=request.in_conversation,
            metadata=request.metadata,
        )
        return self.current

    def _begin(self, response: Response) -> None:
        start = response.made_by
        notification = notify.NotifyResponseStarted(
            start.response_id,
            start.modality,
            start.request.max_tokens,
            response.in_conversation,
            response.metadata,
        )
        self._do(notification)

    def _made(self, response: Response, event: HeldEvent) -> Response | None:
        match event:
            case ev.FragmentReady(fragment=fragment):
                previous = self._join_history(response)
                response.heard.begin(fragment)
                self._do(
                    notify.NotifyResponseText(response.response_id, response.item_id, previous, fragment.text)
                )
            case ev.SpeechReady(speech=speech):
                response.heard.add(speech)
                self._do(do.Play(response.response_id, speech))
            case ev.FragmentSpoken():
                response.heard.complete_fragment()
            case ev.ToolCallsReady(calls=calls):
                for call in calls:
                    item = ToolCallItem(self._new_id("item"), call)
                    previous = self._history.last_id()
                    if response.in_conversation:
                        self._history.insert(item)
                    self._do(notify.NotifyToolCall(response.response_id, item.item_id, previous, call))
            case ev.ResponseGenerated(finish_reason=reason, usage=usage):
                response.finish_reason, response.usage = reason, usage
                if not response.spoken:
                    return self._over(response, response.heard.text)
                self._do(do.FinishPlayout(response.response_id))
        return None

    def _join_history(self, response: Response) -> str | None:
        if not response.in_conversation:
            return None
        if not response.in_history:
            response.in_history = True
            self._history.insert(
                MessageItem(response.item_id, "assistant", "", response.spoken, "in_progress")
            )
        return self._history.previous_id(response.item_id) if response.item_id in self._history else None

    def _failed(self, response: Response, event: ev.ResponseFailed) -> Response | None:
        if response.preemptive:
            self.cancel_preemptive()
            return None
        self._do(do.CancelResponse(response.response_id))
        return self._fail(response, f"{event.stage}: {event.reason}")

    def _fail(self, response: Response, reason: str) -> Response | None:
        response.failure = reason
        if not response.spoken:
            return self._over(response, response.heard.text)
        response.heard.drop_unspoken()
        self._do(do.Apologise(response.response_id))
        return None

    def _played(
        self, response: Response, event: ev.PlayoutSent | ev.PlayoutPlayed | ev.PlayoutStopped
    ) -> Response | None:
        if isinstance(event, ev.PlayoutStopped) and response.stopping:
            played_s = event.played_s if response.reported_heard_s is None else response.reported_heard_s
            if response.in_history:
                self._do(notify.NotifyItemTruncated(response.item_id, played_s))
            return self._over(response, response.heard.played(played_s), cut=True)
        if response.stopping or response.finish_reason is None:
            return None
        if isinstance(event, ev.PlayoutSent):
            self._tell_end(response)
        elif isinstance(event, ev.PlayoutPlayed) and response.told_end:
            return self._over(response, response.heard.text)
        return None

    def _over(self, response: Response, heard: str, cut: bool = False) -> Response:
        """The history keeps what was heard of the response, and nothing else of it remains."""
        self._tell_end(response, cut)
        self.current = None
        response.said = heard = heard.strip()
        if response.in_history and response.item_id in self._history:
            kept: ItemStatus = "incomplete" if cut or response.failure else "completed"
            self._history.put(MessageItem(response.item_id, "assistant", heard, response.spoken, kept))
            if response.spoken:
                self.sounds[response.item_id] = response.heard
                while len(self.sounds) > REMEMBERED_SOUNDS:
                    self.sounds.popitem(last=False)
        return response

    def _tell_end(self, response: Response, cut: bool = False) -> None:
        if response.told_end:
            return
        response.told_end = True
        status: notify.ResponseStatus = "completed"
        reason = ""
        if response.failure:
            status, reason = "failed", response.failure
        elif cut:
            status, reason = "cancelled", response.stop_reason
        elif response.finish_reason == "length":
            status, reason = "incomplete", "max_output_tokens"
        false_end = response.heard.false_end
        self._do(notify.NotifyResponseEnded(response.response_id, status, reason, response.usage, false_end))
