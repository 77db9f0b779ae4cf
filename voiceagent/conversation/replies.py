"""The agent's side of the turn machine: the one reply that may exist, from its request to what was heard
of it. Pure.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notices as tell
from voiceagent.conversation.commands import Command
from voiceagent.conversation.heard import HeardText
from voiceagent.conversation.history import History, ItemStatus, MessageItem, ToolCallItem
from voiceagent.conversation.prompt_history import PromptHistory
from voiceagent.conversation.reply_plan import make_plan
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.turn_policy import TurnPolicy
from voiceagent.conversation.turns import CallerTurn, HeldEvent, Reply
from voiceagent.conversation.words import normalise

REMEMBERED_SOUNDS = 16
"""Replies whose sound positions are kept, for a client that truncates late."""

ReplyEvent = HeldEvent | ev.ReplyFailed | ev.ReplyLate | ev.PlayoutSent | ev.PlayoutHeard | ev.PlayoutStopped


class Replies:
    """Owns the reply in progress.

    Commands go to `emit`. rate_hz: rate of the synthesizer's sound. What comes late from a dead reply is
    ignored.
    `take`, `stop` and `apologise_for` return the reply that is over now, if one is.
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
        self.current: Reply | None = None
        self.sounds: OrderedDict[str, HeardText] = OrderedDict()

    @property
    def active(self) -> Reply | None:
        """The reply that the client knows of; a provisional one is not active."""
        reply = self.current
        return None if reply is None or reply.provisional else reply

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
        provisional: bool = False,
        say: str = "",
    ) -> None:
        """Have a reply made. A provisional one answers `turn` as it stands, and is held until `release`."""
        items = list(self._history.items)
        if turn is not None and provisional:
            items.append(MessageItem(turn.item_id, "user", turn.text, spoken=True))
        history = self._prompts.messages(items)
        plan = make_plan(self._new_id("resp"), request, settings, history, policy)
        plan = replace(plan, say=say, replacements=self._prompts.replacements)
        reply = self._open(plan, request, turn, provisional)
        self._do(do.StartReply(plan=reply.plan, turn_id=reply.turn_id, provisional=provisional))
        if not provisional:
            self._begin(reply)

    def release(self) -> None:
        """The turn ended with the words that the provisional reply was made for: it is the reply."""
        reply = self.current
        if reply is None or not reply.provisional:
            return
        reply.provisional = False
        held, reply.held = reply.held, []
        self._do(do.ReleaseReply(reply.reply_id))
        self._begin(reply)
        for event in held:
            self.take(event)

    def cancel_provisional(self) -> None:
        """Drop the provisional reply, if there is one: nobody has heard of it."""
        if self.current is not None and self.current.provisional:
            self._do(do.CancelReply(self.current.reply_id))
            self.current = None

    def take(self, event: ReplyEvent) -> Reply | None:
        """Take in what a reply made, or what became of its sound."""
        reply = self.current
        if reply is None or reply.reply_id != event.reply_id:
            return None
        if isinstance(event, ev.PlayoutSent | ev.PlayoutHeard | ev.PlayoutStopped):
            return self._played(reply, event)
        if reply.stopping or reply.finish_reason is not None:
            return None
        if isinstance(event, ev.ReplyFailed):
            return self._failed(reply, event)
        if isinstance(event, ev.ReplyLate):
            if not reply.provisional and reply.spoken and not reply.heard.text:
                self._do(do.Fill(reply.reply_id))
            return None
        if reply.provisional:
            reply.held.append(event)
            return None
        return self._made(reply, event)

    def stop(self, reason: str, heard_s: float | None = None) -> Reply | None:
        """Cut the reply. heard_s: how much of it was heard, where the client knows."""
        reply = self.current
        if reply is None or reply.stopping:
            return None
        if reply.provisional:
            self.cancel_provisional()
            return None
        reply.stopping, reply.stop_reason, reply.reported_heard_s = True, reason, heard_s
        self._do(do.CancelReply(reply.reply_id))
        if reply.spoken:
            self._do(do.StopPlayout(reply.reply_id))
            return None
        return self._over(reply, reply.heard.text, cut=True)

    def apologise_for(self, turn: CallerTurn, settings: CallSettings) -> Reply | None:
        """Answer a turn that could not be recognized."""
        plan = do.ReplyPlan(self._new_id("resp"), (), settings.output_modality)
        reply = self._open(plan, ev.ResponseRequested(), turn, provisional=False)
        self._begin(reply)
        return self._fail(reply, f"recognizer: {turn.failure}")

    def _open(
        self, plan: do.ReplyPlan, request: ev.ResponseRequested, turn: CallerTurn | None, provisional: bool
    ) -> Reply:
        self.current = Reply(
            plan,
            self._new_id("item"),
            HeardText(self._rate_hz),
            turn_id=turn.item_id if turn else None,
            answers=normalise(turn.text) if turn else (),
            provisional=provisional,
            interruptible=request.interruptible,
            in_conversation=request.in_conversation,
            metadata=request.metadata,
        )
        return self.current

    def _begin(self, reply: Reply) -> None:
        plan = reply.plan
        notice = tell.TellReplyStarted(
            plan.reply_id, plan.modality, plan.max_tokens, reply.in_conversation, reply.metadata
        )
        self._do(notice)

    def _made(self, reply: Reply, event: HeldEvent) -> Reply | None:
        match event:
            case ev.FragmentReady(fragment=fragment):
                previous = self._join_history(reply)
                reply.heard.begin(fragment)
                self._do(tell.TellReplyText(reply.reply_id, reply.item_id, previous, fragment.text))
            case ev.SpeechReady(speech=speech):
                reply.heard.add(speech)
                self._do(do.Play(reply.reply_id, speech))
            case ev.FragmentSpoken():
                reply.heard.complete_fragment()
            case ev.ToolCallsReady(calls=calls):
                for call in calls:
                    item = ToolCallItem(self._new_id("item"), call)
                    previous = self._history.last_id()
                    if reply.in_conversation:
                        self._history.insert(item)
                    self._do(tell.TellToolCall(reply.reply_id, item.item_id, previous, call))
            case ev.ReplyGenerated(finish_reason=reason, usage=usage):
                reply.finish_reason, reply.usage = reason, usage
                if not reply.spoken:
                    return self._over(reply, reply.heard.text)
                self._do(do.FinishPlayout(reply.reply_id))
        return None

    def _join_history(self, reply: Reply) -> str | None:
        if not reply.in_conversation:
            return None
        if not reply.in_history:
            reply.in_history = True
            self._history.insert(MessageItem(reply.item_id, "assistant", "", reply.spoken, "in_progress"))
        return self._history.previous_id(reply.item_id) if reply.item_id in self._history else None

    def _failed(self, reply: Reply, event: ev.ReplyFailed) -> Reply | None:
        if reply.provisional:
            self.cancel_provisional()
            return None
        self._do(do.CancelReply(reply.reply_id))
        return self._fail(reply, f"{event.stage}: {event.reason}")

    def _fail(self, reply: Reply, reason: str) -> Reply | None:
        reply.failure = reason
        if not reply.spoken:
            return self._over(reply, reply.heard.text)
        reply.heard.drop_unspoken()
        self._do(do.Apologise(reply.reply_id))
        return None

    def _played(
        self, reply: Reply, event: ev.PlayoutSent | ev.PlayoutHeard | ev.PlayoutStopped
    ) -> Reply | None:
        if isinstance(event, ev.PlayoutStopped) and reply.stopping:
            heard_s = event.heard_s if reply.reported_heard_s is None else reply.reported_heard_s
            if reply.in_history:
                self._do(tell.TellItemTruncated(reply.item_id, heard_s))
            return self._over(reply, reply.heard.heard(heard_s), cut=True)
        if reply.stopping or reply.finish_reason is None:
            return None
        if isinstance(event, ev.PlayoutSent):
            self._tell_end(reply)
        elif isinstance(event, ev.PlayoutHeard) and reply.told_end:
            return self._over(reply, reply.heard.text)
        return None

    def _over(self, reply: Reply, heard: str, cut: bool = False) -> Reply:
        """The history keeps what was heard of the reply, and nothing else of it remains."""
        self._tell_end(reply, cut)
        self.current = None
        reply.said = heard = heard.strip()
        if reply.in_history and reply.item_id in self._history:
            kept: ItemStatus = "incomplete" if cut or reply.failure else "completed"
            self._history.put(MessageItem(reply.item_id, "assistant", heard, reply.spoken, kept))
            if reply.spoken:
                self.sounds[reply.item_id] = reply.heard
                while len(self.sounds) > REMEMBERED_SOUNDS:
                    self.sounds.popitem(last=False)
        return reply

    def _tell_end(self, reply: Reply, cut: bool = False) -> None:
        if reply.told_end:
            return
        reply.told_end = True
        status: tell.ReplyStatus = "completed"
        reason = ""
        if reply.failure:
            status, reason = "failed", reply.failure
        elif cut:
            status, reason = "cancelled", reply.stop_reason
        elif reply.finish_reason == "length":
            status, reason = "incomplete", "max_output_tokens"
        taken_back = reply.heard.taken_back
        self._do(tell.TellReplyEnded(reply.reply_id, status, reason, reply.usage, taken_back))
