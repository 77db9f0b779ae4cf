"""Endless conversations in which the agent has its tools, or another agent's instructions.

Like those of `conversations`, but callers also make requests for the tools, and say things that request
nothing. Without the hotel's tools a request is noted, as usual.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from random import Random

from examples.hotel_model.data import requests as to_do
from examples.hotel_model.data.catalogue import Split, catalogue
from examples.hotel_model.data.conversations import Message, as_received
from examples.hotel_model.data.everyday import INTENT as EVERYDAY
from examples.hotel_model.data.everyday import Everyday
from examples.hotel_model.data.exchanges import Caller, Context, Exchange
from examples.hotel_model.data.foreign import foreign_instructions, foreign_tools
from examples.hotel_model.data.requests import (
    BREAKFAST,
    COLLEAGUE,
    HANG_UP,
    TAXI,
    WAKE,
    Call,
    Request,
    Requests,
)
from examples.hotel_model.data.templates import expand
from voiceagent.demo.front_desk import NO_BREAKFAST, TOOLS

DECLINED = "I'm sorry, I can only help with the Lakeside Hotel."
"""Refusal, under another agent's instructions, of questions about their subject."""

_TURNS, _TURN_WEIGHTS = (1, 2, 3, 4), (34, 34, 20, 12)
_REQUESTED = 0.5  # of the turns in which tools are at hand
_REQUESTED_WITHOUT = 0.08
_FOREIGN_ASKED = 0.35  # of the turns under foreign instructions
_UNASKED = 0.4  # of the turns that are no wish for a tool
_NOTED = {
    WAKE: "I have noted a wake-up call. A colleague at the front desk will call you to confirm it.",
    BREAKFAST: "I have noted a table at breakfast."
    " A colleague at the front desk will call you to confirm it.",
}
_FAILURES = (
    "not done: it took longer than 30 seconds", "not done: the caller went on", "not done: it failed",
    "not done: too many calls in a row; tell the caller what is known so far", "not done: an error",
)  # fmt: skip
_FAILED = 0.04
_ENDINGS = ("talk.human", "talk.goodbye")
_DECLINED = ("outside.decline", EVERYDAY)
_ENDED, _ENDED_LAST = 0.08, 0.2  # of the turns of which a tool is the answer
_ASKS = re.compile(r"\b(is there (a|any)|where|how (do|can|would) i|do you|do they|would there)\b")
_NAMES_A_TIME = re.compile(
    r"\btomorrow\b|\b(at|for) (a )?(\w+ )?(noon|five|six|seven|eight|nine|ten|half|quarter)\b"
)


class ToolCaller:
    """Generator of conversations of one split. words: see Everyday."""

    def __init__(
        self, split: Split, rng: Random, others: Sequence[Exchange] = (), words: Sequence[str] = ()
    ) -> None:
        self.split, self.rng = split, rng
        self.caller = Caller(split, rng, others)
        self.requests = Requests(split, rng)
        self.everyday = Everyday(split, rng, words)
        self.taxi_noted = catalogue().topics["taxi"].aspects["have"].answer
        self.answers = [aspect.answer for aspect in self.caller.aspects]
        self.endings = [other for other in others if other.intent in _ENDINGS]

    def ending(self) -> Exchange:
        """Return a goodbye, or a request for a colleague."""
        if self.endings and self.rng.random() < 0.5:
            return self.rng.choice(self.endings)
        return self.caller.talk(self.rng.choice(_ENDINGS).removeprefix("talk."))

    def conversation(self, *, tools: bool, foreign: bool) -> tuple[Message, ...]:
        """Return a conversation, without instructions or after another agent's. tools: the agent's tools are
        available. foreign: the instructions are another agent's.
        """
        talk = _Talk(self, tools, foreign)
        for turn, left in enumerate(reversed(range(self.rng.choices(_TURNS, _TURN_WEIGHTS)[0]))):
            talk.turn(last=not left, first=not turn)
            if talk.over:
                break
        if not foreign:
            return tuple(talk.messages)
        names = [
            *(TOOLS if tools else ()),
            *(foreign_tools(self.rng) if self.rng.random() < 0.3 else ()),
        ]
        system: Message = {
            "role": "system",
            "content": foreign_instructions(self.rng, self.answers),
            "learn": False,
            "tools": names,
        }
        return (system, *talk.messages)


class _Talk:
    """A conversation under construction."""

    def __init__(self, drawn: ToolCaller, tools: bool, foreign: bool) -> None:
        self.drawn, self.rng, self.tools, self.foreign = drawn, drawn.rng, tools, foreign
        self.messages: list[Message] = []
        self.context = Context()
        self.open: Request | None = None
        self.done: Request | None = None
        self.offered = False
        self.over = False

    def turn(self, *, first: bool, last: bool) -> None:
        """Add a turn of the caller and its answer."""
        rng, requests = self.rng, self.drawn.requests
        if self.open is not None and rng.random() < 0.92:
            return self.ask(requests.given(self.open.tool, self.open.known))
        if self.offered and rng.random() < 0.85:
            return self.ask(requests.given(TAXI, {}))
        if self.tools and self.done is not None and rng.random() < 0.22:
            return self.ask(requests.changed(self.done.tool, self.done.known))
        self.open, self.offered = None, False
        if self.foreign and rng.random() < _FOREIGN_ASKED:
            return self.answer(self.foreign_question())
        if rng.random() < (_REQUESTED if self.tools else _REQUESTED_WITHOUT):
            return self.ask(requests.any())
        if rng.random() < _UNASKED:
            return self.answer(self.drawn.everyday.exchange())
        exchange = self.drawn.caller.next(self.context, last=last)
        if self.tools and rng.random() < (_ENDED_LAST if last else _ENDED):
            exchange = self.drawn.ending()
        if exchange.answer == self.drawn.taxi_noted and self.tools:
            return self.taxi(exchange)
        if self.tools and exchange.intent in _ENDINGS:
            tool, said = (
                (COLLEAGUE, to_do.ONE_MOMENT)
                if exchange.intent == "talk.human"
                else (HANG_UP, exchange.answer)
            )
            return self.ask(Request(tool, exchange.question, Call(tool), said))
        return self.answer(exchange)

    def taxi(self, exchange: Exchange) -> None:
        """Handle a question about taxis: without tools a taxi is noted, here it is offered or ordered."""
        text = exchange.question
        if exchange.intent != "taxi.have" or _ASKS.search(text):
            self.offered = True
            return self.answer(
                Exchange(
                    exchange.intent,
                    text,
                    to_do.OFFER,
                    (),
                    Context(aspect=exchange.context.aspect, answer=to_do.OFFER),
                )
            )
        if _NAMES_A_TIME.search(text):
            return self.ask(self.drawn.requests.any())  # which one is not known
        return self.ask(Request(TAXI, text, Call(TAXI)))

    def foreign_question(self) -> Exchange:
        """Return a question that belongs to another agent's instructions."""
        data = self.drawn.requests.data["foreign"]
        slots = {
            key: self.rng.choice(values[self.drawn.split])
            for key, values in catalogue().outside_slots.items()
        }
        words = expand(self.rng.choice(data[self.drawn.split]), self.rng, catalogue().lexicon, slots)
        return Exchange("foreign", words, DECLINED, (), Context(answer=DECLINED))

    def answer(self, exchange: Exchange) -> None:
        """Add a question answered in words."""
        answer = DECLINED if self.foreign and exchange.intent in _DECLINED else exchange.answer
        self.caller_says(exchange.question, exchange.intent)
        self.agent_says(answer)
        self.context = exchange.context

    def ask(self, request: Request) -> None:
        """Add a request: call the tool and report its result, or ask for what is missing."""
        self.open, self.offered = None, False
        self.caller_says(request.words, request.tool)
        if not self.tools:
            return self.say(_NOTED.get(request.tool, self.drawn.taxi_noted))
        if request.call is None:
            self.open = request
            return self.say(request.said)
        self.agent_says(request.said, request.call)
        if request.tool == HANG_UP:
            self.over = True
            return None
        output = (
            self.rng.choice(_FAILURES)
            if self.rng.random() < _FAILED
            else to_do.result(request.call, self.rng)
        )
        self.messages.append({"role": "tool", "content": output, "learn": False})
        self.say(to_do.told(request.tool, output))
        if output == NO_BREAKFAST:
            self.open = request
        self.done = request if request.tool in (WAKE, BREAKFAST) else None
        return None

    def say(self, words: str) -> None:
        """Add an answer after which there is no topic."""
        self.agent_says(words)
        self.context = Context(answer=words)

    def caller_says(self, words: str, intent: str) -> None:
        self.messages.append(
            {"role": "user", "content": as_received(words, intent, self.rng), "learn": False}
        )

    def agent_says(self, words: str, call: Call | None = None) -> None:
        message: Message = {"role": "assistant", "content": words, "learn": True}
        if call is not None:
            message["tool_calls"] = [{"name": call.name, "arguments": dict(call.arguments)}]
        self.messages.append(message)


def tool_conversations(
    split: Split,
    seed: int,
    others: Sequence[Exchange] = (),
    words: Sequence[str] = (),
    *,
    tools: bool = True,
    foreign: bool = False,
) -> Iterator[tuple[Message, ...]]:
    """Yield endless conversations of one kind, deterministic for the arguments. See ToolCaller."""
    caller = ToolCaller(split, Random(f"{split} {seed} {tools} {foreign}"), others, words)
    while True:
        yield caller.conversation(tools=tools, foreign=foreign)
