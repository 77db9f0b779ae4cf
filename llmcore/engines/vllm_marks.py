"""Per-request hints for the scheduler in vLLM's own process, passed as extra sampling arguments."""

from __future__ import annotations

from typing import Any

from llmcore.engine import FREE_DRAFT, DraftUse, Request

YIELDS = "llmcore_yields"
"""The prompt is not read in steps that read a caller's."""
READING_S = "llmcore_reading_s"
"""Time after arrival by which the prompt should be read, even if callers' prompts are read all the time."""
NEW_TOKENS = "llmcore_new_tokens"
"""Estimated tokens of a yielding prompt that are not in the prefix cache."""
CALLER = "llmcore_caller"
"""Caller and purpose of the request; they classify evictions from the prefix cache."""
PROPOSALS = "llmcore_proposals"
"""Proposals that a draft may still make."""
BEGINS_AT = "llmcore_begins_at"
"""Tokens of the reply that are written before a draft reads or proposes."""
UNREAD = "llmcore_unread"
"""The draft does not read the prompt while it proposes nothing."""

DRAFT_READS = "llmcore_draft_reads"
"""Attribute of a step without proposals: True if the draft reads the prompt tokens of the step."""


def marks_of(request: Request, draft: DraftUse = FREE_DRAFT) -> dict[str, Any]:
    """Return the hints of a request, as `extra_args` of SamplingParams."""
    yields: dict[str, Any] = {}
    if request.priority_class != "turn":
        yields = {YIELDS: True, NEW_TOKENS: request.new_tokens}
    if request.priority_class == "long":
        yields[READING_S] = request.reading_s
    limit = {} if draft.proposals is None else {PROPOSALS: draft.proposals}
    later = {BEGINS_AT: draft.begins_at} if draft.begins_at else {}
    unread = {} if draft.reads else {UNREAD: True}
    return yields | limit | later | unread | {CALLER: (request.caller, request.priority_class)}


def marked(vllm_request: Any, mark: str) -> bool:
    """Return True if a request of vLLM's scheduler has this hint; foreign requests have none."""
    arguments = getattr(vllm_request.sampling_params, "extra_args", None)
    return bool(arguments and arguments.get(mark))


def owner_of(vllm_request: Any) -> tuple[str, str]:
    """Return the caller of a request, "" if unknown, and its priority class, "other" if unknown."""
    arguments = getattr(vllm_request.sampling_params, "extra_args", None) or {}
    caller, priority_class = arguments.get(CALLER, ("", "other"))
    return caller, priority_class


def unread_tokens(vllm_request: Any) -> int:
    """Return how many tokens of a yielding prompt remain to be computed; an estimate until it begins."""
    arguments = getattr(vllm_request.sampling_params, "extra_args", None) or {}
    left: int = vllm_request.num_prompt_tokens - vllm_request.num_computed_tokens
    return min(left, arguments.get(NEW_TOKENS, left)) if not vllm_request.num_computed_tokens else left


def behind_pace(vllm_request: Any, now_s: float) -> bool:
    """Return True if less of a long prompt is read than its pace requires at `now_s` (time.time())."""
    arguments = getattr(vllm_request.sampling_params, "extra_args", None) or {}
    if not (reading_s := arguments.get(READING_S)):
        return False
    due = (now_s - vllm_request.arrival_time) / reading_s
    return bool(vllm_request.num_computed_tokens < due * vllm_request.num_prompt_tokens)


def proposals_left(vllm_request: Any) -> bool:
    """Return True if a draft may still propose for this request; always True without a hint."""
    arguments = getattr(vllm_request.sampling_params, "extra_args", None) or {}
    return bool(arguments.get(PROPOSALS, 1) > 0) and not waits_for_draft(vllm_request)


def waits_for_draft(vllm_request: Any) -> bool:
    """Return True if too little of the reply is written for a draft to take part."""
    arguments = getattr(vllm_request.sampling_params, "extra_args", None) or {}
    return bool(vllm_request.num_output_tokens < arguments.get(BEGINS_AT, 0))


def take_proposal(vllm_request: Any) -> None:
    """Count one proposal of a request."""
    arguments = getattr(vllm_request.sampling_params, "extra_args", None) or {}
    if PROPOSALS in arguments:
        arguments[PROPOSALS] -= 1
