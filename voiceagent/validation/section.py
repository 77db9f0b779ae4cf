"""Tables of a configuration as typed models, with one-line errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import to_json

from voiceagent.validation.errors import ConfigError, config_error

Checked = TypeVar("Checked", bound=BaseModel)

Seconds = Annotated[float, Field(ge=0)]
"""A duration in seconds, 0 or more."""
Duration = Annotated[float, Field(gt=0)]
"""A duration in seconds, above 0."""


class Section(BaseModel):
    """A table of the file. Unknown keys, other types, and the numbers inf and nan are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def check(model: type[Checked], document: Mapping[str, Any], source: Path, prefix: str = "") -> Checked:
    """Validate `document` from the file `source` as a `model`.

    prefix: precedes the keys in errors. Converts only what TOML cannot express (paths, tuples). Raises
    ConfigError.
    """
    try:
        # Strict validation of JSON accepts text as a path and a list as a tuple, but not "8080" as 8080.
        return model.model_validate_json(to_json(document), strict=True)
    except ValidationError as error:
        # Unknown keys first: one may be the misspelling of a missing key.
        first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
        place, given = first["loc"], first["input"]
        key = (prefix + ".".join(str(part) for part in place)).rstrip(".")
        if first["type"] == "extra_forbidden":
            allowed = _keys(model, place[:-1])
            suggestion = _suggestion(model, str(place[-1]), allowed, prefix)
            kind = "table" if isinstance(given, dict) else "key"
            message = f"unknown {kind}; allowed: {', '.join(allowed) or 'none'}{suggestion}"
            raise config_error(source, key, given, message) from error
        if first["type"] == "missing":
            raise ConfigError(f"{source}: {key}: missing; it must be set") from error
        raise config_error(source, key, given, first["msg"]) from error


def _suggestion(model: type[BaseModel], key: str, allowed: Sequence[str], prefix: str) -> str:
    """Return a suggestion for an unknown key: the same key in other tables, or the nearest allowed one."""
    if tables := list(_tables_with(model, key, prefix)):
        return f"; did you mean {' or '.join(f'[{table}] {key}' for table in tables[:3])}?"
    near = get_close_matches(key, allowed, 1)
    return f"; did you mean {near[0]}?" if near else ""


def _tables_with(model: type[BaseModel], key: str, place: str) -> Iterator[str]:
    """Yield the names of the tables below `model` that have this key."""
    for name, field in model.model_fields.items():
        table = _table(field.annotation)
        if table is not None:
            if key in table.model_fields:
                yield place + name
            yield from _tables_with(table, key, f"{place}{name}.")


def _keys(model: type[BaseModel], place: Iterable[str | int]) -> list[str]:
    for part in place:
        if part not in model.model_fields:
            continue  # index in a list of tables, or name of one: [languages.de]
        inner = _table(model.model_fields[str(part)].annotation)
        if inner is None:
            break
        model = inner
    return list(model.model_fields)


def _table(annotation: Any) -> type[BaseModel] | None:
    """Return the model in the type of a key: `Table`, `Table | None` or `tuple[Table, ...]`."""
    candidates = (annotation, *get_args(annotation))
    return next((t for t in candidates if isinstance(t, type) and issubclass(t, BaseModel)), None)
