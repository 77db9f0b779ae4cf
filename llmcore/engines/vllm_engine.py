"""vLLM, on a GPU or a CPU: the production engine. For versions 0.24 to 0.33.

0.33 has no CPU build yet: its Python was tested on the kernels of 0.32's.

vLLM runs in processes of its own, batches all replies and shares computed prompt prefixes. If they die, the
requests in flight fail, and the engine is restarted in the background.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from prometheus_client import CollectorRegistry

from llmcore.engine import FREE_DRAFT, Delta, DraftUse, Request, ServerError, Usage
from llmcore.engine_load import EngineLoad, Eviction, Steps
from llmcore.engines.vllm_marks import marks_of
from llmcore.engines.vllm_process import RunningVllm, VllmProcess
from llmcore.engines.vllm_settings import VllmSettings
from llmcore.text.chat_tokens import KnownTexts
from llmcore.text.closing_tokens import summed
from llmcore.text.control_marks import are_special_tokens
from llmcore.text.finish_words import finish_reason
from llmcore.text.message_shapes import Shapes
from llmcore.text.reply import ReplyParser, forces_a_call
from llmcore.text.stop_strings import StopStrings
from llmcore.text.tool_calls import BARE_JSON, call_schema, find_markup

if TYPE_CHECKING:
    from vllm.outputs import RequestOutput
    from vllm.sampling_params import SamplingParams


@dataclass(eq=False)
class VllmLlm(VllmSettings):
    """An `llmcore.engine.Llm` on vLLM. For its keyword arguments see VllmSettings."""

    process: VllmProcess = field(init=False, repr=False)
    _known_texts: KnownTexts = field(init=False, repr=False, default_factory=KnownTexts)

    def __post_init__(self) -> None:
        find_markup(self.tool_markup)
        self.process = VllmProcess(self)

    @property
    def running(self) -> int:
        """Requests in vLLM, neither finished nor aborted."""
        count: int = self.process.current.engine.output_processor.get_num_unfinished_requests()
        return count

    @property
    def has_draft(self) -> bool:
        """True if a draft can propose for single requests; vLLM's own schedulers cannot do that."""
        return self.speculative is not None and self.scheduling_policy == "priority"

    @property
    def shapes(self) -> Shapes:
        """Message shapes that the model's template refuses; none while no engine runs."""
        return self.process.shapes

    def load(self) -> EngineLoad:
        """Return vLLM's own metrics and our scheduler's report; all zero while no engine runs."""
        return with_report(read_load(self.process.metrics), self.process.report)

    async def start(self) -> None:
        """Load the model.

        Raises:
            LlmError: it cannot be loaded, or this machine or model does not support a setting.
        """
        await self.process.start()

    async def close(self) -> None:
        """End vLLM's processes; a second call does nothing."""
        await self.process.close()

    async def generate(self, request: Request, draft: DraftUse = FREE_DRAFT) -> AsyncGenerator[Delta, None]:
        """Generate a reply. Closing the generator aborts the request in vLLM and frees its cache.

        Raises:
            LlmError: the request is invalid or the engine failed.
        """
        forced = forces_a_call(request)
        markup = BARE_JSON if forced else find_markup(self.tool_markup)
        vllm = self.process.current
        in_thought = vllm.chat.template.opens_thought and not forced
        parser = ReplyParser(request, markup, in_thought=in_thought)
        prompt = await self._encoded(vllm.chat.prompt, request)
        # keep marks that are special tokens: without them their content would be spoken
        shown = are_special_tokens(vllm.special_tokens)
        params = _generation_params(request, forced, marks_of(request, draft), skip_special_tokens=not shown)
        # not vLLM's: it holds back as many characters as the longest stop string has, whatever they are
        stops = StopStrings(request.stop)
        cached = written = 0
        async with aclosing(self._outputs(vllm, prompt, params, request)) as outputs:
            async for output in outputs:
                completion = output.outputs[0]
                cached = max(cached, output.num_cached_tokens or 0)
                written += len(completion.token_ids)
                for delta in parser.push(stops.push(completion.text)):
                    yield delta
                if output.finished or stops.stopped:
                    usage = Usage(len(prompt), cached, written, _queued_s(output))
                    ended = "stop" if stops.stopped else completion.finish_reason
                    reason = finish_reason(ended, f"vLLM ({self.model})")
                    for delta in [*parser.push(stops.finish()), *parser.finish(reason, usage)]:
                        yield delta
                    return

    async def prefill(self, request: Request, draft: DraftUse = FREE_DRAFT) -> Usage | None:
        """Read the unfinished prompt into the prefix cache.

        Raises:
            LlmError: the request is invalid or the engine failed.
        """
        if not self.enable_prefix_caching:
            return None
        vllm = self.process.current
        prompt = await self._encoded(vllm.chat.unfinished, request)
        usage = Usage(len(prompt))
        end = vllm.chat.closing if request.asks_end else ()
        params = _prefill_params(marks_of(request, draft), end)
        async with aclosing(self._outputs(vllm, prompt, params, request)) as outputs:
            async for output in outputs:
                log_probability = _log_probability(output, end)
                usage = Usage(
                    len(prompt), output.num_cached_tokens or 0, 1, end_log_probability=log_probability
                )
        return usage

    async def _encoded(self, encode: Callable[[Request], list[int]], request: Request) -> list[int]:
        """Return the tokens of a prompt. Raise LlmError."""
        if self._known_texts.is_short(request):
            prompt = encode(request)
        else:
            # Jinja and the tokenizer take milliseconds for a long text, which would delay other calls' audio
            prompt = await asyncio.to_thread(encode, request)
        self._known_texts.add(request)
        return prompt

    async def _outputs(
        self, vllm: RunningVllm, prompt: list[int], params: SamplingParams, request: Request
    ) -> AsyncGenerator[RequestOutput, None]:
        from vllm.inputs import tokens_input  # noqa: PLC0415 - optional, and imported by now

        stream = vllm.engine.generate(
            tokens_input(prompt),
            params,
            # not the caller's id: two requests of one call may run at once
            request_id=uuid4().hex,
            trace_headers={"traceparent": request.traceparent} if request.traceparent else None,
            priority=request.priority if self.scheduling_policy == "priority" else 0,
        )
        async with aclosing(stream) as outputs:
            try:
                async for output in outputs:
                    self.process.note_output()
                    yield output
            except Exception as error:  # vLLM's exceptions differ between versions
                died = "died in mid-reply" if vllm.engine.errored else "failed"
                raise ServerError(f"vLLM ({self.model}) {died}: {error}") from error


def _queued_s(output: RequestOutput) -> float | None:
    """Return the time in vLLM's queue, or None if its statistics are off."""
    stamps = output.metrics
    scheduled_s, queued_s = getattr(stamps, "scheduled_ts", 0.0), getattr(stamps, "queued_ts", 0.0)
    return float(scheduled_s - queued_s) if scheduled_s and queued_s else None


def _generation_params(
    request: Request, forced: bool, marks: dict[str, Any], skip_special_tokens: bool
) -> SamplingParams:
    from vllm.sampling_params import (  # noqa: PLC0415 - optional, and imported by now
        RequestOutputKind,
        SamplingParams,
        StructuredOutputsParams,
    )

    options: dict[str, Any] = {}
    if forced:
        schema = call_schema(request)
        options["structured_outputs"] = StructuredOutputsParams(json=schema, disable_any_whitespace=True)
    return SamplingParams(
        max_tokens=request.max_tokens,
        temperature=request.temperature,
        skip_special_tokens=skip_special_tokens,
        output_kind=RequestOutputKind.DELTA,
        extra_args=marks,
        **options,
    )


def _prefill_params(marks: dict[str, Any], asked: tuple[int, ...]) -> SamplingParams:
    """Return the parameters of a prefill. asked: the tokens that must get a probability."""
    from vllm.sampling_params import RequestOutputKind, SamplingParams  # noqa: PLC0415

    options: dict[str, Any] = {"logprob_token_ids": list(asked)} if asked else {}
    return SamplingParams(
        max_tokens=1, detokenize=False, output_kind=RequestOutputKind.FINAL_ONLY, extra_args=marks, **options
    )


def _log_probability(output: RequestOutput, tokens: tuple[int, ...]) -> float | None:
    """Return the log probability that one of these tokens comes first.

    None in a step in which a draft proposes for others.
    """
    places = output.outputs[0].logprobs
    reported = places[0] if tokens and places else None
    return (
        summed(float(reported[token].logprob) for token in tokens if token in reported) if reported else None
    )


_METRICS = (
    "vllm:num_requests_running",
    "vllm:num_requests_waiting",
    "vllm:kv_cache_usage_perc",
    "vllm:num_preemptions_total",
    "vllm:spec_decode_num_drafts_total",
    "vllm:spec_decode_num_draft_tokens_total",
    "vllm:spec_decode_num_accepted_tokens_total",
    "vllm:spec_decode_num_accepted_tokens_per_pos_total",
)


def read_load(metrics: CollectorRegistry) -> EngineLoad:
    """Return the load by an engine's metrics; missing ones are 0 or None."""
    values: dict[str, float] = {}
    by_position: dict[int, float] = {}
    for family in metrics.restricted_registry(_METRICS).collect():
        for sample in family.samples:
            if "position" in sample.labels:
                position = int(sample.labels["position"])
                by_position[position] = by_position.get(position, 0.0) + sample.value
            else:
                # one sample per engine of a data-parallel group
                values[sample.name] = values.get(sample.name, 0.0) + sample.value

    def count(name: str) -> int | None:
        return int(values[name]) if name in values else None

    return EngineLoad(
        running=count(_METRICS[0]) or 0,
        waiting=count(_METRICS[1]) or 0,
        cache_usage=values.get(_METRICS[2]),
        preemptions=count(_METRICS[3]),
        drafts=count(_METRICS[4]),
        drafted=count(_METRICS[5]),
        accepted=count(_METRICS[6]),
        accepted_at=tuple(int(by_position[position]) for position in sorted(by_position)),
    )


def with_report(load: EngineLoad, report: Mapping[str, Any]) -> EngineLoad:
    """Return the load with our scheduler's report added (`vllm_internals.report`), if there is one."""
    if not report:
        return load
    seconds, tokens, sequences = (tuple(report[name]) for name in ("step_s", "tokens", "sequences"))
    return replace(
        load,
        steps=Steps(seconds, tokens, sequences, report["max_tokens"], report["max_sequences"]),
        evictions=tuple(Eviction(*counted) for counted in report["evicted"]),
    )
