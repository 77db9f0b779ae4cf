"""Checks of a configuration on this machine, and of everything that a start would miss."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from shutil import which
from typing import Any, Literal

from audio.detection import smart_turn, vad
from llmcore.engines.vllm_fitness import NEEDED, SECOND_RUNNER, Device, draft_cost_warning, misfits
from llmcore.engines.vllm_settings import VllmSettings
from voiceagent.access.auth import accepted_keys
from voiceagent.agents.load import load_agents
from voiceagent.config.tables import Config
from voiceagent.engines.build import build_engine, missing_key
from voiceagent.engines.catalogue import KNOWN_ENGINES, Stage
from voiceagent.engines.config import EngineConfig
from voiceagent.mcp.pool import McpPool
from voiceagent.server.engine_tables import VOICE_TABLE, engine_tables
from voiceagent.server.readiness.machine import GIB, Machine, int8_arithmetic
from voiceagent.server.readiness.weights import Weights, loaded_bytes, offline, weights_of
from voiceagent.transports.webrtc.network import network
from voiceagent.validation.errors import ConfigError, config_error
from voiceagent.validation.references import resolve_paths, weights_in
from voiceagent.weights import Weights as DownloadedWeights
from voiceagent.weights import is_stored, known_weights, weights_folder

State = Literal["ok", "note", "missing"]
DEMO_MODEL = "package:voiceagent.demo/weights/ct2"
VLLM_BYTES = int(2.3 * GIB)
"""Memory of vLLM's processes in addition to weights and KV cache, measured on a CPU."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of a check. table: of the configuration. state: "missing" if the server cannot start."""

    table: str
    state: State
    text: str


def find(config: Config, machine: Machine, environ: Mapping[str, str]) -> list[Finding]:
    """Return everything that can be known without loading anything, by table."""
    findings = [
        finding
        for name, stage, table in engine_tables(config)
        for finding in _of_table(config, name, stage, table, machine, environ)
    ]
    others = (*_upstream(config, environ), *_agents(config, environ), *_turns(config), *_llm_end(config))
    secrets = _environment(config, environ)
    return [*others, *findings, *secrets, *_extras(config), *_memory(config, machine, environ)]


def _upstream(config: Config, environ: Mapping[str, str]) -> Iterator[Finding]:
    if config.upstream.url is None:
        return
    try:
        config.upstream.key(environ, config.source)
    except ConfigError as error:
        yield Finding("upstream", "missing", str(error))
        return
    yield Finding(
        "upstream", "ok", f"{config.upstream.model_name} at {config.upstream.url} is the core of calls"
    )


def _agents(config: Config, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Check agents in Python, and the MCP servers that offer them tools."""
    try:
        load_agents(config.agent, config.instructions(), config.source)
        McpPool(config.mcp, config.agent.mcp, environ, config.source)
    except ConfigError as error:
        yield Finding("agent", "missing", str(error))
    for server in config.agent.mcp:
        if server.command is not None and which(server.command, path=environ.get("PATH")) is None:
            key = f"agent.mcp.{server.label}.command"
            text = config_error(
                config.source, key, server.command, "no such program; allowed: one in PATH, or its path"
            )
            yield Finding("agent.mcp", "missing", str(text))


def _environment(config: Config, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Check the environment variables of tables other than engines, as a start does."""
    source, webhook_url, redis_url = config.source, config.webhooks.url, config.cluster.redis_url
    wanted: tuple[tuple[str, Callable[[], object]], ...] = (
        ("server", lambda: accepted_keys(config.server, source, environ)),
        ("telephony", lambda: config.telephony.lines(environ, source)),
        ("webrtc", lambda: network(config.webrtc, environ, source)),
        ("webhooks", lambda: webhook_url and config.webhooks.secret(environ, source)),
        ("cluster", lambda: config.cluster.gateway_url(environ, source)),
        ("cluster", lambda: redis_url and config.cluster.redis_password(environ, source)),
    )
    for table, ask in wanted:
        try:
            ask()
        except ConfigError as error:
            yield Finding(table, "missing", str(error))


def _extras(config: Config) -> Iterator[Finding]:
    """Check the packages of tables other than engines."""
    wanted = (
        ("echo", config.echo.cancel is True or config.echo.suppress_noise, "livekit"),
        ("calls", config.calls.folder, "zstandard"),
        ("otlp", config.otlp.endpoint, "opentelemetry"),
        ("cluster", config.cluster.redis_url, "redis"),
        ("languages", config.languages, "py3langid"),
    )
    for table, used, package in wanted:
        if used and find_spec(package) is None:
            yield Finding(table, "missing", f"needs pip install 'voiceagent-server[{table}]'")


def _turns(config: Config) -> Iterator[Finding]:
    """Check the models that no engine table names; their packages know the location."""
    wanted = [vad.installed_model]
    if config.turn.model == "installed":
        wanted.append(smart_turn.installed_model)
    for model in wanted:
        try:
            model()
        except (vad.VadError, smart_turn.TurnModelError) as error:
            yield Finding("turn", "missing", str(error))


def _llm_end(config: Config) -> Iterator[Finding]:
    """Check that calibrated numbers belong to the configured model."""
    found_for, has = config.turn.llm_end, config.llm.model_name
    if found_for is not None and found_for.model != has:
        text = f"its numbers are those of {found_for.model!r}, and [llm] has {has!r}: voiceagent calibrate"
        yield Finding("turn.llm_end", "note", text)


def _of_table(
    config: Config, name: str, stage: Stage, table: EngineConfig, machine: Machine, environ: Mapping[str, str]
) -> Iterator[Finding]:
    known = next((one for one in KNOWN_ENGINES if (one.stage, one.name) == (stage, table.engine)), None)
    if absent := _absent_weights(table, environ):
        for one in absent:
            text = f"{one.about}: a start downloads {one.bytes / 1e6:.0f} MB"
            yield Finding(name, "note", f"{text}, or: voiceagent weights {one.name}")
        return
    try:
        own = [code for code in config.languages if name == VOICE_TABLE.format(code)]
        language, others = (own[0], ()) if own else (config.agent.language, config.further_languages(stage))
        build_engine(stage, table, config.source, name, language=language, others=others)
        options = resolve_paths(table.options, config.source.parent)
    except (ConfigError, FileNotFoundError) as error:
        yield Finding(name, "missing", str(error))
        return
    licence = f"; licence {known.licence}" if known is not None and known.licence else ""
    yield Finding(name, "ok", f"{table.engine} is installed{licence}")
    for weights in weights_of(table.engine, options, environ):
        yield _of_weights(name, weights, environ)
    if variable := missing_key(stage, table, config.source, environ):
        yield Finding(name, "missing", f"the environment variable {variable} with the key is not set")
    yield from _devices(name, table.engine, options, machine)
    yield from _runner(name, table.engine, options, machine, environ)
    yield from _int8(name, table, options, machine, environ)


def _absent_weights(table: EngineConfig, environ: Mapping[str, str]) -> list[DownloadedWeights]:
    known, folder = known_weights(), weights_folder(environ)
    wanted = sorted(weights_in(table.options) & known.keys())
    return [known[weights] for weights in wanted if not is_stored(known[weights], folder)]


def _of_weights(name: str, weights: Weights, environ: Mapping[str, str]) -> Finding:
    if weights.folder is None:
        how = "and HF_HUB_OFFLINE forbids asking the hub" if offline(environ) else "a start would download it"
        state: State = "missing" if offline(environ) or weights.looked_in.name == weights.name else "note"
        text = f"{weights.key} {weights.name!r} is not in {weights.looked_in}, {how}: {weights.way_out}"
        return Finding(name, state, text)
    size = f"{weights.bytes() / GIB:.2f} GiB"
    return Finding(name, "ok", f"{weights.key} in {weights.folder}, {size}; its licence: {weights.licence()}")


def _devices(name: str, engine: str, options: Mapping[str, Any], machine: Machine) -> Iterator[Finding]:
    if options.get("device") == "cuda" and not machine.gpus:
        yield Finding(name, "missing", 'device is "cuda", and nvidia-smi knows no GPU here: take "cpu"')
    if engine != "vllm":
        return
    if machine.vllm == "cuda" and not machine.gpus:
        yield Finding(name, "missing", "vLLM is here in its CUDA build, and nvidia-smi knows no GPU here")
    on_gpu = machine.vllm == "cuda" and bool(machine.gpus)
    packages = frozenset(package for package in NEEDED.values() if find_spec(package) is not None)
    device = Device(
        len(machine.gpus) if on_gpu else 0, machine.gpus[0].capability if on_gpu else None, packages
    )
    for misfit in misfits(VllmSettings(**options), device):
        yield Finding(name, "missing", misfit)
    what = ", ".join(f"{gpu.name}, {gpu.memory_bytes / GIB:.0f} GiB" for gpu in machine.gpus)
    yield Finding(name, "ok" if on_gpu else "note", f"vLLM computes on {what if on_gpu else 'the CPU'}")


def _runner(
    name: str, engine: str, options: Mapping[str, Any], machine: Machine, environ: Mapping[str, str]
) -> Iterator[Finding]:
    """Check the effect of vLLM's model runner on a GPU. Its choice depends on vLLM's version, and is in
    vLLM's own log.
    """
    if engine != "vllm" or machine.vllm != "cuda" or environ.get(SECOND_RUNNER) == "0":
        return
    if cost := draft_cost_warning(VllmSettings(**options)):
        yield Finding(name, "note", cost)


def _int8(
    name: str, table: EngineConfig, options: Mapping[str, Any], machine: Machine, environ: Mapping[str, str]
) -> Iterator[Finding]:
    """Report the arithmetic of int8 on the CPU, with a note if it may change what other weights answer."""
    kind, device = str(options.get("compute_type", "int8")), options.get("device", "cpu")
    if table.engine not in ("ctranslate2", "whisper") or device == "cuda":
        return
    if not kind.startswith(("int8", "auto", "default")):
        return
    if (arithmetic := int8_arithmetic(machine.cpuinfo, environ)) is None:
        return
    # measured (tests/bench/results/demo_model.md): the demo's model answers the same by either, and Whisper
    # base reads the same words; Qwen2.5-Coder 0.5B does not always answer the same
    same = table.engine == "whisper" or str(table.options.get("model")) == DEMO_MODEL
    yield Finding(name, "note" if arithmetic.saturates and not same else "ok", arithmetic.describe())


def _memory(config: Config, machine: Machine, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Compare weights and KV caches with the free memory; on a GPU with the fraction that vLLM may use."""
    needed, unknown, with_vllm = 0, False, False
    for name, _, table in engine_tables(config):
        try:
            options = resolve_paths(table.options, config.source.parent)
        except FileNotFoundError:
            continue
        dtype, quantization = options.get("dtype", "auto"), options.get("quantization")
        models = list(weights_of(table.engine, options, environ))
        unknown = unknown or any(one.folder is None for one in models)
        size = sum(loaded_bytes(one, dtype, quantization) for one in models)
        if table.engine == "vllm" and machine.vllm == "cuda" and machine.gpus:
            yield from _gpu_memory(name, options, size, machine)
            continue
        needed += size
        if table.engine == "vllm":
            with_vllm = True
            needed += VLLM_BYTES + int(options.get("kv_cache_gib", 0) * GIB)
    free = machine.memory_bytes
    if free is not None:
        what = "weights, vLLM and its KV cache" if with_vllm else "weights"
        if unknown:
            what += ", without those that are not here yet"
        some = f"{needed / GIB:.1f} GiB" if needed >= GIB // 10 else f"{needed >> 20} MiB"
        text = (
            f"some {some} for {what}; free: {free / GIB:.1f} GiB" if needed else f"free: {free / GIB:.1f} GiB"
        )
        yield Finding("memory", "ok" if needed <= free else "missing", text)


def _gpu_memory(name: str, options: Mapping[str, Any], size: int, machine: Machine) -> Iterator[Finding]:
    gpus = machine.gpus[: options.get("tensor_parallel_size", 1)]
    allowed = options.get("gpu_memory_utilization", 0.9) * sum(gpu.memory_bytes for gpu in gpus)
    text = f"weights of some {size / GIB:.1f} GiB in {allowed / GIB:.1f} GiB of the GPU; the rest is KV cache"
    yield Finding(name, "ok" if size < allowed else "missing", text)
