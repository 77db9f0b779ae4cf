"""Preemptive responses: made before it is certain that they are wanted, and dropped if they are not."""

from __future__ import annotations

from voiceagent.conversation import events as ev
from voiceagent.conversation.commands import Command
from voiceagent.conversation.prompting.prompts import Prompts
from voiceagent.conversation.reports import Reports
from voiceagent.conversation.response.current import CurrentResponse
from voiceagent.conversation.response_starter import ResponseQueue, ResponseStarter
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.tool_calls import ToolCalls
from voiceagent.conversation.turn.caller import Caller
from voiceagent.conversation.turn.caller_turn import CallerTurn
from voiceagent.conversation.turn_policy import CurrentPolicy
from voiceagent.conversation.words import words_of


class PreemptiveResponses:
    """Decides which preemptive response starts, and whether it is the one that is wanted then.

    allowed: the LLM has capacity for responses that may be dropped.
    """

    def __init__(
        self,
        policy: CurrentPolicy,
        caller: Caller,
        responses: CurrentResponse,
        prompts: Prompts,
        tools: ToolCalls,
        reports: Reports,
        queue: ResponseQueue,
        starter: ResponseStarter,
    ) -> None:
        self._policy = policy
        self._caller = caller
        self._responses = responses
        self._prompts = prompts
        self._tools = tools
        self._reports = reports
        self._queue = queue
        self._starter = starter
        self._turn_attempts = ("", 0)  # turn id, and number of preemptive responses started for it
        self.allowed = True

    def start_for_turn(self, turn: CallerTurn, settings: CallSettings) -> list[Command]:
        """Start a preemptive response to a turn that may be over, if nothing prevents it. Keep one started
        from the same words, and drop any other. From an interim transcript, start it only if an attempt is
        left for the final one. After a voice without words, an answer that it has cut is made again.
        """
        words = turn.whole_words
        room = self._responses.active is None and self.allowed and not self._caller.awaiting
        again = turn.settled and self._queue.answer_due and self._policy.now.preempt_without_words
        wanted = turn.announced and turn.respond and (words_of(turn.text) or again)
        if not room or not wanted or self._responses.is_started_for(turn.item_id, words):
            return []
        dropped = self._responses.cancel_preemptive()
        attempts = self._turn_attempts[1] if self._turn_attempts[0] == turn.item_id else 0
        spared = 0 if turn.settled else 1
        if attempts + spared >= self._policy.now.preemptive_attempts:
            return dropped
        self._turn_attempts = (turn.item_id, attempts + 1)
        answer = self._reports.add_to(ev.ResponseRequested())
        return dropped + self._starter.start(answer, settings, turn, preemptive=True)

    def start_for_results(self, settings: CallSettings) -> list[Command]:
        """Start a preemptive response about tool results while the agent still speaks. It assumes that the
        current response will be played to its end. Drop it if something else must come first.
        """
        held, planned = self._responses.preemptive, self._responses.planned_words
        queue = self._queue
        wanted = (
            self._tools.reply_due
            and self._caller.silent
            and not (queue.speech or self._reports.pending or queue.client_request)
            and queue.hang_up_reason is None
        )
        if held is not None:
            return [] if wanted and planned is not None else self._responses.cancel_preemptive()
        attempts = self._policy.now.preemptive_attempts if self.allowed else 0
        if not wanted or planned is None or self._starter.results_attempts >= attempts:
            return []
        if self._policy.now.tools_as_logged or not planned.message.spoken:
            return []
        self._starter.results_attempts += 1
        response = self._starter.own_request(True, settings)
        return self._starter.start(response, settings, preemptive=True, planned=planned)

    def fits(self, turn: CallerTurn | None, wanted: ev.ResponseRequested, settings: CallSettings) -> bool:
        """Return True if the preemptive response matches the wanted one."""
        held = self._responses.preemptive
        if held is None:
            return False
        # it is about tool results, and what it assumed about the history came true
        if held.start.turn_id is None:
            wanted = self._starter.within_rounds(wanted)
            return turn is None and held.start.request == self._prompts.for_response(wanted, settings)
        # compare words only: a comma of the final transcript must not restart the response
        return turn is not None and held.answers_turn(turn.item_id, turn.whole_words)
