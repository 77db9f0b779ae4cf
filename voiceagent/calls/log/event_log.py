"""Event log of a call: JSON Lines, each readable on its own except for references to texts.

The first line is the header: all parameters of the conversation. Then comes a line for every event, with the
produced commands and the time. `texts` implements the policy for texts. A log that broke off ends in an
incomplete line, which is ignored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from voiceagent.calls.log.codec import (
    Inline,
    Json,
    decode,
    decode_fields,
    dumps,
    encode,
    encode_fields,
    types_of,
)
from voiceagent.calls.log.entries import (
    CallEnded,
    CallIdentified,
    CallLost,
    Entry,
    Header,
    HeardText,
    LoopStalled,
    Record,
    RecordingBegan,
    SilentSpan,
    SoundSpan,
)
from voiceagent.calls.log.texts import ReadTexts, TextTable, Words
from voiceagent.conversation import events as ev
from voiceagent.conversation.latency import TurnReport
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.turn_policy import TurnPolicy

VERSION = 1
EVENTS: dict[str, type[Any]] = {
    **types_of(ev.Event),
    # former names, in older logs
    "TurnEndTold": ev.TurnEndScored,
    "UpstreamTold": ev.UpstreamEvent,
}
_OTHERS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        TurnReport,
        RecordingBegan,
        SoundSpan,
        SilentSpan,
        LoopStalled,
        HeardText,
        CallIdentified,
        CallEnded,
        CallLost,
    )
}
"""Entry types other than records."""


class LogError(Exception):
    """Not a readable log of a call. The text says where and why."""


class LogWriter:
    """Encodes the lines of one call's log."""

    def __init__(self, words: Words = "keep") -> None:
        self._texts = TextTable(words)

    def header(self, header: Header) -> bytes:
        """Return the first line."""
        return self._line(
            {
                "log": VERSION,
                "call_id": header.call_id,
                "started_at": header.started_at,
                "clock_s": header.clock_s,
                "versions": dict(header.versions),
                "words": header.words,
                "rate_hz": header.rate_hz,
                "settings": encode_fields(header.settings, self._texts),
                "policy": encode_fields(header.policy, Inline()),
            }
        )

    def entry(self, entry: Entry) -> bytes:
        if isinstance(entry, Record):
            return self._record(entry)
        return self._line(encode(entry, self._texts))

    def forget(self) -> None:
        """Handle the loss of a line: later lines must not refer to its texts."""
        self._texts.forget()

    def _record(self, record: Record) -> bytes:
        texts = self._texts
        fault = {"fault": record.fault} if record.fault else {}
        return self._line(
            {
                "n": record.number,
                "s": round(record.clock_s, 6),
                "heard_s": round(record.received_s, 6),
                "event": encode(record.event, texts),
                "ids": list(record.ids),
                "commands": [encode(command, texts) for command in record.commands],
                **fault,
            }
        )

    def _line(self, value: dict[str, Json]) -> bytes:
        if new := self._texts.take_new():
            value["texts"] = new
        return dumps(value).encode("utf-8", "surrogatepass") + b"\n"


@dataclass(frozen=True, slots=True)
class LoggedRecord:
    """A decoded record. commands: JSON values with references resolved."""

    number: int
    clock_s: float
    received_s: float
    event: ev.Event
    ids: tuple[str, ...]
    commands: Json
    fault: str = ""


@dataclass(frozen=True, slots=True)
class CallLog:
    """A decoded log. recorded_hz: the recording's rate, 0 without one. ended: None if the log broke off."""

    header: Header
    records: tuple[LoggedRecord, ...]
    reports: tuple[TurnReport, ...]
    spans: tuple[SoundSpan, ...]
    recorded_hz: int
    silences: tuple[SilentSpan, ...]
    ended: CallEnded | None


def read_log(data: bytes, name: str = "log", yield_gil: Callable[[], None] = lambda: None) -> CallLog:
    """Decode a log, ignoring an incomplete last line. name: of the file, for errors. yield_gil: called after
    every line. Raises LogError.
    """
    lines = lines_of(data, name)
    reader = _Reader()
    try:
        _, first = next(lines)
    except StopIteration:
        raise LogError(f"{name}: there is not one whole line in it") from None
    if not isinstance(first, dict) or first.get("log") != VERSION:
        version = first.get("log") if isinstance(first, dict) else None
        raise LogError(f"{name}, line 1: log is {version!r}; allowed: {VERSION}, as this server writes it")
    number = 1
    try:
        reader.start(first)
        for number, line in lines:  # noqa: B007  named in the error
            reader.add(line)
            yield_gil()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LogError(f"{name}, line {number}: {error}") from error
    return reader.log()


class _Reader:
    """Collects the entries of one log."""

    def __init__(self) -> None:
        self._texts = ReadTexts()
        self._header: Header | None = None
        self._records: list[LoggedRecord] = []
        self._others: dict[type[Any], list[Any]] = {kind: [] for kind in _OTHERS.values()}

    def start(self, line: Json) -> None:
        self._texts.add(line)
        line = self._texts.resolved(line)
        self._header = Header(
            line["call_id"],
            line["started_at"],
            line["clock_s"],
            decode_fields(line["settings"], CallSettings),
            decode_fields(line["policy"], TurnPolicy),
            line["rate_hz"],
            line["versions"],
            line["words"],
        )

    def add(self, line: Json) -> None:
        self._texts.add(line)
        line = self._texts.resolved(line)
        if "n" not in line:
            entry = decode(line, _OTHERS)
            self._others[type(entry)].append(entry)
            return
        event = decode(line["event"], EVENTS)
        ids = tuple(line["ids"])
        self._records.append(
            LoggedRecord(
                line["n"], line["s"], line["heard_s"], event, ids, line["commands"], line.get("fault", "")
            )
        )

    def log(self) -> CallLog:
        assert self._header is not None  # `start` was called before
        began, ended = self._others[RecordingBegan], self._others[CallEnded]
        return CallLog(
            self._header,
            tuple(self._records),
            tuple(self._others[TurnReport]),
            tuple(self._others[SoundSpan]),
            began[-1].rate_hz if began else 0,
            tuple(self._others[SilentSpan]),
            ended[-1] if ended else None,
        )


def line_of(line: bytes) -> Json:
    """Return one line of a log, with the present names of its commands' fields. Raises ValueError."""
    read = json.loads(line.decode("utf-8", "surrogatepass"))
    if b'"beside":' in line and "commands" in read:  # the former name of `out_of_band`
        read["commands"] = [
            {"out_of_band" if name == "beside" else name: value for name, value in command.items()}
            for command in read["commands"]
        ]
    return read


def lines_of(data: bytes, name: str) -> Iterator[tuple[int, Json]]:
    """Yield the complete lines as JSON values with their numbers, from 1 on. Raises LogError."""
    *whole, _torn = data.split(b"\n")
    for number, line in enumerate(whole, 1):
        try:
            yield number, line_of(line)
        except ValueError as error:
            raise LogError(f"{name}, line {number}: this is no JSON: {error}") from error
