"""Part of the scheduler in vLLM's own process: a draft proposes for some requests only.

vLLM speculates for all requests or for none. Here a draft's proposals are dropped for a request whose budget
is used up. In a step where no request wants any, the draft is asked for none (`speculation` makes that free),
and they are not fetched from the worker either. The step also says if the draft should read the prompts in
it. For vLLM 0.32 and 0.33, which can ask for none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from llmcore.engines.vllm_marks import (
    DRAFT_READS,
    UNREAD,
    marked,
    proposals_left,
    take_proposal,
    waits_for_draft,
)

if TYPE_CHECKING:
    from vllm.v1.core.sched.scheduler import Scheduler as _Base
else:
    _Base = object


class SelectiveDrafting(_Base):
    """Mixin for vLLM's scheduler; must precede it in the MRO. wants_proposals: True if the last step should
    propose.
    """

    wants_proposals = True

    def _update_after_schedule(self, scheduler_output: Any) -> None:
        """Count the proposals verified in a scheduled step, and decide if the step should make new ones."""
        for request_id in scheduler_output.scheduled_spec_decode_tokens:
            take_proposal(self.requests[request_id])
        chosen = [self.requests[request_id] for request_id in scheduler_output.num_scheduled_tokens]
        self.wants_proposals = not self._has_draft_model() or any(map(proposals_left, chosen))
        if not self.wants_proposals:
            scheduler_output.num_spec_tokens_to_schedule = 0
            reads = any(_should_draft_read(request) for request in chosen)
            setattr(scheduler_output, DRAFT_READS, reads)
        super()._update_after_schedule(scheduler_output)
        for request in chosen:  # the asynchronous scheduler has reserved placeholders for proposals here
            _drop_proposals(request)

    def update_draft_token_ids(self, draft_token_ids: Any) -> None:
        """Store proposals for the next step, without the unwanted ones."""
        super().update_draft_token_ids(draft_token_ids)
        for request_id in draft_token_ids.req_ids:
            if (request := self.requests.get(request_id)) is not None:
                _drop_proposals(request)

    def _has_draft_model(self) -> bool:
        """Return True if skipping proposals saves anything. Suffix decoding does not support it."""
        speculative = self.vllm_config.speculative_config
        return speculative is not None and (speculative.use_eagle() or speculative.uses_draft_model())


def skip_unneeded_fetch(post_step: Callable[[Any, bool], None]) -> Callable[[Any, bool], None]:
    """Wrap `EngineCore.post_step`, which fetches the proposals from the worker, to skip it when there are
    none.

    On a CPU with a small model, that round trip is a noticeable part of a step.
    """

    @wraps(post_step)
    def post_step_if_needed(core: Any, model_executed: bool) -> None:
        if core.scheduler.wants_proposals:
            post_step(core, model_executed)

    return post_step_if_needed


def _should_draft_read(request: Any) -> bool:
    """Return True if the draft should read the request's prompt tokens of this step."""
    reads = request.num_computed_tokens < request.num_prompt_tokens
    return reads and not marked(request, UNREAD) and not waits_for_draft(request)


def _drop_proposals(request: Any) -> None:
    if not proposals_left(request):
        request.spec_token_ids = []
