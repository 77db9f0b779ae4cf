"""Error texts of servers that refuse messages, mapped to the message shapes they complain about.

The texts are those of vLLM, llama.cpp, Mistral's and OpenAI's APIs, and those of models' templates, which
vLLM and llama.cpp pass on.
"""

from __future__ import annotations

import re

from llmcore.text.message_shapes import ORDER_SHAPES, Shape, Shapes

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
    """Return `known` with the shapes that an error text names as refused, or if none, all of
    `ORDER_SHAPES`.
    """
    named = {
        shape
        for pattern, shapes in _REFUSAL_PATTERNS
        if re.search(pattern, error, re.IGNORECASE | re.DOTALL)
        for shape in shapes
    }
    return known.without(*(named - known.refused or ORDER_SHAPES))
