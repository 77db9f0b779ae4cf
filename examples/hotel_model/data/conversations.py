"""Endless conversations with the front desk, for training the demo model.

A conversation is one to four turns of the caller, each answered. The caller asks, follows up in ways that
need the history, corrects themselves, interrupts, chats, changes the subject; some turns have recognition
errors, some have capitals and punctuation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any, Literal, NotRequired, TypedDict

from examples.hotel_model.data.catalogue import Split
from examples.hotel_model.data.exchanges import Caller, Context, Exchange
from examples.hotel_model.data.recognizer_errors import misheard
from examples.hotel_model.data.typed import typed
from voiceagent.demo.front_desk import TOOLS

_TURNS = (1, 2, 3, 4)
_TURN_WEIGHTS = (30, 36, 20, 14)
_WRITTEN = 0.5  # as people type and as recognizers that punctuate write
_MISHEARD = 0.3
_INTERRUPTED = 0.08


class Message(TypedDict):
    """A message. learn: false for an answer that was cut off. tool_calls: name and arguments of an answer's
    calls. tools: names offered by instructions.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    learn: bool
    tool_calls: NotRequired[list[dict[str, Any]]]
    tools: NotRequired[list[str]]


def conversations(split: Split, seed: int, others: Sequence[Exchange] = ()) -> Iterator[tuple[Message, ...]]:
    """Yield endless conversations without system prompt, deterministic for the arguments.

    others: further exchanges besides those of the templates, see Caller.
    """
    rng = Random(f"{split} {seed}")
    caller = Caller(split, rng, others)
    while True:
        yield _conversation(caller, rng)


def questions(seed: int) -> Iterator[str]:
    """Yield callers' training questions without end, follow-ups included."""
    rng = Random(seed)
    caller = Caller("train", rng)
    while True:
        context = Context()
        for turn in range(3):
            exchange = caller.next(context, last=turn == 2)
            context = exchange.context
            yield exchange.question


def _conversation(caller: Caller, rng: Random) -> tuple[Message, ...]:
    messages: list[Message] = []
    context = Context()
    turns = rng.choices(_TURNS, _TURN_WEIGHTS)[0]
    for turn in range(turns):
        exchange = caller.next(context, last=turn == turns - 1)
        context = exchange.context
        messages.append(
            {"role": "user", "content": as_received(exchange.question, exchange.intent, rng), "learn": False}
        )
        answer, cut = exchange.answer, False
        if turn < turns - 1 and rng.random() < _INTERRUPTED:
            words = answer.split()
            if len(words) > 4:
                answer, cut = " ".join(words[: rng.randrange(2, len(words) - 1)]), True
        context = replace(context, cut=cut)
        messages.append({"role": "assistant", "content": answer, "learn": not cut})
    return tuple(messages)


def as_received(words: str, intent: str, rng: Random) -> str:
    """Return a caller's words, sometimes with recognition errors or in writing.

    Requests already contain their errors, as a tool's arguments have none.
    """
    if rng.random() < _MISHEARD and intent != "unclear" and intent not in TOOLS:
        words = misheard(words, rng)
    return typed(words, rng) if rng.random() < _WRITTEN else words
