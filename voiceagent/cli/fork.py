"""`voiceagent replay ID --set KEY=VALUE`: replays a call with other settings, from an event on."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import asdict, fields, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

from rich.console import Console
from rich.table import Table
from rich.text import Text

from audio.pcm import Samples
from voiceagent.agents.load import default_agent
from voiceagent.calls.call_speech import caller_audio
from voiceagent.calls.live_engines import RunningEngines, SharedServices
from voiceagent.calls.log.event_log import CallLog, LoggedRecord
from voiceagent.calls.replaying.answers import Counts
from voiceagent.calls.replaying.fork import fork
from voiceagent.calls.replaying.forked import Change, logged_steps, settings_in
from voiceagent.calls.replaying.outline import OutlinedTurn, Totals, outline, totals
from voiceagent.calls.replaying.replay import CannotReplay
from voiceagent.cli.calls import terminal_text
from voiceagent.cli.replay import find_log, find_recording
from voiceagent.config.tables import Config
from voiceagent.conversation import events as ev
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.turn_policy import TurnPolicy
from voiceagent.llm.config import LlmTables
from voiceagent.server.engine_building import build_engines
from voiceagent.server.startup import started
from voiceagent.session.services import Services
from voiceagent.telemetry.log import configure_log
from voiceagent.telemetry.metrics import Metrics
from voiceagent.validation.errors import CommandFailed

T = TypeVar("T")
TOLERANCE_S = 0.05
"""Duration of a VAD window plus network jitter."""


class Futures(NamedTuple):
    """The turns of a call as they were and as they would have been, and the sources of the answers."""

    before: list[OutlinedTurn]
    after: list[OutlinedTurn]
    counts: Counts


def fork_call(config: Config, changed: Config, what: str, since: int, as_json: bool, recorded: bool) -> None:
    """Replay a call with the differences between `config` and `changed`, and print what becomes different.

    recorded: without engines, using only the answers in the log. Raises CommandFailed, ConfigError.
    """
    log = find_log(config, what)
    with ExitStack() as closing:
        services = None if recorded else closing.enter_context(shared_services(changed))
        futures = fork_log(config, changed, log, what, since, services)
    if futures is None:
        raise CommandFailed(
            "what is set changes nothing that a conversation decides, or is so already in this call; what "
            "is heard as speech (turn.threshold) cannot be told from a log"
        )
    if as_json:
        print(json.dumps(_as_json(*futures), indent=2))
    else:
        _print(*futures)


def fork_log(
    config: Config, changed: Config, log: CallLog, what: str, since: int, services: SharedServices | None
) -> Futures | None:
    """Return both futures of a call from event `since` on; None if nothing that it decides changes.

    what: file or id of the call, with its recording. services: of `changed`; without them, only
    the answers in the log are used. Raises CommandFailed, ConfigError.
    """
    settings, policy = partial(_changed_settings, config, changed), _changed_policy(log, config, changed)
    prompted = with_agent(log, config, changed)
    live_stages = frozenset[ev.Stage]() if services is None else _other_engines(config, changed)
    if (
        not live_stages
        and prompted is log
        and policy == log.header.policy
        and all(settings(one) == one for one in settings_in(log))
    ):
        return None
    endpoint, late_s = config.turn.to_endpointing(), config.agent.filler_after_s
    change = Change(since, settings, policy, endpoint, late_s, live_stages)
    try:
        if services is None:
            forked = fork(prompted, change)
        else:
            sound = _caller_audio(log, find_recording(config, what))
            with RunningEngines(services, log, sound) as live:
                forked = fork(prompted, change, live)
    except CannotReplay as error:
        raise CommandFailed(f"{what}: {error}") from error
    return Futures(outline(logged_steps(log)), outline(forked.steps), forked.counts)


def with_agent(log: CallLog, config: Config, changed: Config) -> CallLog:
    """Return the log with the instructions and tools of another agent class, where the usual one began.

    Tools of the line and of MCP servers stay.
    """
    usual, other = (default_agent(c.agent, c.instructions(), c.source) for c in (config, changed))
    if usual is None or other is None or type(usual) is type(other):
        return log
    own = {tool.spec.name for tool in usual.tools}
    prompt, specs = other.prompt(), tuple(tool.spec for tool in other.tools)

    def taken_over(record: LoggedRecord) -> LoggedRecord:
        event = record.event
        if not isinstance(event, ev.AgentChanged) or event.agent != type(usual).__name__:
            return record
        tools = (*specs, *(tool for tool in event.tools if (tool.own_name or tool.name) not in own))
        return replace(record, event=replace(event, instructions=prompt, tools=tools))

    return replace(log, records=tuple(map(taken_over, log.records)))


def _caller_audio(log: CallLog, recording: bytes | None) -> Samples | None:
    """Return the caller's audio, [n] at 16 kHz; None without a recording. Raises CommandFailed."""
    if recording is None or not log.recorded_hz:
        return None
    try:
        return caller_audio(recording, log.recorded_hz, log.silences)
    except ValueError as error:
        raise CommandFailed(str(error)) from error


def shared_services(config: Config) -> SharedServices:
    """Return the services of a configuration, without MCP servers: no tools run."""
    configure_log(config.log.format, "warning")
    without_mcp = config.model_copy(update={"agent": config.agent.model_copy(update={"mcp": ()})})

    @asynccontextmanager
    async def start() -> AsyncIterator[Services]:
        async with started(without_mcp, build_engines(without_mcp), Metrics()) as (services, _):
            yield services

    return SharedServices(start)


def _other_engines(config: Config, changed: Config) -> frozenset[ev.Stage]:
    """Return the stages whose engine or its keys differ."""
    tables: dict[ev.Stage, Sequence[str]] = {
        "recognizer": ["recognizer"],
        "llm": list(LlmTables.model_fields),
        "synthesizer": ["synthesizer"],
    }
    return frozenset(
        stage
        for stage, names in tables.items()
        if any(getattr(config, name) != getattr(changed, name) for name in names)
    )


def _changed_settings(config: Config, changed: Config, base: CallSettings) -> CallSettings:
    """Return the call's own settings with the differences between the configurations."""
    one, other = config.call_settings(), changed.call_settings()
    settings = with_changes(base, one, other)
    detection = base.turn_detection
    if detection is not None and one.turn_detection is not None and other.turn_detection is not None:
        turned = with_changes(detection, one.turn_detection, other.turn_detection)
        # Speech detection cannot change: the log has its events.
        detection = replace(
            turned, threshold=detection.threshold, prefix_padding_s=detection.prefix_padding_s
        )
    return replace(settings, turn_detection=detection)


def _changed_policy(log: CallLog, config: Config, changed: Config) -> TurnPolicy:
    one, other = (
        c.turn.to_policy(c.agent, c.history, c.limits, c.back_llm is not None) for c in (config, changed)
    )
    return with_changes(log.header.policy, one, other)


def with_changes(base: T, one: T, other: T) -> T:
    """Return `base` with the fields in which `other` differs from `one`."""
    names = [field.name for field in fields(base)]  # type: ignore[arg-type]  # a dataclass, as all here
    changed: dict[str, Any] = {
        name: getattr(other, name) for name in names if getattr(other, name) != getattr(one, name)
    }
    return replace(base, **changed)  # type: ignore[type-var]  # as above


def _as_json(before: Sequence[OutlinedTurn], after: Sequence[OutlinedTurn], counts: Counts) -> dict[str, Any]:
    return {
        "before": {**asdict(totals(before)), "turns": [asdict(turn) for turn in before]},
        "after": {**asdict(totals(after)), "turns": [asdict(turn) for turn in after]},
        "same_requests": counts.same,
        "live_requests": counts.live,
        "other_requests": counts.nearest,
        "live_transcripts": counts.heard,
    }


def _print(before: Sequence[OutlinedTurn], after: Sequence[OutlinedTurn], counts: Counts) -> None:
    console = Console()
    console.print(f"as it was:         {_summary(totals(before))}")
    console.print(f"would have been:   {_summary(totals(after))}")
    table = Table("", "spoke until", "ended after", "said", "waited", "answered", "outcome")
    changed = [("-", turn) for turn in before if not any(_is_similar(turn, one) for one in after)]
    changed += [("+", turn) for turn in after if not any(_is_similar(turn, one) for one in before)]
    for sign, turn in sorted(changed, key=lambda one: (one[1].spoke_until_s, one[0] == "+")):
        table.add_row(sign, *_row(turn))
    console.print(table if table.row_count else "No turn is otherwise.")
    console.print(_answer_sources(counts))


def _answer_sources(counts: Counts) -> str:
    """Return which responses came from the log and which from engines."""
    parts = [f"{counts.same} responses were asked for as in the call"]
    if counts.live:
        parts.append(f"{counts.live} otherwise, which the engines made now")
    if counts.nearest:
        parts.append(f"{counts.nearest} otherwise: theirs is the answer to what was asked nearest to them")
    if counts.heard:
        parts.append(f"sound that was cut otherwise was recognized now, {counts.heard} times")
    return f"{'; '.join(parts)}."


def _is_similar(one: OutlinedTurn, other: OutlinedTurn) -> bool:
    """Return True if the turns differ by no more than the resolution of the virtual clock."""
    words = (one.said, one.answered, one.outcome) == (other.said, other.answered, other.outcome)
    words = words and _calls(one) == _calls(other)
    times = [
        (one.spoke_until_s, other.spoke_until_s),
        (one.ended_after_s, other.ended_after_s),
        (one.waited_s or 0.0, other.waited_s or 0.0),
    ]
    return words and all(abs(a - b) <= TOLERANCE_S for a, b in times)


def _summary(figures: Totals) -> str:
    wait = "" if figures.mean_wait_s is None else f", {figures.mean_wait_s * 1000:.0f} ms waited on average"
    return f"{figures.turns} turns, {figures.cut_off} cut off{wait}"


def _row(turn: OutlinedTurn) -> tuple[str | Text, ...]:
    waited = "" if turn.waited_s is None else f"{turn.waited_s:.2f} s"
    answered = turn.answered if len(turn.answered) <= 60 else turn.answered[:57] + "..."
    times = (f"{turn.spoke_until_s:.2f} s", f"{turn.ended_after_s:.2f} s")
    answered = " ".join([*_calls(turn), answered])
    return (*times, terminal_text(turn.said), waited, terminal_text(answered), turn.outcome)


def _calls(turn: OutlinedTurn) -> list[str]:
    return [f"{tool.name}({tool.arguments})" for tool in turn.tools]
