"""Error texts of servers that refuse a request: the message shapes, fields and lengths that they do not take.

The texts are those of vLLM, llama.cpp, Mistral's and OpenAI's APIs, and those of models' templates, which
vLLM and llama.cpp pass on.

Unknown fields are found in the texts of OpenAI's newer models ("Unsupported parameter: 'max_tokens' is not
supported with this model"), Mistral ("extra_forbidden", with the field's place), Groq and Cerebras ("property
'x' is unsupported"), Gemini ('Unknown name "stop"') and Azure ("Unrecognized request argument supplied: x").

The longest prompt is learned from refusals: servers count tokens of a tokenizer that is unknown here, and not
all say how many are too many, so the limit is counted in characters and halved with each refusal.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from llmcore.engine import Message, Request
from llmcore.text.message_shapes import ORDER_SHAPES, Shape, Shapes
from llmcore.text.prompt import PromptTooLong, fit_to_budget, split_turns

_RENAMED = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
"""The limit of a reply has two names; each is refused by servers that know the other one only."""
_DISPENSABLE = (*_RENAMED, "temperature", "stop", "stream_options")
"""Fields without which a request still means the same conversation."""
_UNKNOWN = re.compile(
    r"unsupported|not (currently )?supported|(does|do) not support|extra_forbidden|extra inputs"
    r"|not permitted|unrecognized|unexpected|unknown (name|field|param|arg|property)",
    re.IGNORECASE,
)
_REFUSAL_PATTERNS: tuple[tuple[str, tuple[Shape, ...]], ...] = (
    (r"enable-auto-tool-choice|requires --jinja|not support (tools|function)", ("tools",)),
    (r"system (role|message|prompt)s? (is |are )?(not |un)supported", ("system", "later_system")),
    (r"only user and assistant roles", ("later_system",)),
    (r"system message.*(begin|first|start)|(begin|start)\w* with.*system", ("later_system",)),
    (r"tool.?call.?ids?.*(alphanumeric|length|match|a-zA-Z)|string too long", ("odd_ids", "long_ids")),
    (r"single tool.?call|parallel tool", ("parallel_calls",)),
    (r"(both|either) content.*tool|content and tool", ("words_with_calls",)),
    (r"nonetype|content.*(null|none\b|empty)", ("empty_content",)),
    (r"after role .?tool|role .?user.? after", ("user_after_tool",)),
    (r"last (message|role)|expected last", ("assistant_last", "later_system")),
    (r"user query|first message|(start|begin)\w* with .*user", ("assistant_first",)),
)
"""Substrings of error texts, and the shapes that they show as refused."""
_ABOUT_MESSAGES = re.compile(
    r"templat|jinja|alternat|\brole|\bmessages?\b|tool.?(call|choice)|\btools\b|user query|system prompt",
    re.IGNORECASE,
)
_PROMPT_TOO_LONG = re.compile(
    r"context.(length|size|window)|contextwindow|too many tokens|(prompt|input)( is)? too long"
    r"|reduce (the length|your message)|exceeds the maximum number of tokens|`inputs` tokens",
    re.IGNORECASE,
)
"""OpenAI, vLLM, SGLang, llama.cpp, llama-cpp-python, Mistral, LiteLLM; Anthropic; Groq; Gemini; TGI."""
_ABOUT_LENGTH = re.compile(
    r"context (length|size|window)|too many tokens|prompt is too long|max\w*[ _]tokens|exceed", re.IGNORECASE
)


class ContextLimit:
    """Limit of one server's prompts. characters: of all messages; None until a prompt was refused."""

    def __init__(self) -> None:
        self.characters: int | None = None

    def fit(self, request: Request) -> Request:
        """Return the request without its oldest turns, as far as the limit requires.

        System messages at the beginning and the newest turn always stay.
        """
        if self.characters is None:
            return request
        try:
            messages = fit_to_budget(request.messages, self.characters, _length)
        except PromptTooLong:
            static, turns = split_turns(request.messages)
            messages = (*static, *turns[-1])
        return replace(request, messages=messages)

    def shorten(self, refused: Request) -> Request | None:
        """Lower the limit to half the characters of a prompt that was refused for its length.

        Return the shorter request, or None if no turn can be left out: the limit stays as it was then.
        """
        before, self.characters = self.characters, _length(refused.messages) // 2
        shorter = self.fit(refused)
        if len(shorter.messages) < len(refused.messages):
            return shorter
        self.characters = before
        return None


def _length(messages: Iterable[Message]) -> int:
    return sum(
        len(message.content) + sum(len(call.arguments) for call in message.tool_calls) for message in messages
    )


def refused_field(error: str, sent: Collection[str]) -> str | None:
    """Return the first of the sent fields that an error text calls unknown; None if it names none."""
    if not _UNKNOWN.search(error):
        return None
    places = {field: re.search(rf"\b{field}\b", error) for field in _DISPENSABLE if field in sent}
    named = {field: place.start() for field, place in places.items() if place is not None}
    return min(named, key=named.__getitem__, default=None)


def without_fields(body: Mapping[str, Any], refused: Collection[str]) -> dict[str, Any]:
    """Return a request's body without these fields; a limit goes under its other name if that is known."""
    kept = {field: value for field, value in body.items() if field not in refused}
    for field in refused:
        other = _RENAMED.get(field)
        if field in body and other is not None and other not in refused:
            kept[other] = body[field]
    return kept


def describe_refused_field(field: str, refused: Collection[str]) -> str:
    """Return a line for the log: what is sent in place of a refused field. refused: all of them."""
    other = _RENAMED.get(field)
    if other is not None and other not in refused:
        return f"it refuses {field}: sent as {other}"
    return f"it refuses {field}: left out"


def is_about_messages(error: str) -> bool:
    """Return True if the error is about the form of messages, and not about their length."""
    return bool(_ABOUT_MESSAGES.search(error)) and not is_about_length(error)


def is_about_length(error: str) -> bool:
    """Return True if the error says that a request is too long, or asks for too few or too many tokens."""
    return bool(_ABOUT_LENGTH.search(error))


def is_prompt_too_long(error: str) -> bool:
    """Return True if the error says that the prompt does not fit into the model's context."""
    return bool(_PROMPT_TOO_LONG.search(error))


def refused_shapes(error: str, known: Shapes) -> Shapes:
    """Return `known` with the shapes that an error names as refused, or if none, all of `ORDER_SHAPES`."""
    named = {
        shape
        for pattern, shapes in _REFUSAL_PATTERNS
        if re.search(pattern, error, re.IGNORECASE | re.DOTALL)
        for shape in shapes
    }
    return known.without(*(named - known.refused or ORDER_SHAPES))
