"""Builds the LLM request of a response from its options and the call's settings."""

from __future__ import annotations

from llmcore.engine import Generation, Message, Tool
from voiceagent.conversation.answer_language import with_answer_line
from voiceagent.conversation.events import ResponseRequested
from voiceagent.conversation.mcp import mcp_chosen
from voiceagent.conversation.settings import MAX_OUTPUT_TOKENS, CallSettings, TokenLimit
from voiceagent.conversation.turn_policy import TurnPolicy


def make_generation(
    wanted: ResponseRequested,
    settings: CallSettings,
    history: tuple[Message, ...],
    policy: TurnPolicy,
    built_in: tuple[Tool, ...],
) -> Generation:
    """Return the LLM request of a response: its own options where it has any, else the call's.

    history: the conversation's, for a response without messages of its own. built_in: the tools that
    the server itself offers in the conversation.
    """
    modality = wanted.modality or settings.output_modality
    messages = history if wanted.messages is None else wanted.messages
    choice, tools = _choice(wanted, settings, _tools(wanted, settings, built_in))
    if wanted.guidance:  # after everything that is in the prefix cache
        messages += (Message("system", wanted.guidance),)
    return Generation(
        make_prompt(_instructions(wanted, settings), messages),
        tools,
        choice,
        _max_tokens(wanted.max_output_tokens or settings.max_output_tokens, policy),
        settings.temperature if wanted.temperature is None else wanted.temperature,
        policy.stop if modality == "audio" else (),
    )


def _instructions(wanted: ResponseRequested, settings: CallSettings) -> str:
    own = wanted.instructions
    return settings.prompt_instructions if own is None else with_answer_line(own, settings.language)


def _max_tokens(limit: TokenLimit | None, policy: TurnPolicy) -> int:
    return MAX_OUTPUT_TOKENS if limit == "inf" else limit or policy.max_tokens


def _tools(wanted: ResponseRequested, settings: CallSettings, built_in: tuple[Tool, ...]) -> tuple[Tool, ...]:
    """Return the tools that the model may call. A response outside the conversation could not report results
    of the agent's tools.
    """
    if wanted.tools is not None:
        return (*wanted.tools, *(tool.tool for tool in wanted.mcp_tools))
    return settings.all_tools + built_in if wanted.in_conversation else settings.tools


def _choice(
    wanted: ResponseRequested, settings: CallSettings, tools: tuple[Tool, ...]
) -> tuple[str, tuple[Tool, ...]]:
    """Return the tool choice and the tools of a request. LLM servers know no MCP servers: one tool of a
    server is forced by its name, several by offering these alone; none are listed yet, the choice is free.
    """
    choice = wanted.tool_choice or settings.tool_choice
    if (chosen := mcp_chosen(choice)) is None:
        return choice, tools
    label, name = chosen
    listed = settings.mcp_tools if wanted.tools is None else wanted.mcp_tools
    named = (one.tool for one in listed if one.server.label == label and name in ("", one.name))
    forced = tuple(tool for tool in named if tool in tools)
    if len(forced) == 1:
        return forced[0].name, tools
    return ("required", forced) if forced else ("auto", tools)


def has_own_prompt(wanted: ResponseRequested) -> bool:
    """Return True if its prompt does not continue the conversation's."""
    own = (wanted.instructions, wanted.messages, wanted.tools, wanted.guidance or None)
    return any(given is not None for given in own)


def make_prompt(instructions: str, history: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return a prompt for prefix caching: the constant part (instructions) first, then the history."""
    return ((Message("system", instructions),) if instructions else ()) + history
