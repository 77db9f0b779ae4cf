"""`voiceagent calls`: lists, shows, plays, exports and deletes kept calls."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.table import Table
from rich.text import Text

from voiceagent.calls.archiver import delete_call
from voiceagent.calls.export import export
from voiceagent.calls.files import lock_existing
from voiceagent.calls.kept_call import LOG_NAME
from voiceagent.calls.log.event_log import LogError
from voiceagent.calls.places import PlaceError, names_at, read_at, recording_of
from voiceagent.calls.rows import CallFilter, CallRow
from voiceagent.calls.store import CallStore, StoreError, sqlite_url
from voiceagent.calls.summary import ToolUse, Turn
from voiceagent.config.tables import Config
from voiceagent.inspector.reading import document
from voiceagent.telemetry.log import printable
from voiceagent.telemetry.terminal_table import print_table
from voiceagent.transports.telephony.outbound.store import OutboundStore
from voiceagent.validation.errors import CommandFailed, config_error, reason_of

T = TypeVar("T")

MAX_RESULT = 200
"""Maximum characters of a tool's arguments and of its result to print."""
PLAYERS = (("ffplay", "-autoexit", "-nodisp", "-loglevel", "error"), ("mpv", "--no-video"), ("play", "-q"))
"""Programs that can play a recording, in order of preference."""


def list_calls(config: Config, wanted: CallFilter, limit: int, as_json: bool) -> None:
    """Print the newest matching calls. Raises CommandFailed, ConfigError."""
    with open_store(config) as store:
        calls = store.found(wanted, limit)
    if as_json:
        print(json.dumps({"calls": [asdict(call) for call in calls]}, indent=2))
        return
    heads = ("began", "call", "state", "seconds", "responses", "cut", "failures", "longest wait", "KiB")
    rows = [
        (
            _when(call.started_at, "minutes"),
            call.call_id,  # the other commands need it
            call.state,
            "" if call.seconds is None else f"{call.seconds:.1f}",
            *(str(n) for n in (call.responses, call.interruptions, call.failures + call.tool_failures)),
            "" if call.longest_wait_s is None else f"{call.longest_wait_s * 1000:.0f} ms",
            f"{call.size_bytes / 1024:.0f}",
        )
        for call in calls
    ]
    spare = ("KiB", "failures", "cut", "seconds", "responses", "state", "began")
    print_table(heads, rows, spare=spare, whole=True, right=3)


def show_call(config: Config, call_id: str, as_json: bool) -> None:
    """Print one call with its turns. Raises CommandFailed, ConfigError."""
    with open_store(config) as store:
        call = find_call(store, call_id)
        turns, tools = store.turns_of(call_id), store.tools_of(call_id)
        facts = {fact.name: fact.value for fact in store.facts_of(call_id)}
    if as_json:
        shown = {**asdict(call), "provider_data": facts, "responses": [asdict(turn) for turn in turns]}
        print(json.dumps({**shown, "tools": [asdict(tool) for tool in tools]}, indent=2))
        return
    console = Console()
    reason = f", {call.reason}" if call.reason else ""
    reason += f" ({call.end_code})" if call.end_code else ""
    seconds = "" if call.seconds is None else f", {call.seconds:.1f} s"
    head = f"{call.call_id}: {_when(call.started_at)}{seconds}, {call.state}{reason}\n{call.place}"
    console.print(terminal_text(head))
    if facts:
        console.print(terminal_text("phone provider: " + ", ".join(f"{k} {v}" for k, v in facts.items())))
    timeline = _timeline(call)
    wordless = deque(_tools_without_text(timeline))
    table = Table("s", "caller", "agent", "outcome", "waited", "stages, ms")
    for turn in turns:
        stages = ", ".join(f"{stage.name} {stage.duration_us / 1000:.0f}" for stage in turn.stages)
        waited = f"{turn.waited_us / 1000:.0f} ms" if turn.waited_us else ""
        answer = _response(turn, struck=console.is_terminal)
        if wordless and not turn.written and turn.outcome == "completed":
            answer = terminal_text(wordless.popleft())
        outcome = f"{turn.outcome} by {turn.interrupted_by}" if turn.interrupted_by else turn.outcome
        table.add_row(f"{turn.at_s:.1f}", terminal_text(turn.said), answer, outcome, waited, stages)
    console.print(table)
    for line in _event_lines(call, timeline, tools):
        console.print(terminal_text(line))


def play_call(config: Config, call_id: str) -> None:
    """Play the recording on this machine. Raises CommandFailed, ConfigError."""
    with open_store(config) as store:
        place = find_call(store, call_id).place
    name = recording_of(_read(names_at, place))
    if name is None:
        raise CommandFailed(f"{call_id} has no recording (calls.record)")
    player = next((player for player in PLAYERS if shutil.which(player[0])), None)
    if player is None:
        names = ", ".join(name for name, *_ in PLAYERS)
        raise CommandFailed(f"none of {names} is installed: voiceagent calls export {call_id} has the sound")
    with tempfile.TemporaryDirectory() as folder:
        recording = Path(folder) / name
        recording.write_bytes(_read(read_at, place, name))
        subprocess.run([*player, recording], check=False)


def export_call(config: Config, call_id: str, out: Path | None) -> None:
    """Write everything kept of a call to a zip file. Raises CommandFailed, ConfigError."""
    with open_store(config) as store:
        call = find_call(store, call_id)
        out = out or Path(f"{call_id}.zip")
        try:
            with out.open("wb") as file:
                file.writelines(export(store, call))
        except OSError as error:
            raise CommandFailed(f"cannot write {out}: {reason_of(error)}") from error
        except (LogError, PlaceError) as error:
            raise CommandFailed(str(error)) from error
    print(out)


def delete_kept_call(config: Config, call_id: str) -> None:
    """Delete every trace of a finished call. Raises CommandFailed, ConfigError."""
    with open_store(config) as store:
        call = find_call(store, call_id)
        log = Path(call.place) / LOG_NAME
        if call.state == "running" and log.exists() and _is_written(log):
            raise CommandFailed(f"{call_id} goes on: only a call that is over can be deleted")
        try:
            delete_call(store, call_id, call.place)
            outbound = config.outbound.path(config.source)
            if outbound.exists():
                OutboundStore(outbound).delete(call_id)
        except (PlaceError, OSError) as error:
            raise CommandFailed(str(error)) from error


@contextmanager
def open_store(config: Config) -> Iterator[CallStore]:
    """Open the store of the configuration. Raises ConfigError, CommandFailed."""
    if not config.calls.folder:
        raise config_error(config.source, "calls.folder", "", "no calls are kept; allowed: a folder")
    folder = config.calls_folder
    try:
        if not config.calls.database and not folder.exists():
            raise CommandFailed(f"{folder}: no call was kept there yet")
        store = CallStore(config.calls.database or sqlite_url(folder))
        store.upgrade()
        yield store
        store.close()
    except StoreError as error:
        raise CommandFailed(f"[calls]: {error}") from error


def find_call(store: CallStore, call_id: str) -> CallRow:
    """Return the call with that id. Raises CommandFailed, StoreError."""
    call = store.get(call_id)
    if call is None:
        raise CommandFailed(f"no call {call_id!r} is kept; voiceagent calls list names those that are")
    return call


def _read(read: Callable[..., T], *what: str) -> T:
    """Read from a place of kept calls. Raises CommandFailed."""
    try:
        return read(*what)
    except (LogError, PlaceError) as error:
        raise CommandFailed(str(error)) from error


def _is_written(log: Path) -> bool:
    try:
        os.close(lock_existing(log))
    except BlockingIOError:
        return True
    return False


def _when(at: float, to: str = "seconds") -> str:
    return datetime.fromtimestamp(at, UTC).astimezone().replace(tzinfo=None).isoformat(" ", to)


def _timeline(call: CallRow) -> dict[str, Any] | None:
    """Return the call's timeline; None if its log cannot be read."""
    try:
        return dict(json.loads(document(call)))
    except (LogError, PlaceError):
        return None


def _tools_without_text(timeline: dict[str, Any] | None) -> list[str]:
    """Return the tools called by each response without text, in order."""
    if timeline is None:
        return []
    called: dict[str, list[str]] = {}
    for tool in timeline["tools"]:
        called.setdefault(tool["response_id"], []).append(tool["name"])
    return [
        f"(calls {', '.join(called[one['response_id']])})" if one["response_id"] in called else ""
        for one in timeline["responses"]
        if not one["written"] and one["status"] == "completed"
    ]


def _event_lines(call: CallRow, timeline: dict[str, Any] | None, tools: Sequence[ToolUse]) -> list[str]:
    """Return lines for typed input, ends of turns, tools, failures (hooks too) and the state at a crash, in
    order.

    Tools alone if the log cannot be read. timeline: of the call.
    """
    if timeline is None:
        return [f"{tool.at_s:.1f} s: tool {tool.name}" for tool in tools]
    lines = [
        (turn["began_s"], f"typed: {turn['said']}")
        for turn in timeline["turns"]
        if turn["ended_by"] == "typed"
    ]
    lines += [
        (turn["decided_s"], _end_of_turn_line(turn)) for turn in timeline["turns"] if turn["end_of_turn"]
    ]
    lines += [
        (response["began_s"], f"failed: {response['failure']}")
        for response in timeline["responses"]
        if response["failure"]
    ]
    for hook in timeline["failed_hooks"]:
        place = f" at {hook['place']}" if hook["place"] else ""
        lines.append((hook["at_s"], f"the agent's {hook['name']} failed{place}: {hook['reason']}"))
    lines += [
        (asked["at_s"], f"sideband {asked['sideband']}: {asked['request']}")
        for asked in timeline["requests"]
        if asked["sideband"]
    ]
    if call.state == "broken":
        lines += _lines_at_crash(timeline)
    for tool in timeline["tools"]:
        took = "" if tool["ended_s"] is None else f" after {tool['ended_s'] - tool['began_s']:.3f} s"
        result = f"{tool['outcome'] or 'no output came'}{took}: {tool['output'][:MAX_RESULT]}"
        lines.append((tool["began_s"], f"tool {tool['name']}({tool['arguments'][:MAX_RESULT]}): {result}"))
    return [f"{at_s:.1f} s: {line}" for at_s, line in sorted(lines)]


def _end_of_turn_line(turn: dict[str, Any]) -> str:
    """Return why a turn of the caller ended when it did."""
    decision = turn["end_of_turn"]
    ended_s: float = turn["ended_s"]

    def after_ms(at_s: float) -> int:
        return round(1000 * (at_s - ended_s))

    rule = f" by {turn['end_code']}" if turn["end_code"] else ""
    why = (
        f"turn ended{rule} {after_ms(turn['decided_s'])} ms after its last audio: end-of-turn probability "
        f"{decision['probability']:.0%}, which requires {decision['silence_ms']:.0f} ms of silence"
    )
    if turn["settled_s"] is not None and after_ms(turn["settled_s"]) > decision["silence_ms"]:
        why += f"; its final transcript came after {after_ms(turn['settled_s'])} ms"
    if decision["awaited_ms"]:
        why += f"; up to {decision['awaited_ms']:.0f} ms more while its answer had no audio"
    return f"{why}: {turn['said']}"


def _lines_at_crash(timeline: dict[str, Any]) -> list[tuple[float, str]]:
    """Return what was being said when the call's process was lost, each with its second."""
    answered = {response["turn_id"] for response in timeline["responses"]}
    lines = [
        (turn["began_s"], f"broken off in this turn of the caller: {turn['said']}")
        for turn in timeline["turns"]
        if turn["turn_id"] not in answered and (turn["said"] or turn["ended_by"])
    ]
    lines += [
        (response["began_s"], f"broken off in this response: {response['written']}")
        for response in timeline["responses"]
        if response["status"] == "in_progress"
    ]
    return lines


def terminal_text(text: str) -> Text:
    """Return callers' words for the terminal, without control characters, which move its cursor."""
    return Text(printable(text))


def _response(turn: Turn, struck: bool) -> Text:
    """Return the response, the part that was not heard struck through; between brackets where the output
    has no styles.
    """
    heard = turn.heard if turn.written.startswith(turn.heard) else ""
    shown, unheard = terminal_text(heard), printable(turn.written[len(heard) :])
    if struck or not unheard.strip():
        shown.append(unheard, style="strike")
    else:
        shown.append(f"{' ' if heard else ''}[not heard: {unheard.strip()}]")
    return shown
