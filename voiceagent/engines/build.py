"""Makes an engine from its table in the configuration.

An engine is a class; its table is its keyword arguments. Only the chosen one is imported. A class that blocks
gets processes of its own; the key `workers`, beside its own keys, says how many.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model

from voiceagent.engines.catalogue import KNOWN_ENGINES, KnownEngine, Stage
from voiceagent.engines.checked import checked_class
from voiceagent.engines.config import EngineConfig
from voiceagent.engines.hosted import HostedRecognizer, HostedSynthesizer, is_blocking
from voiceagent.engines.languages import OtherLanguage, in_language
from voiceagent.processes.policies.liveness import Supervision
from voiceagent.validation.errors import problem
from voiceagent.validation.references import import_object, resolve_paths
from voiceagent.validation.section import check
from voiceagent.weights import find_weights

_SUPERVISION = Supervision()


def build_engine(
    stage: Stage,
    table: EngineConfig,
    source: Path,
    name: str = "",
    supervision: Supervision = _SUPERVISION,
    language: str = "",
) -> Any:
    """Make the engine of one stage from its table in `source`. Raises ConfigError.

    name: the table's, where that is not the stage's. supervision: how its processes are supervised, if it
    gets some. language: that it is for, an ISO 639 code; "" asks for none.
    """
    name = name or stage
    engine_class = _engine_class(stage, table.engine, source, f"{name}.engine")
    known = next((one for one in KNOWN_ENGINES if (one.stage, one.name) == (stage, table.engine)), None)
    try:
        options = in_language(known, engine_class, table.engine, table.options, language)
    except OtherLanguage as error:
        raise problem(source, f"{name}.{error.key}", error.value, str(error)) from error
    arguments = _arguments(options, engine_class, source, name)
    _check(known, arguments, source, name)
    own = ":" in table.engine
    try:
        if not is_blocking(engine_class):
            return (checked_class(stage, engine_class, table.engine) if own else engine_class)(**arguments)
        workers = arguments.pop("workers", 1)
        shell: type = HostedRecognizer if stage == "recognizer" else HostedSynthesizer
        if own:
            shell = checked_class(stage, shell, table.engine)
        return shell(engine_class, arguments, workers, supervision)
    except (ValueError, TypeError, OSError) as error:
        raise problem(source, f"{name}.engine", table.engine, str(error)) from error


def _arguments(given: Mapping[str, Any], engine_class: type, source: Path, name: str) -> dict[str, Any]:
    """The keyword arguments of an engine, checked, with its paths found. Raises ConfigError."""
    options = {}
    for key, value in given.items():
        try:
            weights = find_weights(value, os.environ) if isinstance(value, str) else None
            options[key] = resolve_paths(value, source.parent) if weights is None else str(weights)
        except FileNotFoundError as error:
            raise problem(source, f"{name}.{key}", value, str(error)) from error
    checked = check(keyword_model(engine_class), options, source, prefix=f"{name}.")
    arguments = {key: getattr(checked, key) for key in checked.model_fields_set}
    for key, value in arguments.items():
        if isinstance(value, Path) and not value.is_absolute():
            message = "not a path; allowed: ./ or ../ (from this file), /, ~/ or package: before it"
            raise problem(source, f"{name}.{key}", given[key], message)
        if isinstance(value, Path) and not value.exists():
            raise problem(source, f"{name}.{key}", given[key], "no such file or folder")
    return arguments


def _check(known: KnownEngine | None, arguments: Mapping[str, Any], source: Path, name: str) -> None:
    """Refuse what an engine with a short name would refuse as it starts. Raises ConfigError."""
    if known is None or not known.misfits:
        return
    own = {key: value for key, value in arguments.items() if key != "workers"}
    for key, message in import_object(known.misfits)(**own):
        raise problem(source, f"{name}.{key}", own.get(key), message)


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


def keyword_model(engine_class: type) -> type[BaseModel]:
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
    if is_blocking(engine_class):
        fields["workers"] = (int, 1)
    settings = ConfigDict(extra=extra, arbitrary_types_allowed=True, protected_namespaces=())
    return create_model("Options", __config__=settings, **fields)
