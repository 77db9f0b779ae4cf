"""What a request tells the scheduler inside vLLM's own process, by the extra arguments of its sampling."""

from __future__ import annotations

from typing import Any

from llmcore.engine import FREE_DRAFT, DraftUse, Request

YIELDS = "llmcore_yields"
"""Its prompt is not read in steps in which a caller's is."""
READING_S = "llmcore_reading_s"
"""How long after it came its prompt shall be read at the latest, though callers' are read all the time."""
NEW_TOKENS = "llmcore_new_tokens"
"""Estimated tokens of a yielding prompt that are not in the prefix cache."""
CALLER = "llmcore_caller"
"""Whose it is, and what for: by these evictions from the prefix cache are told apart."""
PROPOSALS = "llmcore_proposals"
"""How many more proposals of a draft may be made for it."""
BEGINS_AT = "llmcore_begins_at"
"""How many tokens of its reply are written before a draft reads or proposes for it."""
UNREAD = "llmcore_unread"
"""Its prompt is not read by the draft, as long as that proposes nothing."""

DRAFT_READS = "llmcore_draft_reads"
"""An attribute of a step that proposes nothing: whether the draft reads what is read of prompts in it."""


def marks_of(request: Request, draft: DraftUse = FREE_DRAFT) -> dict[str, Any]:
    """The marks that a request carries, as SamplingParams takes them: its `extra_args`."""
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
    """Whether a request of vLLM's scheduler carries a mark; those that are not of ours carry none."""
    arguments = getattr(vllm_request.sampling_params, "extra_args", None)
    return bool(arguments and arguments.get(mark))


def owner_of(vllm_request: Any) -> tuple[str, str]:
    """The caller, "" where unknown, and what the request is for."""
    arguments = getattr(vllm_request.sampling_params, "extra_args", None) or {}
    caller, priority_class = arguments.get(CALLER, ("", "other"))
    return caller, priority_class


def unread_tokens(vllm_request: Any) -> int:
    """Return how many tokens of a yielding prompt remain to be computed; an estimate until it begins."""
    arguments = getattr(vllm_request.sampling_params, "extra_args", None) or {}
    left: int = vllm_request.num_prompt_tokens - vllm_request.num_computed_tokens
    return min(left, arguments.get(NEW_TOKENS, left)) if not vllm_request.num_computed_tokens else left


def behind_pace(vllm_request: Any, now_s: float) -> bool:
    """Whether less of a long prompt is read than should be by now (time.time()), to be read in time."""
    arguments = getattr(vllm_request.sampling_params, "extra_args", None) or {}
    if not (reading_s := arguments.get(READING_S)):
        return False
    due = (now_s - vllm_request.arrival_time) / reading_s
    return bool(vllm_request.num_computed_tokens < due * vllm_request.num_prompt_tokens)


def proposals_left(vllm_request: Any) -> bool:
    """Whether a draft may still propose for a request of vLLM's scheduler; without a mark it always may."""
    arguments = getattr(vllm_request.sampling_params, "extra_args", None) or {}
    return bool(arguments.get(PROPOSALS, 1) > 0) and not waits_for_draft(vllm_request)


def waits_for_draft(vllm_request: Any) -> bool:
    """Whether too little of the reply is written yet for a draft to take part in it."""
    arguments = getattr(vllm_request.sampling_params, "extra_args", None) or {}
    return bool(vllm_request.num_output_tokens < arguments.get(BEGINS_AT, 0))


def take_proposal(vllm_request: Any) -> None:
    """One was made: its mark counts down."""
    arguments = getattr(vllm_request.sampling_params, "extra_args", None) or {}
    if PROPOSALS in arguments:
        arguments[PROPOSALS] -= 1
