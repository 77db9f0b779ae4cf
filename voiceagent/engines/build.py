"""Construction of an engine from its configuration table.

An engine is a class; its table holds its keyword arguments. Only the chosen one is imported. A blocking class
runs in processes of its own; the additional key `workers` sets their number, and `voices` names for a
synthesizer's voices.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model

from voiceagent.engines.catalogue import KNOWN_ENGINES, KnownEngine, Stage
from voiceagent.engines.checked import checked_class
from voiceagent.engines.config import EngineConfig
from voiceagent.engines.hosted import HostedRecognizer, HostedSynthesizer, is_blocking
from voiceagent.engines.languages import OtherLanguage, in_language, voices_for
from voiceagent.engines.timeouts import TimeoutsConfig
from voiceagent.processes.policies.liveness import Supervision
from voiceagent.validation.errors import ConfigError, config_error
from voiceagent.validation.references import import_object, resolve_paths, weights_in
from voiceagent.validation.section import check
from voiceagent.weights import WeightsUnavailable, fetch, known_weights, weights_folder
from voiceagent.weights.progress import shown_progress

_SUPERVISION = TimeoutsConfig().of_engines()
"""As a server has it by default: `voiceagent voices` waits for a slow voice, too."""
_OF_SHELLS = ("workers", "voices")
"""Keys of blocking engines that are not the engine's own."""


class WeightsMissing(ConfigError):
    """An engine's weights cannot be downloaded."""


class WeightsDamaged(ConfigError):
    """An engine's downloaded weights cannot be used."""


def build_engine(
    stage: Stage,
    table: EngineConfig,
    source: Path,
    name: str = "",
    supervision: Supervision = _SUPERVISION,
    language: str = "",
    others: Sequence[str] = (),
) -> Any:
    """Build the engine of a stage from its table in `source`. Missing weights are downloaded.

    Raises ConfigError, WeightsMissing, WeightsDamaged.

    name: the table's name, if it is not the stage's. supervision: of the engine's processes, if it has some.
    language: the agent's, an ISO 639 code; "" for any. others: further languages of calls that it must have.
    """
    name = name or stage
    engine_class = _engine_class(stage, table.engine, source, f"{name}.engine")
    known = next((one for one in KNOWN_ENGINES if (one.stage, one.name) == (stage, table.engine)), None)
    try:
        options = in_language(known, engine_class, table.engine, table.options, language, others)
    except OtherLanguage as error:
        raise config_error(source, f"{name}.{error.key}", error.value, str(error)) from error
    arguments = _arguments(options, engine_class, source, name)
    if "voices" in arguments:
        arguments["voices"] = voices_for(arguments["voices"], language)
    _check_misfits(known, arguments, options, source, name)
    is_custom = ":" in table.engine
    try:
        if not is_blocking(engine_class):
            plain = checked_class(stage, engine_class, table.engine) if is_custom else engine_class
            return plain(**arguments)
        shared = {key: arguments.pop(key) for key in _OF_SHELLS if key in arguments}
        shell: type = HostedRecognizer if stage == "recognizer" else HostedSynthesizer
        if is_custom:
            shell = checked_class(stage, shell, table.engine)
        return shell(engine_class, arguments, supervision=supervision, **shared)
    except (ValueError, TypeError, OSError) as error:
        raise config_error(source, f"{name}.engine", table.engine, str(error)) from error


def missing_key(stage: Stage, table: EngineConfig, source: Path, environ: Mapping[str, str]) -> str:
    """Return the environment variable that must have the engine's API key and has none; "" if nothing is
    missing. Loads no model. Raises ConfigError.
    """
    engine_class = _engine_class(stage, table.engine, source, f"{stage}.engine")
    variable = table.options.get("api_key_env", getattr(engine_class, "api_key_env", ""))
    return "" if not isinstance(variable, str) or environ.get(variable) else variable


def _arguments(given: Mapping[str, Any], engine_class: type, source: Path, name: str) -> dict[str, Any]:
    """Return an engine's keyword arguments, validated and with resolved paths. Raises ConfigError."""
    options = {}
    for key, value in given.items():
        _fetch_weights(value, source, f"{name}.{key}")
        try:
            options[key] = resolve_paths(value, source.parent)
        except FileNotFoundError as error:
            raise config_error(source, f"{name}.{key}", value, str(error)) from error
    checked = check(keyword_model(engine_class), options, source, prefix=f"{name}.")
    arguments = {key: getattr(checked, key) for key in checked.model_fields_set}
    for key, value in arguments.items():
        if isinstance(value, Path) and not value.is_absolute():
            message = "not a path; allowed: ./ or ../ (from this file), /, ~/ or package: before it"
            raise config_error(source, f"{name}.{key}", given[key], message)
        if isinstance(value, Path) and not value.exists():
            raise config_error(source, f"{name}.{key}", given[key], "no such file or folder")
    return arguments


def _fetch_weights(value: Any, source: Path, key: str) -> None:
    """Download the weights that a value names. Raises WeightsMissing."""
    known, folder = known_weights(), weights_folder(os.environ)
    for weights in sorted(weights_in(value) & known.keys()):
        try:
            with shown_progress() as progress:
                fetch(known[weights], folder, progress, os.environ)
        except WeightsUnavailable as error:
            raise WeightsMissing(str(config_error(source, key, value, str(error)))) from error


def _check_misfits(
    known: KnownEngine | None, arguments: Mapping[str, Any], given: Mapping[str, Any], source: Path, name: str
) -> None:
    """Raise ConfigError for arguments that a built-in engine would refuse at its start, WeightsDamaged if the
    refused one names downloaded weights. given: the arguments as in the file.
    """
    if known is None or not known.misfits:
        return
    options = {key: value for key, value in arguments.items() if key not in _OF_SHELLS}
    for key, message in import_object(known.misfits)(**options):
        if weights := weights_in(given.get(key)):
            remedy = f"to download damaged files again: voiceagent weights {' '.join(sorted(weights))}"
            raise WeightsDamaged(
                str(config_error(source, f"{name}.{key}", given[key], f"{message}; {remedy}"))
            )
        raise config_error(source, f"{name}.{key}", options.get(key), message)


def _engine_class(stage: Stage, name: str, source: Path, key: str) -> type:
    known = {engine.name: engine for engine in KNOWN_ENGINES if engine.stage == stage}
    if ":" not in name:
        if name not in known:
            allowed = ", ".join(known)
            raise config_error(
                source, key, name, f"no such engine; allowed: {allowed}, or package.module:Class"
            )
        if not known[name].installed():
            raise config_error(source, key, name, f"not installed; install it with: {known[name].install}")
    try:
        engine_class = import_object(known[name].path if name in known else name, source.parent)
    except (ImportError, ValueError) as error:
        raise config_error(source, key, name, f"cannot be imported: {error}") from error
    if not isinstance(engine_class, type):
        raise config_error(
            source,
            key,
            name,
            "not a class; allowed: a class that takes this table's keys as keyword arguments",
        )
    return engine_class


def keyword_model(engine_class: type) -> type[BaseModel]:
    """Return a pydantic model of a class's keyword arguments, by its type hints."""
    # the constructor of exactly this class is wanted
    constructor = engine_class.__init__  # type: ignore[misc]
    # For a dataclass, the hints come from the class: its constructor lacks the names of its bases' modules.
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
        if hasattr(engine_class, "turn_characters"):  # a synthesizer
            fields["voices"] = (dict[str, str], {})
    settings = ConfigDict(extra=extra, arbitrary_types_allowed=True, protected_namespaces=())
    return create_model("Options", __config__=settings, **fields)
