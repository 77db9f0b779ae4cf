"""From the call's settings and its history to what a response is made from."""

from __future__ import annotations

from llmcore.engine import Message
from voiceagent.conversation.commands import ResponsePlan
from voiceagent.conversation.events import ResponseRequested
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.turn_policy import TurnPolicy


def make_plan(
    response_id: str,
    request: ResponseRequested,
    settings: CallSettings,
    history: tuple[Message, ...],
    policy: TurnPolicy,
) -> ResponsePlan:
    """Settle every choice of a response: the request's own where it made one, else the call's.

    history: the conversation's, for a request without messages of its own.
    """
    modality = request.modality or settings.output_modality
    return ResponsePlan(
        response_id,
        make_prompt(
            settings.instructions if request.instructions is None else request.instructions,
            history if request.messages is None else request.messages,
        ),
        modality,
        settings.tools if request.tools is None else request.tools,
        request.tool_choice or settings.tool_choice,
        request.max_output_tokens or settings.max_output_tokens or policy.max_tokens,
        settings.temperature if request.temperature is None else request.temperature,
        stop=policy.stop if modality == "audio" else (),
        own_prompt=any(
            given is not None for given in (request.instructions, request.messages, request.tools)
        ),
    )


def make_prompt(instructions: str, history: tuple[Message, ...]) -> tuple[Message, ...]:
    """Laid out for prefix caching: what never changes (the instructions) first, then the history."""
    return ((Message("system", instructions),) if instructions else ()) + history
