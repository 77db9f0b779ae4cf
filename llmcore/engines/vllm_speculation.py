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
    """A proposer's method `propose`, without its work where that is for nothing. Raises AttributeError."""
    if "num_speculative_tokens" not in signature(propose).parameters:
        raise AttributeError("its proposer cannot be asked for no tokens")

    @wraps(propose)
    def propose_or_skip(proposer: Any, *arguments: Any, **inputs: Any) -> Any:
        step = inputs.get("common_attn_metadata")
        # A request that reads its prompt computes more than one token in the step.
        if inputs.get("num_speculative_tokens") == 0 and step is not None and step.max_query_len == 1:
            return inputs["next_token_ids"].new_empty((step.batch_size(), 0))
        return propose(proposer, *arguments, **inputs)

    return propose_or_skip


def _install() -> None:
    try:
        from vllm.v1.spec_decode.llm_base_proposer import SpecDecodeBaseProposer as Proposer  # noqa: PLC0415

        Proposer.propose = skip_empty_proposals(Proposer.propose)  # type: ignore[method-assign]
    except (ImportError, AttributeError) as error:
        log.warning("in this vLLM a draft costs time also where it is left out: %s", error)


_install()
