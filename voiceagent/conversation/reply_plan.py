"""From the call's settings and its history to what a reply is made from."""

from __future__ import annotations

from collections.abc import Sequence

from llmcore.engine import Message
from voiceagent.conversation.commands import ReplyPlan
from voiceagent.conversation.events import ResponseRequested
from voiceagent.conversation.history import Item, to_messages
from voiceagent.conversation.settings import CallSettings


def make_plan(
    reply_id: str,
    request: ResponseRequested,
    settings: CallSettings,
    items: Sequence[Item],
    max_tokens: int,
) -> ReplyPlan:
    """Settle every choice of a reply: the request's own where it made one, else the call's.

    The prompt is laid out for prefix caching: what never changes (the instructions) first, then the history.
    max_tokens: the cap where neither the request nor the call sets one.
    """
    instructions = settings.instructions if request.instructions is None else request.instructions
    system = (Message("system", instructions),) if instructions else ()
    history = to_messages(items) if request.messages is None else request.messages
    return ReplyPlan(
        reply_id,
        system + history,
        request.modality or settings.output_modality,
        settings.tools if request.tools is None else request.tools,
        request.tool_choice or settings.tool_choice,
        request.max_output_tokens or settings.max_output_tokens or max_tokens,
        settings.temperature if request.temperature is None else request.temperature,
        own_prompt=any(
            given is not None for given in (request.instructions, request.messages, request.tools)
        ),
    )
