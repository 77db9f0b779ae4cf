"""Patches in vLLM's worker processes, imported as their extension: a draft that is asked for nothing costs
nothing.

vLLM itself runs one pass of the draft in every step even then. Here it reads prompts only: a prefix that is
cached without the draft's part would spoil the proposals for all requests that share it later. (After two
failed trials it does not even do that, see `Speculation.should_draft_read`.) It never reads replies written
without it. A step without proposals samples as in an engine without a draft.

For vLLM 0.32 and 0.33. If another version lacks the names below, a warning is logged and the draft costs
time even when unused. The same applies to vLLM's second model runner, which is not patched
(`vllm_fitness.draft_cost_warning`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from typing import Any

from llmcore.engines.vllm_marks import DRAFT_READS
from llmcore.engines.vllm_worker import EndsWithServer

log = logging.getLogger(__name__)


class LeavesDraftOut(EndsWithServer):
    """Class for `worker_extension_cls` in engines with a draft."""


@dataclass(frozen=True, slots=True)
class NoProposals:
    """Placeholder for the proposals of a step that has none.

    logits_indices: tensor [requests]: for each, the position in the step's tokens after which to sample.
    """

    logits_indices: Any


def skip_empty_proposals(propose: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a model runner's proposing method to skip work that nothing needs.

    Raises:
        AttributeError: it is not the known method.
    """
    metadata_index = _argument_index(
        propose, "common_attn_metadata", ["scheduler_output", "sampled_token_ids"]
    )
    proposals_index = _argument_index(propose, "spec_decode_metadata", [])

    @wraps(propose)
    def propose_or_skip(runner: Any, *arguments: Any) -> Any:
        scheduled, sampled = arguments[:2]
        # a request in prefill computes more than one token in the step
        reads = getattr(scheduled, DRAFT_READS, True) and arguments[metadata_index].max_query_len > 1
        if scheduled.num_spec_tokens_to_schedule == 0 and not reads:
            return (
                [[] for _ in sampled] if isinstance(sampled, list) else sampled.new_empty((len(sampled), 0))
            )
        return propose(runner, *_without_placeholder(arguments, proposals_index))

    return propose_or_skip


def skip_empty_verification(find: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a model runner's method that locates the proposals to verify, to skip it if there are none.

    Raises:
        AttributeError: it is not the known method.
    """
    _argument_index(find, "cu_num_scheduled_tokens", ["num_draft_tokens"])

    @wraps(find)
    def find_or_skip(runner: Any, num_draft_tokens: Any, cu_num_scheduled_tokens: Any) -> Any:
        if num_draft_tokens.any():
            return find(runner, num_draft_tokens, cu_num_scheduled_tokens)
        return NoProposals(runner.query_start_loc.gpu[1 : len(num_draft_tokens) + 1] - 1)

    return find_or_skip


def sample_plainly(sample: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a model runner's sampling method, to reject proposals only if there are any.

    Raises:
        AttributeError: it is not the known method.
    """
    index = _argument_index(sample, "spec_decode_metadata", ["logits"])

    @wraps(sample)
    def sample_tokens(runner: Any, *arguments: Any) -> Any:
        return sample(runner, *_without_placeholder(arguments, index))

    return sample_tokens


def _argument_index(method: Callable[..., Any], name: str, first: list[str]) -> int:
    """Return the position of `name` among a method's arguments, which must begin with `first`."""
    names = list(signature(method).parameters)[1:]
    if names[: len(first)] != first or name not in names:
        raise AttributeError(f"its model runner has another {method.__name__}")
    return names.index(name)


def _without_placeholder(arguments: tuple[Any, ...], index: int) -> list[Any]:
    return [
        None if at == index and isinstance(argument, NoProposals) else argument
        for at, argument in enumerate(arguments)
    ]


def _install() -> None:
    try:
        from vllm.v1.core.sched.output import SchedulerOutput  # noqa: PLC0415
        from vllm.v1.worker.gpu_model_runner import GPUModelRunner as Runner  # noqa: PLC0415 - also a CPU's

        if "num_spec_tokens_to_schedule" not in SchedulerOutput.__dataclass_fields__:
            raise AttributeError("its scheduler cannot ask for no proposals")
        propose = skip_empty_proposals(Runner.propose_draft_token_ids)
        find = skip_empty_verification(Runner._calc_spec_decode_metadata)
        sample = sample_plainly(Runner._sample)
        Runner.propose_draft_token_ids = propose  # type: ignore[method-assign]
        Runner._calc_spec_decode_metadata = find  # type: ignore[method-assign]
        Runner._sample = sample  # type: ignore[method-assign]
    except (ImportError, AttributeError) as error:
        log.warning("in this vLLM a draft costs time even when it is off: %s", error)


_install()
