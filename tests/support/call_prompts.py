"""Prompts of random calls: one for each order of roles, calls and results that occurs."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from call_settings import call_settings, turn_detection
from call_world import POLICY, CallWorld
from conversation_moves import FORGETFUL, MOVES, run

from llmcore.engine import Message
from voiceagent.conversation import commands as do

INSTRUCTIONS = Message("system", "You are the keeper of a lighthouse.")
GUIDANCE = Message("system", "Say that it is late.")
MOST_MOVES = 60


def prompts_of(world: CallWorld) -> Iterator[tuple[Message, ...]]:
    """Yield each prompt of a call's responses and summaries in three forms: unchanged, with instructions, and
    with both instructions and guidance.
    """
    for command in world.commands:
        match command:
            case do.StartResponse(request=request):
                messages = request.messages
            case do.Summarise(prompt=prompt):
                messages = prompt
            case _:
                continue
        yield messages
        yield (INSTRUCTIONS, *messages)
        yield (INSTRUCTIONS, *messages, GUIDANCE)


def different(prompts: Iterable[tuple[Message, ...]]) -> list[tuple[Message, ...]]:
    """Return one prompt for each order of messages: templates do not distinguish others."""
    kinds = {
        tuple((m.role, bool(m.content), len(m.tool_calls), bool(m.tool_call_id)) for m in prompt): prompt
        for prompt in prompts
    }
    return list(kinds.values())


def prompts_of_calls(calls: int) -> list[tuple[Message, ...]]:
    """Return the distinct prompts of this many random calls, always the same ones."""
    chance = random.Random(48)
    settings = (
        call_settings(),
        call_settings(output_modality="text"),
        call_settings(turn_detection=turn_detection(create_response=False)),
    )
    found: list[tuple[Message, ...]] = []
    for number in range(calls):
        # draw the moves that make responses and tool calls more often
        moves = [*MOVES, "tool", "tool", "generated", "fragment", "sound", "spoken", "respond", "create"]
        script = [(chance.choice(moves), chance.randrange(10)) for _ in range(chance.randrange(MOST_MOVES))]
        found += prompts_of(
            run(settings[number % len(settings)], script, FORGETFUL if number % 4 == 3 else POLICY)
        )
    return different(found)
