"""A caller who pauses, and the silence that is then asked for before the turn is over."""

from __future__ import annotations

from dataclasses import replace

from call_settings import call_settings, turn_detection
from call_world import POLICY, CallWorld

from voiceagent.conversation import commands as do
from voiceagent.conversation.end_of_turn.probability import EndOfTurn

SETTINGS = call_settings(turn_detection=turn_detection(kind="semantic_vad"))


def calling() -> CallWorld:
    return CallWorld(SETTINGS, replace(POLICY, language="en"))


def pauses(world: CallWorld, words: str, at_s: float = 1.0) -> tuple[str, EndOfTurn]:
    """The caller says `words` and pauses a second later; the turn's item, and what is decided."""
    item_id = world.begin_speaking(at_s)
    return item_id, decision(world.pause(item_id, words, at_s + 1))


def decision(commands: list[do.Command]) -> EndOfTurn:
    (found,) = [command.decision for command in commands if isinstance(command, do.RequireSilence)]
    return found
