"""The LLM alone under replayed conversations, each technique on and off."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import uvloop
from openai import APIError, AsyncOpenAI
from prometheus_client import CollectorRegistry
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from llm_load.calls import LlmFigures
from llm_load.distribution import Trace
from llm_load.measure import Load, measure, measure_freeing, measure_trace
from llm_load.overload import Overload, measure_overload
from llm_load.replay import Replay
from llm_load.variants import LlmVariant, Technique, for_bench, llm_variants, served_elsewhere
from llmcore.engine import Llm, LlmError
from llmcore.engines.vllm_settings import set_environment
from voiceagent.bench.calls import new_figure, write_plot
from voiceagent.bench.material import Material
from voiceagent.bench.server_process import stop
from voiceagent.config.tables import Config
from voiceagent.llm.monitor import LlmMonitor
from voiceagent.server.engine_building import build_engines
from voiceagent.telemetry.llm_metrics import LlmMetrics
from voiceagent.telemetry.log import configure_log
from voiceagent.validation.errors import CommandFailed
from voiceagent.validation.references import resolve_paths

NAME = "plain"
"""Model name at the server."""
READY_S, STOP_S = 300.0, 20.0
_ARGUMENTS = (
    "model",
    "dtype",
    "quantization",
    "kv_cache_dtype",
    "load_format",
    "max_model_len",
    "max_num_seqs",
)
"""Settings of the model, its formats and the number of calls. vLLM chooses all others."""


def plain_command(options: dict[str, Any], port: int) -> list[str]:
    """Return the command line that starts vLLM with prefix caching. Uses `python -m`: `vllm
    serve` fails in the CPU build.
    """
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--host", "127.0.0.1"]
    command += ["--port", str(port), "--served-model-name", NAME]
    command += ["--enable-prefix-caching", "--enable-prompt-tokens-details"]
    for name in _ARGUMENTS:
        if options.get(name) is not None:
            command += [f"--{name.replace('_', '-')}", str(options[name])]
    if options.get("kv_cache_gib") is not None:
        command += ["--kv-cache-memory-bytes", str(int(options["kv_cache_gib"] * (1 << 30)))]
    return command


@asynccontextmanager
async def plain_vllm(config: Config) -> AsyncIterator[str]:
    """Start the server and yield its base URL.

    Raises CommandFailed if it does not start, or the configuration does not use vLLM.
    """
    if config.llm.engine != "vllm":
        raise CommandFailed(f"--plain-vllm is for the engine 'vllm'; that of [llm] is {config.llm.engine!r}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    set_environment()
    command = plain_command(resolve_paths(config.llm.options, config.source.parent), port)
    process = await asyncio.create_subprocess_exec(*command, stdout=sys.stderr, env=dict(os.environ))
    base_url = f"http://127.0.0.1:{port}/v1"
    try:
        async with asyncio.timeout(READY_S), AsyncOpenAI(base_url=base_url, api_key="none") as client:
            await _ready(process, client)
        yield base_url
    except TimeoutError:
        raise CommandFailed(f"plain vLLM did not start within {READY_S:.0f} s; see its log above") from None
    finally:
        await stop(process, STOP_S)


async def _ready(process: asyncio.subprocess.Process, client: AsyncOpenAI) -> None:
    while process.returncode is None:
        try:
            await client.models.list()
        except APIError:
            await asyncio.sleep(0.5)
        else:
            return
    raise CommandFailed(f"plain vLLM ended with status {process.returncode}; see its log above")


DEVIATION = 0.02
"""Standard deviation of the weights, as in untrained models."""


@contextmanager
def random_draft(config: Config) -> Iterator[Path | None]:
    """Yield the folder of the draft; None if the configuration has no folder of a draft model."""
    speculative = resolve_paths(config.llm.options.get("speculative") or {}, config.source.parent)
    model = Path(str(speculative.get("model", "")))
    if speculative.get("method") != "draft_model" or not (model / "model.safetensors").is_file():
        yield None
        return
    with TemporaryDirectory(prefix="voiceagent-draft-") as folder:
        yield _randomised(model, Path(folder) / "draft")


def _randomised(model: Path, folder: Path) -> Path:
    import torch  # noqa: PLC0415 - comes with vLLM, and is slow to import
    from safetensors.torch import load_file, save_file  # noqa: PLC0415

    shutil.copytree(model, folder)
    random = torch.Generator().manual_seed(1)
    weights = {
        name: (torch.randn(weight.shape, generator=random) * DEVIATION).to(weight.dtype)
        for name, weight in load_file(model / "model.safetensors").items()
    }
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


WARM_UP = Load(calls=1, turns=2)
"""Uncounted load before each variant: triggers lazy loading, and prefills the system prompt."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Parameters of a measurement.

    material: callers' questions. calls: numbers of concurrent calls, one measurement each, with the rest of
    `load`. compare: techniques to turn off in turn. trace: calls to replay instead of `calls` and `load`.
    baseline: base_url and model of a plain server to compare with. plain_vllm: start one for it. load_format:
    of the weights; "" as configured. plot: file of a plot, if any.
    """

    material: Material
    calls: tuple[int, ...] = (4,)
    load: Load = field(default_factory=lambda: Load(calls=4, turns=60))
    compare: tuple[Technique, ...] = ()
    trace: Trace = ()
    baseline: tuple[str, str] | None = None
    plain_vllm: bool = False
    load_format: str = ""
    plot: Path | None = None


@dataclass(frozen=True, slots=True)
class LlmResult:
    """Figures of one variant of the LLM at a number of concurrent calls."""

    variant: str
    calls: int
    figures: LlmFigures


def bench_llm(config: Config, plan: Plan, as_json: bool) -> None:
    """Run a plan and print the results. Raises CommandFailed, ConfigError."""
    configure_log(config.log.format, "error")
    with random_draft(config) if "speculation" in plan.compare else nullcontext(None) as bad_draft:
        results = uvloop.run(_measure_all(config, plan, bad_draft))
    if as_json:
        print(json.dumps({"measurements": [_as_json(result) for result in results]}, indent=2))
    else:
        for calls in (len(plan.trace),) if plan.trace else plan.calls:
            _print(calls, [result for result in results if result.calls == calls])
    if plan.plot is not None:
        plot_llm([(r.variant, r.calls, r.figures.summary()) for r in results], plan.plot)
    if failed := next((result.figures.failed for result in results if result.figures.failed), None):
        raise CommandFailed(f"turns without an answer; the first: {failed[0]}")


def bench_overload(config: Config, plan: Plan, as_json: bool) -> None:
    """Offer twice the calls that the LLM accepts, and print the results. Raises CommandFailed."""
    configure_log(config.log.format, "error")
    figures = uvloop.run(_measure_overload(config, plan)).summary()
    if as_json:
        print(json.dumps(figures, indent=2))
        return
    table = Table("", "", title="overload")
    for name, value in figures.items():
        table.add_row(name, f"{value:.2f}")
    Console().print(table)


async def _measure_all(config: Config, plan: Plan, bad_draft: Path | None) -> list[LlmResult]:
    variants = llm_variants(for_bench(config, plan.load_format), plan.compare, bad_draft)
    if plan.baseline is not None:
        variants.append(served_elsewhere(for_bench(config), *plan.baseline))
    results: list[LlmResult] = []
    with Progress(console=Console(stderr=True), transient=True) as progress:
        for variant in variants:
            results += await _measure_variant(variant, plan, progress)
        if plan.plain_vllm:
            plain = for_bench(config, plan.load_format)
            async with plain_vllm(plain) as base_url:
                variant = replace(served_elsewhere(plain, base_url, NAME), name="plain vLLM")
                results += await _measure_variant(variant, plan, progress)
    return results


async def _measure_variant(variant: LlmVariant, plan: Plan, progress: Progress) -> list[LlmResult]:
    results, replay = list[LlmResult](), Replay(plan.material.conversations())
    async with _running(variant, replay) as (llm, monitor):
        if plan.trace:
            turns = sum(len(call.turns) for call in plan.trace)
            bar = progress.add_task(f"{variant.name}, {len(plan.trace)} traced calls", total=turns)
            advance = partial(progress.advance, bar)
            figures = await measure_trace(llm, variant, plan.trace, replay, plan.load.seed, advance)
            return [LlmResult(variant.name, len(plan.trace), figures)]
        for calls in plan.calls:
            bar = progress.add_task(f"{variant.name}, {calls} calls", total=plan.load.turns)
            load = replace(plan.load, calls=calls)
            figures = await measure(llm, variant, load, replay, partial(progress.advance, bar))
            results.append(LlmResult(variant.name, calls, figures))
        results[-1].figures.times.freed += await measure_freeing(
            llm, partial(monitor.load, "llm"), replay, plan.load.seed
        )
    return results


async def _measure_overload(config: Config, plan: Plan) -> Overload:
    (variant,) = llm_variants(for_bench(config, plan.load_format), ())
    replay = Replay(plan.material.conversations())
    with Progress(console=Console(stderr=True), transient=True) as progress:
        async with _running(variant, replay) as (llm, monitor):
            return await measure_overload(llm, monitor, variant, replay, plan.load.seed, progress)


@asynccontextmanager
async def _running(variant: LlmVariant, replay: Replay) -> AsyncIterator[tuple[Llm, LlmMonitor]]:
    """Start a variant's LLM, warm it up and yield it with its monitor. Raises CommandFailed."""
    monitor = LlmMonitor(LlmMetrics(CollectorRegistry()))
    llm = build_engines(variant.config, monitor).llm
    try:
        await llm.start()
        await measure(llm, variant, WARM_UP, replay, lambda: None)
        yield llm, monitor
    except LlmError as error:
        raise CommandFailed(f"{variant.name}: {error}") from error
    finally:
        await llm.close()


def _as_json(result: LlmResult) -> dict[str, object]:
    return {"variant": result.variant, "calls": result.calls} | result.figures.summary()


def _print(calls: int, results: Sequence[LlmResult]) -> None:
    """Print a column for each variant, with ratios to the first one."""
    table = Table("", *(result.variant for result in results), title=f"{calls} calls")
    first = results[0].figures.summary()
    for name in first:
        cells = [f"{first[name]:.1f}"]
        for result in results[1:]:
            value = result.figures.summary().get(name)
            times = f" ({value / first[name]:.2f}x)" if value is not None and first[name] else ""
            cells.append("" if value is None else f"{value:.1f}{times}")
        table.add_row(name, *cells)
    Console().print(table)


def plot_llm(results: Sequence[tuple[str, int, Mapping[str, float]]], path: Path) -> None:
    """Write a PNG: TTFT and ITL over the number of calls, a line for each variant. Raises CommandFailed.

    results: variant, concurrent calls, and the figures by name.
    """
    figure = new_figure()
    for axes, name in zip(figure.subplots(1, 2), ("TTFT p95 ms", "ITL p95 ms"), strict=True):
        for variant in dict.fromkeys(variant for variant, _, _ in results):
            points = sorted((calls, row[name]) for v, calls, row in results if v == variant and name in row)
            axes.plot([calls for calls, _ in points], [ms for _, ms in points], marker="o", label=variant)
        axes.set(xlabel="calls at once", ylabel=name.removesuffix(" ms") + ", ms", ylim=(0, None))
    figure.axes[0].legend()
    write_plot(figure, path)
