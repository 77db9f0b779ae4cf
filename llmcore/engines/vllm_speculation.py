"""Imported in vLLM's worker processes, as their extension: a draft that is asked for nothing does nothing.

vLLM lets it read along even then, one pass of the draft in every step. Here it reads prompts only: a prefix
that is cached without the draft's part of it would spoil the proposals for all who share it later. Replies
that were written without it, it never reads. Made for vLLM 0.32; where another version has not the names
below, the log says that a draft costs time also where it is left out. vLLM's second model runner, for GPUs,
stays as it is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

from llmcore.engines.vllm_worker import EndsWithServer

log = logging.getLogger(__name__)


class LeavesDraftOut(EndsWithServer):
    """What `worker_extension_cls` asks for where there is a draft."""


def skip_empty_proposals(propose: Callable[..., Any]) -> Callable[..., Any]:
    """A model runner's method that lets the draft propose, without its work where that is for nothing.

    Raises AttributeError where it is not the method that is known.
    """
    names = list(signature(propose).parameters)
    if names[:3] != ["self", "scheduler_output", "sampled_token_ids"] or "common_attn_metadata" not in names:
        raise AttributeError("its model runner lets a draft propose in another way")
    place = names.index("common_attn_metadata") - 3

    @wraps(propose)
    def propose_or_skip(runner: Any, scheduled: Any, sampled: Any, *arguments: Any, **named: Any) -> Any:
        step = arguments[place] if len(arguments) > place else named["common_attn_metadata"]
        # A request that reads its prompt computes more than one token in the step.
        if scheduled.num_spec_tokens_to_schedule == 0 and step.max_query_len == 1:
            return (
                [[] for _ in sampled] if isinstance(sampled, list) else sampled.new_empty((len(sampled), 0))
            )
        return propose(runner, scheduled, sampled, *arguments, **named)

    return propose_or_skip


def _install() -> None:
    try:
        from vllm.v1.core.sched.output import SchedulerOutput  # noqa: PLC0415
        from vllm.v1.worker.gpu_model_runner import GPUModelRunner as Runner  # noqa: PLC0415 - also a CPU's

        if "num_spec_tokens_to_schedule" not in SchedulerOutput.__dataclass_fields__:
            raise AttributeError("its scheduler cannot ask for no proposals")
        quick = skip_empty_proposals(Runner.propose_draft_token_ids)
        Runner.propose_draft_token_ids = quick  # type: ignore[method-assign]
    except (ImportError, AttributeError) as error:
        log.warning("in this vLLM a draft costs time also where it is left out: %s", error)


_install()
