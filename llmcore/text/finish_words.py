"""Finish reasons of servers, mapped to ours. Logs unknown ones.

No complete list of these words exists. An unknown word counts as "stop", as the stream ended properly.
"""

from __future__ import annotations

import logging

from llmcore.engine import FinishReason, RefusedError

log = logging.getLogger(__name__)

_LENGTH = frozenset(
    {
        *("length", "max_tokens", "max_output_tokens", "max_completion_tokens", "model_length"),
        *("model_context_window_exceeded", "context_length_exceeded", "token_limit", "limit"),
    }
)
_FILTERED = frozenset(
    {
        *("content_filter", "content_filtered", "filtered", "refusal", "refused", "safety", "image_safety"),
        *("recitation", "blocklist", "prohibited_content", "spii", "sensitive", "moderation", "moderated"),
        *("guardrail", "guardrails", "guardrail_intervened", "error_toxic", "flagged"),
    }
)
"""Words for a filtered reply: OpenAI and Azure; Anthropic; Gemini and Vertex; Zhipu; Bedrock; Cohere."""
_STOPS = frozenset(
    {
        *("stop", "end_turn", "eos", "eos_token", "stop_sequence", "stop_sequences", "complete", "completed"),
        *("tool_calls", "tool_call", "tool_use", "function_call", "pause_turn", "", "null", "none"),
    }
)
_NOT_YET = frozenset({"", "null", "none"})
"""Words that some servers, such as DashScope, put into every chunk before the last."""
_REMEMBERED = 1_000
_logged: set[tuple[str, str]] = set()


def names_an_end(word: str | None) -> bool:
    """Return True if a chunk with this finish reason may be a reply's last one."""
    return (word or "").strip().lower() not in _NOT_YET


def finish_reason(word: str | None, server: str) -> FinishReason:
    """Map a server's word to a finish reason. Raises RefusedError for the word of a filter.

    An unknown word counts as "stop" and is logged once per server.
    """
    plain = (word or "").strip().lower()
    if plain in _LENGTH:
        return "length"
    if plain in _FILTERED:
        raise RefusedError(f"{server}: a filter ended the reply: {word}")
    if plain not in _STOPS and (server, plain) not in _logged and len(_logged) < _REMEMBERED:
        _logged.add((server, plain))
        log.warning("%s: unknown finish reason %r, treated as a stop", server, word)
    return "stop"
