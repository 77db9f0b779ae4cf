"""Starts a response: with the prompt of its moment, and without the tools that it may call no more."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation.commands import Command
from voiceagent.conversation.history import PlannedWords
from voiceagent.conversation.mcp_lists import McpLists
from voiceagent.conversation.prompting.prompts import Prompts
from voiceagent.conversation.prompting.request import has_own_prompt
from voiceagent.conversation.response.current import CurrentResponse
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.tool_calls import ToolCalls
from voiceagent.conversation.turn.caller_turn import CallerTurn


@dataclass(slots=True)
class ResponseQueue:
    """Pending requests for the agent that have not started. Changed by `Answering` and `ResponseStarter`.

    clip: audio that the client requested. client_request: a response that it requested. answer_due: the last
    turn needs an answer. ended_turn: the turn that ended with the event being handled; only a response that
    starts with the same event answers it. speech: requests of the agent's code in order, each with its fixed
    text, "" for text from the model. hang_up_reason: the reason with which the agent's code hangs up after
    them; None if it does not. about_results: the pending answer is about tool results.
    """

    clip: ev.ClipRequested | None = None
    client_request: ev.ResponseRequested | None = None
    answer_due: bool = False
    ended_turn: CallerTurn | None = None
    speech: deque[tuple[ev.ResponseRequested, str]] = field(default_factory=deque)
    hang_up_reason: str | None = None
    about_results: bool = False

    def clear(self) -> None:
        """Drop all that is pending."""
        empty = ResponseQueue()
        for each in fields(self):
            setattr(self, each.name, getattr(empty, each.name))


class ResponseStarter:
    """Starts the responses that are wanted.

    results_attempts: preemptive responses started for the tool results that are due.
    """

    def __init__(
        self,
        responses: CurrentResponse,
        prompts: Prompts,
        tools: ToolCalls,
        lists: McpLists,
        queue: ResponseQueue,
        new_id: Callable[[str], str],
    ) -> None:
        self._responses = responses
        self._prompts = prompts
        self._tools = tools
        self._lists = lists
        self._queue = queue
        self._new_id = new_id
        self.results_attempts = 0

    def own_request(self, results: bool, settings: CallSettings) -> ev.ResponseRequested:
        """Return the request for a response that no client and no agent's code requested: an answer to the
        caller, or, with `results`, about tool results. It follows the instruction of tools that have ended.
        """
        # the forced call was made: forcing it again would loop
        forced = results and settings.tool_choice not in ("auto", "none")
        return ev.ResponseRequested(
            tool_choice="auto" if forced else None, guidance=self._tools.speech.guidance
        )

    def within_rounds(self, wanted: ev.ResponseRequested) -> ev.ResponseRequested:
        """Return the request, without tools if the answer has used all its rounds of tool calls."""
        return replace(wanted, tool_choice="none") if self._tools.rounds_are_spent() else wanted

    def start(
        self,
        wanted: ev.ResponseRequested,
        settings: CallSettings,
        turn: CallerTurn | None = None,
        preemptive: bool = False,
        say: str = "",
        planned: PlannedWords | None = None,
        answers: bool = False,
    ) -> list[Command]:
        """Start a response. say: fixed text, spoken without the LLM. planned: text that counts as played.
        answers: it answers the caller, and its guidance is a report's.
        """
        left: list[Command] = []
        if wanted.in_conversation:
            wanted = self.within_rounds(wanted)
        if wanted.in_conversation and not preemptive:
            self._queue.answer_due = False
            self.results_attempts = 0
            # not for a preemptive one: if it is dropped, the tools are still awaited
            # requested by the agent's code: the caller has not started another turn
            if say or (wanted.guidance and not answers):
                self._tools.overtake(by_model=not say)
            else:
                left = self._tools.detach()
        self._prompts.cancel_summary()
        response_id = self._new_id("resp")
        if wanted.mcp_servers:
            wanted = replace(wanted, mcp_tools=self._lists.tools(wanted.mcp_servers, wanted.tools or ()))
        request = self._prompts.for_response(wanted, settings, turn if preemptive else None, planned)
        start = do.StartResponse(
            response_id,
            request,
            wanted.modality or settings.output_modality,
            turn.item_id if turn else None,
            preemptive,
            say,
            has_own_prompt(wanted),
            self._prompts.replacements,
            self._prompts.edits,
            voice=wanted.voice,
        )
        return left + self._responses.start(start, wanted, turn.whole_words if turn else ())
