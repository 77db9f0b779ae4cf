"""Conversion of a call's events, commands and settings to JSON values and back, by the fields of their
dataclasses.

New fields and events need no code here. Possibly personal data has a special case: every text that is not
known to be harmless goes through `Texts`, which decides how to write it; audio is written as its length and
digest.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from audio.pcm import Samples

Json = Any
"""Any value that `json` reads and writes."""
T = TypeVar("T")

PLAIN_FIELDS = frozenset(
    {
        *("item_id", "response_id", "turn_id", "previous_id", "call_id", "tool_call_id", "client_event_id"),
        *("code", "param", "name", "tool_choice", "model", "voice", "traceparent", "witnesses", "place"),
        "line_call",
    }
)
"""Fields whose text is not personal: ids, and names from programs, such as those of the features that voted
for the end of a turn ("comma", "brief"), which reveal no word of it. All other text is treated as personal.
"""


class CodecError(ValueError):
    """The value is not such an event, or is of another version. The text names the field."""


class Texts(Protocol):
    """Policy for texts in a log: as they are, redacted, or in a table of their own."""

    def written(self, text: str) -> Json:
        """Return the JSON value for `text`."""
        ...


class Inline:
    """Writes texts as they are."""

    def written(self, text: str) -> Json:
        return text


class LoggedSound(np.ndarray[Any, np.dtype[np.int16]]):
    """Audio of which only length and digest are known, as silence, [n]."""

    digest: str


def digest(samples: Samples) -> str:
    """Return the CRC-32 of the samples in hexadecimal, to compare audio of the same length."""
    if isinstance(samples, LoggedSound):
        return samples.digest
    return f"{zlib.crc32(np.ascontiguousarray(samples).data):08x}"


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)


def dumps(value: Json) -> str:
    """Return one line of JSON, the same for equal values."""
    return _ENCODER.encode(value)


def encode(value: Any, texts: Texts) -> Json:
    """Encode an event or command as its fields and its type's name."""
    kind = type(value)
    return {"type": kind.__name__, **_writer_of(kind)(value, texts)}


def encode_fields(value: Any, texts: Texts) -> Json:
    """Encode the fields of a dataclass whose type the reader knows."""
    return _writer_of(type(value))(value, texts)


def decode(value: Json, types: Mapping[str, type[T]]) -> T:
    """Decode the output of `encode`. types: allowed types by name. Raises CodecError."""
    name = value.get("type") if isinstance(value, dict) else None
    if not isinstance(name, str) or name not in types:
        raise CodecError(f"type {name!r} is not known here; allowed: {', '.join(sorted(types))}")
    return decode_fields({key: item for key, item in value.items() if key != "type"}, types[name])


def decode_fields(value: Json, kind: type[T]) -> T:
    """Decode the output of `encode_fields`. Missing fields have their defaults. A field with the metadata
    "formerly" has that name in older logs. Raises CodecError.
    """
    known = _fields(kind)
    if isinstance(value, dict) and not value.keys() <= known.keys():
        former = {field.metadata.get("formerly"): name for name, (_, field) in known.items()}
        value = {former.get(name, name): item for name, item in value.items()}
    if not isinstance(value, dict) or not value.keys() <= known.keys():
        raise CodecError(f"{kind.__name__} is {dumps(value)}; allowed: the fields {', '.join(known)}")
    given = {}
    for name, (hint, field) in known.items():
        if name in value:
            given[name] = _decoded(value[name], hint, f"{kind.__name__}.{name}")
        elif field.default is MISSING and field.default_factory is MISSING:
            raise CodecError(f"{kind.__name__}.{name} is missing")
    return kind(**given)


def types_of(union: Any) -> dict[str, type[Any]]:
    """Return the dataclasses of a union, however nested, by name."""
    return {kind.__name__: kind for kind in _members(union)}


# ---- writing

Writer = Callable[[Any, Texts], Json]
_WRITERS: dict[type[Any], Writer] = {}


def _writer_of(kind: type[Any]) -> Writer:
    """Return the function that encodes the fields of a dataclass."""
    if kind not in _WRITERS:
        writers = [
            (name, _writer(hint, name in PLAIN_FIELDS), field.metadata.get("logged") == "if_set")
            for name, (hint, field) in _fields(kind).items()
        ]

        def write(value: Any, texts: Texts) -> Json:
            return {
                name: writer(getattr(value, name), texts)
                for name, writer, if_set in writers
                if not if_set or getattr(value, name)
            }

        _WRITERS[kind] = write
    return _WRITERS[kind]


def _writer(hint: Any, plain: bool) -> Writer:
    """Return the function that encodes a field of this type."""
    kind, arguments = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        return _union_writer(arguments, plain)
    if kind is Literal:
        return lambda value, texts: value
    if kind in (tuple, Sequence, list):
        return _tuple_writer(arguments, plain)
    if kind in (frozenset, AbstractSet):
        inner = _writer(arguments[0], plain)
        return lambda value, texts: [inner(item, texts) for item in sorted(value)]
    if kind in (dict, Mapping):
        # Free-form tables, such as JSON schemas, may hold personal data.
        return lambda value, texts: texts.written(dumps(value))
    if hint == Samples:
        return lambda value, texts: {"samples": len(value), "digest": digest(value)}
    if isinstance(kind, type) and is_dataclass(kind):
        return _writer_of(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return lambda value, texts: value.name
    if kind is str and not plain:
        return lambda value, texts: texts.written(value)
    if kind in (str, bool, int, float):
        return lambda value, texts: kind(value)  # also numpy's scalars
    raise TypeError(f"no way is known to write {hint}")


def _union_writer(members: tuple[Any, ...], plain: bool) -> Writer:
    """Return the writer of an optional type, or of a union of dataclasses, distinguished by name."""
    kinds = [member for member in members if member is not NoneType]
    if all(get_origin(kind) is Literal for kind in kinds):
        return lambda value, texts: value
    if len(kinds) == 1:
        inner = _writer(kinds[0], plain)
        return lambda value, texts: None if value is None else inner(value, texts)
    return lambda value, texts: None if value is None else encode(value, texts)


def _tuple_writer(arguments: tuple[Any, ...], plain: bool) -> Writer:
    if len(arguments) == 1 or arguments[1:] == (...,):
        inner = _writer(arguments[0], plain)
        if arguments[0] == tuple[int, int]:  # an alignment, of a hundred pairs
            return lambda value, texts: value
        return lambda value, texts: [inner(item, texts) for item in value]
    writers = [_writer(argument, plain) for argument in arguments]
    return lambda value, texts: [w(item, texts) for w, item in zip(writers, value, strict=True)]


# ---- reading


def _decoded(value: Json, hint: Any, place: str) -> Any:
    kind, arguments = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        return _decoded_union(value, arguments, place)
    if kind is Literal:
        if value not in arguments:
            raise CodecError(f"{place} is {value!r}; allowed: {', '.join(map(str, arguments))}")
        return value
    if kind in (tuple, Sequence, list, frozenset, AbstractSet):
        items = _decoded_items(value, arguments, place)
        return frozenset(items) if kind in (frozenset, AbstractSet) else tuple(items)
    if kind in (dict, Mapping):
        return _decoded_table(_of_type(value, str, place))
    if hint == Samples:
        return _silence(value, place)
    if is_dataclass(kind):
        return decode_fields(value, kind)  # type: ignore[arg-type]  # a class, as the hint is one
    if isinstance(kind, type) and issubclass(kind, Enum):
        if value not in kind.__members__:
            raise CodecError(f"{place} is {value!r}; allowed: {', '.join(kind.__members__)}")
        return kind[value]
    return _of_type(value, kind, place)


def _decoded_union(value: Json, members: tuple[Any, ...], place: str) -> Any:
    if value is None and NoneType in members:
        return None
    kinds = [member for member in members if member is not NoneType]
    if all(get_origin(kind) is Literal for kind in kinds):
        kinds = [Literal[tuple(choice for kind in kinds for choice in get_args(kind))]]
    if len(kinds) == 1:
        return _decoded(value, kinds[0], place)
    return decode(value, {kind.__name__: kind for kind in kinds})


def _decoded_items(value: Json, arguments: tuple[Any, ...], place: str) -> list[Any]:
    items = _of_type(value, list, place)
    hints = arguments
    if len(arguments) == 1 or arguments[1:] == (...,):
        hints = (arguments[0],) * len(items)
    if len(hints) != len(items):
        raise CodecError(f"{place} has {len(items)} items; allowed: {len(hints)}")
    return [_decoded(item, hint, place) for item, hint in zip(items, hints, strict=True)]


def _decoded_table(text: str) -> dict[str, Any]:
    """Parse a table; {} if its text was omitted or redacted."""
    try:
        table = json.loads(text)
    except ValueError:
        return {}
    return table if isinstance(table, dict) else {}


def _of_type(value: Json, kind: type[Any], place: str) -> Any:
    fits = type(value) in (int, float) if kind is float else type(value) is kind
    if not fits:
        raise CodecError(f"{place} is {dumps(value)}; allowed: {kind.__name__}")
    return value


def _silence(value: Json, place: str) -> LoggedSound:
    if not isinstance(value, dict) or value.keys() != {"samples", "digest"}:
        raise CodecError(f"{place} is {dumps(value)}; allowed: samples and digest")
    sound = np.broadcast_to(np.int16(0), value["samples"]).view(LoggedSound)
    sound.digest = value["digest"]
    return sound


# ---- types

_FIELDS: dict[type[Any], dict[str, tuple[Any, Field[Any]]]] = {}


def _fields(kind: type[Any]) -> dict[str, tuple[Any, Field[Any]]]:
    """Return the fields of a dataclass with their types. Fields marked as secret are left out. Fields marked
    "if_set" are logged only if set, because nearly all values have none.
    """
    if kind not in _FIELDS:
        hints = get_type_hints(kind)
        logged = [field for field in fields(kind) if field.metadata.get("logged", True)]
        _FIELDS[kind] = {field.name: (hints[field.name], field) for field in logged}
    return _FIELDS[kind]


def _members(union: Any) -> list[type[Any]]:
    if get_origin(union) in (Union, UnionType):
        return [kind for member in get_args(union) for kind in _members(member)]
    return [union]
