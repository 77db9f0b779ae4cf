"""Traces: from the logs of kept calls, or generated from a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from llm_load import distribution
from llm_load.distribution import Distribution, Trace, TracedCall, TracedTurn
from llm_load.replay import CHARACTERS_A_TOKEN
from voiceagent.bench.material import Conversation
from voiceagent.calls.log.codec import Json
from voiceagent.calls.log.event_log import CallLog, LogError, read_log
from voiceagent.conversation import events as ev
from voiceagent.validation.errors import CommandFailed, reason_of
from voiceagent.validation.section import check


def read_trace(path: Path, conversations: Sequence[Conversation], seed: int) -> Trace:
    """Return the calls kept in a folder, or generated from a TOML file. Raises CommandFailed, ConfigError.

    conversations: callers' words for generated calls. seed: for generated calls.
    """
    if path.is_dir():
        trace = trace_of([_read_log(each) for each in sorted(path.rglob("log.jsonl*"))])
        if not trace:
            raise CommandFailed(
                f"{path}: no kept call with words in it; allowed: a folder as [calls] keeps it"
            )
        return trace
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        unread = f"{path}: cannot be read as TOML: {reason_of(error)}"
        raise CommandFailed(f"{unread}; allowed: a folder of kept calls, or a TOML file") from error
    return distribution.trace_of(check(Distribution, document, path), conversations, seed)


def _read_log(path: Path) -> CallLog:
    try:
        import zstandard  # noqa: PLC0415 - of the extra `calls`, without which none are kept
    except ImportError as error:
        raise CommandFailed("kept calls need zstandard: pip install 'voiceagent-server[calls]'") from error
    try:
        data = path.read_bytes()
        return read_log(zstandard.decompress(data) if path.suffix == ".zst" else data, str(path))
    except (LogError, OSError, zstandard.ZstdError) as error:
        raise CommandFailed(f"{path}: {error}") from error


@dataclass(slots=True)
class _Turn:
    speaks_at_s: float
    until_s: float
    said: str = ""
    answered: str = ""
    cut_at_s: float | None = None
    resumed: bool = False

    def traced(self) -> TracedTurn:
        return TracedTurn(
            round(self.speaks_at_s, 3),
            round(max(0.0, self.until_s - self.speaks_at_s), 3),
            self.said,
            max(1, round(len(self.answered) / CHARACTERS_A_TOKEN)),
            None if self.cut_at_s is None else round(max(0.0, self.cut_at_s - self.until_s), 3),
        )


@dataclass(slots=True)
class _Reader:
    """State of a call while its log is read; times from its start."""

    turns: dict[str, _Turn] = field(default_factory=dict)
    responses: dict[str, str] = field(default_factory=dict)  # turn by response
    speaks_at_s: float | None = None
    until_s: float = 0.0

    def event(self, event: ev.Event, at_s: float, received_s: float) -> None:
        if isinstance(event, ev.SpeechStarted) and self.speaks_at_s is None:
            self.speaks_at_s = at_s - max(0.0, received_s - event.at_s)
        elif isinstance(event, ev.TurnEnded):
            self.until_s = at_s - max(0.0, received_s - event.at_s)

    def command(self, command: Json, at_s: float) -> None:
        match command:
            case {"type": "NotifyInputCommitted", "item_id": turn_id}:
                speaks_at_s = self.until_s if self.speaks_at_s is None else self.speaks_at_s
                self.turns[turn_id] = _Turn(speaks_at_s, self.until_s)
                self.speaks_at_s = None
            case {"type": "NotifyTranscript", "item_id": turn_id, "text": text, "final": True}:
                if (turn := self.turns.get(turn_id)) is not None:
                    turn.said = text
            case {"type": "StartResponse", "response_id": response_id, "turn_id": str(turn_id)}:
                self.responses[response_id] = turn_id
            case {"type": "NotifyResponseText", "response_id": response_id, "text": text}:
                if (turn := self.answered(response_id)) is not None:
                    turn.answered += text
            case {"type": "NotifyResponseEnded", "response_id": response_id} as over:
                if (turn := self.answered(response_id)) is not None:
                    turn.resumed = over["false_end"]
                    turn.cut_at_s = at_s if over["status"] == "cancelled" else None
            case _:
                pass

    def answered(self, response_id: str) -> _Turn | None:
        return self.turns.get(self.responses.get(response_id, ""))


def trace_of(logs: Sequence[CallLog]) -> Trace:
    """Return the calls that have a turn with words, in order of their start; the first begins at 0 s.

    A turn that was resumed is left out: the resumed turn has its words. Response lengths are estimated from
    characters.
    """
    calls = []
    for log in logs:
        reader = _Reader()
        for record in log.records:
            at_s = record.clock_s - log.header.clock_s
            reader.event(record.event, at_s, record.received_s)
            for command in record.commands:
                reader.command(command, at_s)
        turns = tuple(turn.traced() for turn in reader.turns.values() if turn.said and not turn.resumed)
        if turns:
            calls.append(TracedCall(log.header.started_at, turns))
    first_s = min((call.begins_s for call in calls), default=0.0)
    begun = (TracedCall(round(call.begins_s - first_s, 3), call.turns) for call in calls)
    return tuple(sorted(begun, key=lambda call: call.begins_s))
