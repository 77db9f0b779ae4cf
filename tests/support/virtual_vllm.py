"""vLLM on virtual time: schedulers and KV cache are real; the model's steps only take time.

`VirtualVllm` replaces `AsyncLLM` inside `VllmLlm`. Its loop is that of vLLM's `EngineCore` with asynchronous
scheduling (`step_with_batch_queue`): the next step is chosen while one is computed, so a request that arrives
during a step joins the step after the next one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from types import SimpleNamespace
from typing import Any

from card_costs import Card
from late_import import late
from prometheus_client import CollectorRegistry
from scheduler_steps import new_scheduler

from llmcore.engines.vllm_engine import VllmLlm
from llmcore.engines.vllm_internals.engine import choose_scheduler
from llmcore.engines.vllm_process import RunningVllm
from llmcore.engines.vllm_settings import VllmSettings, engine_arguments
from llmcore.text.chat_template import ChatTemplate
from llmcore.text.chat_tokens import ChatTokens

arguments = late("vllm.engine.arg_utils")
cache_utils = late("vllm.v1.core.kv_cache_utils")
hashing = late("vllm.utils.hashing")
tokenizers = late("vllm.tokenizers")
vllm_outputs = late("vllm.v1.outputs")
vllm_request = late("vllm.v1.request")

BLOCK_TOKENS = 16
STEPS_AHEAD = 2
"""Number of steps chosen before the first of them has ended: vLLM's batch queue with asynchronous
scheduling.
"""
IDLE_S = 0.001
"""vLLM's pause while there are requests but none can be computed."""


@dataclass(slots=True)
class StepCounts:
    """Number of steps by kind, and their total time in seconds. reading: steps that also read prompts."""

    writing: int = 0
    reading: int = 0
    writing_s: float = 0.0
    reading_s: float = 0.0
    read_tokens: int = 0
    longest_s: float = 0.0

    def add(self, step_s: float, read_tokens: int) -> None:
        """Count one step."""
        if read_tokens:
            self.reading, self.reading_s = self.reading + 1, self.reading_s + step_s
        else:
            self.writing, self.writing_s = self.writing + 1, self.writing_s + step_s
        self.read_tokens += read_tokens
        self.longest_s = max(self.longest_s, step_s)


@dataclass(slots=True)
class _Step:
    """A step in flight. over_s: time at which its tokens are ready."""

    over_s: float
    chosen: Any
    output: Any


@dataclass(slots=True)
class _Open:
    """An open request of the engine. outputs: not yielded yet. cached: prompt tokens in the cache."""

    cached: int = 0
    outputs: asyncio.Queue[Any] = field(default_factory=asyncio.Queue)


class VirtualVllm:
    """An engine as `VllmLlm` uses it, on the loop of `run_virtually`.

    config: vLLM's own. step_ms: the card's time for a step, by sequences and prompt tokens. words:
    vocabulary; `random` picks a word for each token.
    """

    errored = False

    def __init__(
        self,
        config: Any,
        card: Card,
        step_ms: Callable[[int, int], float],
        words: Sequence[str],
        random: Random,
    ) -> None:
        self.scheduler = new_scheduler(config, card.blocks, BLOCK_TOKENS)
        self.scheduler.now_s = self.scheduler.clock = self._now_s
        self.counts = StepCounts()
        self._card, self._step_ms = card, step_ms
        self._words, self._random = words, random
        self._hasher = cache_utils.get_request_block_hasher(BLOCK_TOKENS, hashing.sha256)
        self._open: dict[str, _Open] = {}
        self._arrived = asyncio.Event()
        self._free_s = 0.0
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._run())

    async def generate(
        self, prompt: Any, params: Any, *, request_id: str, priority: int = 0, **_: Any
    ) -> AsyncGenerator[Any, None]:
        """Yield the outputs of a request; closing the generator aborts it."""
        arrival_s = self._now_s()
        await asyncio.sleep(self._card.request_ms / 1000)
        request = vllm_request.Request(
            request_id,
            list(prompt["prompt_token_ids"]),
            params,
            None,
            priority=priority,
            arrival_time=arrival_s,
            block_hasher=self._hasher,
        )
        request_open = self._open[request_id] = _Open()
        self.scheduler.add_request(request)
        self._arrived.set()
        try:
            while True:
                output = await request_open.outputs.get()
                yield output
                if output.finished:
                    return
        finally:
            if self._open.pop(request_id, None) is not None and not request.is_finished():
                self.scheduler.finish_requests(request_id, vllm_request.RequestStatus.FINISHED_ABORTED)

    async def close(self) -> None:
        """End the loop."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def _now_s(self) -> float:
        return self._loop.time()

    async def _run(self) -> None:
        ahead: deque[_Step] = deque()
        while True:
            if self.scheduler.has_requests():
                ahead.append(await self._choose())
                if len(ahead) < STEPS_AHEAD and ahead[-1].chosen.total_num_scheduled_tokens:
                    continue
            elif not ahead:
                self._arrived.clear()
                await self._arrived.wait()
                continue
            step = ahead.popleft()
            await asyncio.sleep(max(0.0, step.over_s - self._now_s()))
            outputs = self.scheduler.update_from_output(step.chosen, step.output)
            if not step.chosen.total_num_scheduled_tokens and not ahead:
                await asyncio.sleep(IDLE_S)
            for core in outputs.values():
                for output in core.outputs:
                    self._deliver(output)

    async def _choose(self) -> _Step:
        chosen = self.scheduler.schedule()
        computed = chosen.num_scheduled_tokens
        await asyncio.sleep(self._card.scheduler_ms(len(computed)) / 1000)
        requests = [self.scheduler.requests.get(name) for name in computed]
        tokens = [[] if request is None or request.is_prefill_chunk else [9] for request in requests]
        output = vllm_outputs.ModelRunnerOutput(
            list(computed), {name: at for at, name in enumerate(computed)}, tokens
        )
        begins_s = max(self._free_s, self._now_s())
        if computed:
            read = sum(number for number in computed.values() if number > 1)
            step_s = self._step_ms(len(computed), read) / 1000
            self.counts.add(step_s, read)
            self._free_s = begins_s + step_s
        return _Step(self._free_s if computed else begins_s, chosen, output)

    def _deliver(self, output: Any) -> None:
        if (request_open := self._open.get(output.request_id)) is None:
            return
        reason = output.finish_reason
        completion = SimpleNamespace(
            text="".join(self._random.choice(self._words) for _ in output.new_token_ids),
            token_ids=output.new_token_ids,
            finish_reason=None if reason is None else str(reason),
            logprobs=None,
        )
        if output.prefill_stats is not None:
            request_open.cached = output.prefill_stats.num_cached_tokens
        cached = request_open.cached
        request_open.outputs.put_nowait(
            SimpleNamespace(
                outputs=[completion], num_cached_tokens=cached, finished=reason is not None, metrics=None
            )
        )


class VirtualVllmLlm(VllmLlm):
    """Our engine for vLLM, with a virtual vLLM."""

    def use(self, card: Card, words: Sequence[str], seed: int, *, knows_graphs: bool = True) -> VirtualVllm:
        """Replace the real vLLM by a virtual one on the running loop, and return it. knows_graphs: True if
        our scheduler finds CUDA graphs in the configuration.
        """
        config = virtual_config(self, knows_graphs)
        step_ms = partial(card.step_ms, graph_tokens=graph_tokens(self))
        engine = VirtualVllm(config, card, step_ms, words, Random(seed))
        tokenizer = tokenizers.get_tokenizer(self.model)
        chat = _chat_tokens(tokenizer, config.model_config.max_model_len)
        running = RunningVllm(engine, chat, frozenset(tokenizer.all_special_tokens), CollectorRegistry())
        process = SimpleNamespace(current=running, note_output=lambda: None)
        self.process = process  # type: ignore[assignment]
        return engine


def graph_tokens(settings: VllmSettings) -> int:
    """Return the largest step that vLLM captures in CUDA graphs, set or chosen by vLLM."""
    chosen: int = (settings.engine_args or {}).get("max_cudagraph_capture_size", 0)
    return chosen or min(2 * settings.max_num_seqs, 512)


def virtual_config(settings: VllmSettings, knows_graphs: bool) -> Any:
    """Return vLLM's own configuration as on a GPU: steps chosen ahead, CUDA graphs, blocks of 16 tokens."""
    ours = engine_arguments(settings, on_cpu=True) | {"block_size": BLOCK_TOKENS}
    config = arguments.AsyncEngineArgs(**ours).create_engine_config()
    config.scheduler_config.async_scheduling = True
    config.compilation_config.cudagraph_capture_sizes = [graph_tokens(settings)] if knows_graphs else []
    choose_scheduler(config.scheduler_config)
    return config


def _chat_tokens(tokenizer: Any, context_tokens: int) -> ChatTokens:
    names = {name: text for name, text in tokenizer.special_tokens_map.items() if isinstance(text, str)}

    def encode(text: str) -> list[int]:
        ids: list[int] = tokenizer.encode(text, add_special_tokens=False)
        return ids

    template = ChatTemplate(tokenizer.get_chat_template(), names)
    return ChatTokens(template, encode, context_tokens, tokenizer.all_special_tokens)
