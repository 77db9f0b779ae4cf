"""Renamed and removed keys: errors for old names state the new ones, or what to do now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from voiceagent.validation.errors import ConfigError, config_error

RENAMED_KEYS = {
    "agent.about": "agent.page_text",
    "agent.chosen_by": "agent.route_by",
    "agent.others": "agent.alternatives",
    "calls.words": "calls.personal_data",
    "deadlines.first_sound_s": "timeouts.first_audio_s",
    "deadlines.sound_s": "timeouts.first_audio_s",
    "deadlines.transcript_s": "timeouts.transcript_s",
    "history.most_tokens": "history.max_tokens",
    "lanes.most_busy": "priority.max_utilization",
    "lanes.places": "priority.max_running",
    "log.personal": "log.personal_data",
    "otlp.content": "otlp.personal_data",
    "resilience.first_token_timeout_s": "timeouts.first_token_s",
    "turn.interrupt_s": "turn.interruption_confirmed_s",
    "turn.interrupt_words": "turn.min_interruption_words",
    "turn.provisional_attempts": "turn.preemptive_attempts",
}
"""Old names and new ones, with their tables."""
RENAMED_TABLES = {"deadlines": "timeouts", "lanes": "priority", "supervision": "timeouts"}
"""The same for tables, for those without renamed keys."""
REMOVED_KEYS = {
    "agent.filler_after_s": "the filler is said 1.5 s after the end of the turn",
    "agent.max_tool_rounds": "a model may call tools 8 times in a row for one answer",
    "budget.endpointing_ms": "its budget is 230 ms",
    "budget.fragmenting_ms": "its budget is 0.6 of budget.llm_ttft_ms",
    "budget.network_ms": "its budget is 60 ms",
    "budget.playout_ms": "its budget is 20 ms",
    "budget.request_ms": "its budget is 10 ms",
    "context.embedding": "passages are compared by the installed English model",
    "deadlines.first_token_s": "it follows from timeouts.first_token_s (twice that, and 2 s)",
    "deadlines.token_s": "it is timeouts.first_token_s, and at least 5 s",
    "deadlines.turn_model_s": "the turn model has 1 s",
    "history.attempts": "sentences are extracted after two failed summaries in a row",
    "history.kept_tokens": "a third of history.max_tokens stays verbatim",
    "history.summary_tokens": "a summary has at most 200 tokens",
    "history.tool_output_tokens": "a tool output has at most 600 tokens in a prompt",
    "lanes.long": "one long prompt is computed at a time",
    "lanes.long_tokens": "a prompt is long from 1500 uncached tokens on",
    "lanes.most_ttft_ms": "new calls are refused from a predicted 900 ms to the first token",
    "limits.max_bytes_per_s": "a client may send 1 MiB a second",
    "limits.max_calls_per_secret": "a client secret has at most 4 calls at a time",
    "limits.max_channels": "a call has at most 4 data channels",
    "limits.max_client_secrets": "1000 client secrets are valid at the same time",
    "limits.max_connections": "a process has at most 1000 TCP connections",
    "limits.max_conversation_characters": "the items of a conversation have at most 500000 characters",
    "limits.max_dtmf_digits": "a call has at most 1000 DTMF digits",
    "limits.max_event_bytes": "an event without audio has at most 262144 bytes",
    "limits.max_event_depth": "an event has at most 32 levels",
    "limits.max_event_values": "an event has at most 10000 values",
    "limits.max_failed_auth_per_minute": "an address may fail to authenticate 20 times a minute",
    "limits.max_idle_s": "a call without input is ended after 600 s",
    "limits.max_images": "a conversation has at most 16 images",
    "limits.max_instructions_characters": "instructions have at most 100000 characters",
    "limits.max_item_characters": "an item has at most 100000 characters",
    "limits.max_items": "a conversation has at most 2000 items",
    "limits.max_keys": "a call has at most 1000 DTMF digits",
    "limits.max_offer_bytes": "an offer has at most 65536 bytes",
    "limits.max_offer_candidates": "an offer has at most 32 candidates",
    "limits.max_offer_lines": "an offer has at most 1000 lines",
    "limits.max_offer_sections": "an offer has at most 8 media sections",
    "limits.max_phone_idle_s": "a phone line without audio is ended after 30 s",
    "limits.max_prompt_characters": "a prompt has at most 131072 characters without its tools",
    "limits.max_request_s": "a request has 10 s to arrive",
    "limits.max_response_items": "an out-of-band response has at most 500 items",
    "limits.max_sidebands": "a call has at most 8 sidebands",
    "limits.max_streams": "a call has at most 8 RTP sources",
    "limits.max_tools": "a session has at most 128 tools",
    "limits.max_tools_bytes": "tools have at most 65536 bytes in all",
    "limits.max_wrong_keys": "an address may fail to authenticate 20 times a minute",
    "mcp.connect_s": "connecting and listing the tools may take 10 s",
    "mcp.idle_s": "a connection is closed after 300 s without use",
    "mcp.list_ttl_s": "a list of tools is refreshed after 300 s, and when the server says so",
    "mcp.max_connections": "a process has at most 32 connections",
    "mcp.max_response_bytes": "a response has at most 1 MiB",
    "mcp.max_result_characters": "a tool result has at most 8000 characters",
    "mcp.max_tools": "a server offers at most 64 tools; allowed_tools chooses among more",
    "mcp.max_tools_bytes": "a server's tools have at most 65536 bytes in all",
    "mcp.timeout_s": "a tool call may take 30 s; [[agent.mcp]] has a timeout_s of its own",
    "outbound.retention_days": "calls that are over are deleted after 30 days",
    "phrase_cache.disk_mb": "phrases take at most 256 MB on disk",
    "phrase_cache.memory_mb": "phrases take at most 64 MB of a process",
    "playout.lead_s": "audio is sent 0.06 s ahead of real time",
    "priority.long_tokens": "a prompt is long from 1500 uncached tokens on",
    "priority.max_long": "one long prompt is computed at a time",
    "priority.max_ttft_ms": "new calls are refused from a predicted 900 ms to the first token",
    "resilience.failures": "an engine counts as failed after 3 failures in a row",
    "resilience.max_retry_s": "a failed engine is tried again after 1 s, and the wait doubles up to 30 s",
    "resilience.most_retry_s": "a failed engine is tried again after 1 s, and the wait doubles up to 30 s",
    "resilience.retry_s": "a failed engine is tried again after 1 s, and the wait doubles up to 30 s",
    "resilience.speech_timeout_s": "a fallback is asked after half of timeouts.transcript_s or first_audio_s",
    "resilience.stall_timeout_s": "it is timeouts.first_token_s, and at least 5 s",
    "routing.max_characters": "the small LLM answers turns of at most 120 characters",
    "routing.max_context_characters": "the small LLM answers prompts of at most 8000 characters",
    "routing.most_characters": "the small LLM answers turns of at most 120 characters",
    "routing.most_context_characters": "the small LLM answers prompts of at most 8000 characters",
    "semantic_cache.audit": "one hit of twenty is audited",
    "semantic_cache.capacity": "the cache has at most 10000 entries",
    "semantic_cache.embedding": "the cache uses the installed English model",
    "semantic_cache.floor": "0.8 of the audits must agree",
    "semantic_cache.min_hits": "0.1 of the look-ups must hit",
    "semantic_cache.off_s": "the cache stays off for 300 s",
    "semantic_cache.threshold": "questions share an answer from a cosine similarity of 0.9",
    "server.input_buffer_s": "a client may send 10 s of audio ahead",
    "server.max_message_bytes": "a message has at most 2 MiB",
    "speculation.fewest_tokens": "drafting pays from a mean of 50 tokens on",
    "speculation.least_acceptance": "half of a draft's tokens must be accepted",
    "speculation.max_retry_s": "a bad draft is off for 60 to 960 s",
    "speculation.max_streams": "drafts serve at most 20 responses; without `speculative` there are none",
    "speculation.min_acceptance": "half of a draft's tokens must be accepted",
    "speculation.min_tokens": "drafting pays from a mean of 50 tokens on",
    "speculation.most_retry_s": "a bad draft is off for 60 to 960 s",
    "speculation.most_streams": "drafts serve at most 20 responses; without `speculative` there are none",
    "speculation.retry_s": "a bad draft is off for 60 to 960 s",
    "speculation.window": "200 draft tokens are judged together",
    "supervision.engine_hang_s": "an engine process is restarted after 5 s without a heartbeat",
    "supervision.heartbeat_s": "heartbeats are sent every 0.5 s",
    "supervision.late_s": "a process is late after 1 s",
    "supervision.max_restart_s": "the longest wait between restarts is 30 s",
    "supervision.restart_s": "restarts begin 0.5 s apart, and the wait doubles",
    "supervision.start_s": "a process has 120 s to restart",
    "supervision.worker_hang_s": "a call worker is restarted after 10 s without a heartbeat",
    "telephony.asterisk.ari_user": "the user in ari.conf is voiceagent",
    "telephony.asterisk.open": '[telephony] has a list of them, open = ["asterisk"]',
    "telephony.audiosocket.open": '[telephony] has a list of them, open = ["audiosocket"]',
    "telephony.plivo.open": '[telephony] has a list of them, open = ["plivo"]',
    "telephony.telnyx.open": '[telephony] has a list of them, open = ["telnyx"]',
    "telephony.twilio.open": '[telephony] has a list of them, open = ["twilio"]',
    "telephony.vonage.open": '[telephony] has a list of them, open = ["vonage"]',
    "timeouts.audio_s": "chunks of audio have timeouts.first_audio_s, as the first one has",
    "timeouts.engine_hang_s": "an engine process is restarted after 5 s without a heartbeat",
    "timeouts.restart_s": "a process has 120 s to restart",
    "timeouts.review_s": "a review has 5 s",
    "timeouts.token_s": "it is timeouts.first_token_s, and at least 5 s",
    "timeouts.worker_hang_s": "a call worker is restarted after 10 s without a heartbeat",
    "turn.interruption_candidate_s": "the agent is held after 0.096 s of speech over it",
    "turn.min_speech_s": "speech has at least 0.064 s of voice",
    "turn.pause_s": "a pause is 0.032 s of silence",
    "turn.preemptive_tokens": "a preemptive response has at most 24 tokens before the turn ends",
    "turn.prefill_while_speaking": "prompts are prefilled while callers speak",
    "turn.prefix_padding_s": "the recognizer gets 0.3 s before speech; a session may set prefix_padding_ms",
    "turn.provisional_tokens": "a preemptive response has at most 24 tokens before the turn ends",
    "turn.read_ahead": "prompts are prefilled while callers speak",
    "turn.sustain_s": "the agent is held after 0.096 s of speech over it",
    "upstream.connect_timeout_s": "a connection, or an answer to a ping, has 5 s",
    "upstream.retries": "a failed or lost connection is tried twice again",
    "webhooks.attempts": "an event is posted up to 8 times",
    "webhooks.max_waiting": "at most 1000 events wait",
    "webhooks.timeout_s": "a receiver has 10 s to answer",
}
"""Keys without a successor, with their tables: the value that is fixed now, or what it follows from."""
RENAMED_OPTIONS = {
    "ctranslate2": {"most_waiting": "max_waiting", "parallel": "max_running"},
    "openai": {
        "first_token_timeout_s": "timeouts.first_token_s",
        "most_backoff_s": "max_backoff_s",
        "timeout_s": "timeouts.first_token_s",
    },
    "anthropic": {"first_token_timeout_s": "timeouts.first_token_s", "timeout_s": "timeouts.first_token_s"},
}
"""The same for LLM engines' keyword arguments, by the engine's short name: others may use these names. A new
name with a table is not the engine's own.
"""
_LLM_TABLES = ("llm", "fallback", "small_llm", "back_llm")


def refuse_renamed(document: Mapping[str, Any], source: Path) -> None:
    """Raise ConfigError for the first renamed or removed key or table in the file `source`."""
    for error in _renamed(document, source):
        raise error


def _renamed(document: Mapping[str, Any], source: Path) -> Iterator[ConfigError]:
    for table, keys in _tables(document):
        options = RENAMED_OPTIONS.get(str(keys.get("engine")), {}) if table in _LLM_TABLES else {}
        for key, value in keys.items():
            old = f"{table}.{key}"
            new = options.get(key) or RENAMED_KEYS.get(old)
            if new is not None:
                new = new if "." in new else f"{table}.{new}"
                yield config_error(source, old, value, f"this key is now {new}")
            elif old in REMOVED_KEYS:
                yield config_error(source, old, value, f"this key is gone, leave it out: {REMOVED_KEYS[old]}")
        if table in RENAMED_TABLES:
            yield ConfigError(f"{source}: [{table}]: this table is now [{RENAMED_TABLES[table]}]")


def _tables(document: Mapping[str, Any], outer: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the tables of a document with their full names, the outer before the inner."""
    for name, value in document.items():
        if isinstance(value, dict):
            yield f"{outer}{name}", value
            yield from _tables(value, f"{outer}{name}.")
