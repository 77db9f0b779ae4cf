"""`configs/demo.toml` is where people look up a key: all are there, with their defaults."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from voiceagent.config.tables import Config, load
from voiceagent.engines.build import keyword_model
from voiceagent.engines.catalogue import KNOWN_ENGINES
from voiceagent.engines.config import EngineConfig
from voiceagent.validation.references import import_object

DEMO = Path(__file__).parents[3] / "configs" / "demo.toml"
TABLE = re.compile(r"(?:# )?\[{1,2}([a-z_.]+)\]{1,2}")
KEY = re.compile(r"(# )?([a-z_]+) = (.+)")
NOTE = re.compile(r"\((?:default: (.+)|no default)\)$")


@dataclass(frozen=True)
class Shown:
    """A line: whether it is set there, its value, and the default that it claims, one or none."""

    is_set: bool
    value: Any
    default: tuple[Any, ...]


def toml(value: str) -> Any:
    return tomllib.loads(f"value = {value}")["value"]


@cache
def shown() -> dict[str, Shown]:
    """Every key of the file, set or in a comment, by its full name."""
    found: dict[str, Shown] = {}
    table = ""
    for line in DEMO.read_text().splitlines():
        if match := TABLE.fullmatch(line):
            table = match[1]
        elif match := KEY.fullmatch(line):
            name, value, note = f"{table}.{match[2]}", toml(match[3]), NOTE.search(line)
            assert name not in found
            default = (value,) if note is None else (toml(note[1]),) if note[1] else ()
            found[name] = Shown(not match[1], value, default)
    return found


def inner_table(field: FieldInfo) -> type[BaseModel] | None:
    types = (field.annotation, *get_args(field.annotation))
    return next((t for t in types if isinstance(t, type) and issubclass(t, BaseModel)), None)


def engine_keys(stage: str, name: str) -> type[BaseModel]:
    path = next(known.path for known in KNOWN_ENGINES if (known.stage, known.name) == (stage, name))
    return keyword_model(import_object(path))


def tables(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, type[BaseModel]]]:
    """The models of all tables; for that of an engine also the one of the engine's own keys."""
    for name, field in model.model_fields.items():
        if (inner := inner_table(field)) is not None:
            yield prefix + name, inner
            yield from tables(inner, f"{prefix}{name}.")
            if issubclass(inner, EngineConfig) and shown()[f"{name}.engine"].is_set:
                stage = name.removesuffix("_fallback")
                yield name, engine_keys(stage, shown()[f"{name}.engine"].value)


KEYS = {
    f"{table}.{name}": (model, name)
    for table, model in tables(Config)
    for name, field in model.model_fields.items()
    if inner_table(field) is None
}


def test_every_key_is_shown_and_no_other():
    assert sorted(shown()) == sorted(KEYS)


@pytest.mark.parametrize("key", KEYS)
def test_the_default_of_a_key_is_the_one_shown(key):
    model, name = KEYS[key]
    field = model.model_fields[name]
    default = (
        ()
        if field.is_required()
        else (field.get_default(call_default_factory=True, validated_data={"language": "en"}),)
    )
    assert to_jsonable_python(shown()[key].default) == to_jsonable_python(
        () if default == (None,) else default
    )


def test_what_stands_in_comments_is_allowed(tmp_path):
    """But for `instructions` and `instructions_from`, which do not go with `python`, and an MCP server's
    `command`, which does not go with its `url`; nor the `mcp` of a source, with its `python`.
    """
    text = re.sub(
        r"^# (?=\[|[a-z_]+ = )(?!instructions |instructions_from |mcp |command |args |env )",
        "",
        DEMO.read_text(),
        flags=re.MULTILINE,
    )
    path = tmp_path / "all.toml"
    path.write_text(text)
    config = load(path)
    assert config.fallback is not None
    assert config.recognizer_fallback is not None
    assert config.synthesizer_fallback is not None
    assert config.small_llm is not None
    assert config.semantic_cache is not None
    assert config.telephony.providers().keys() == {"twilio", "telnyx", "plivo", "vonage", "asterisk"}
