"""Simulated callers: what is said next. How it sounds is `delivery`'s and `sound_call`'s."""

from __future__ import annotations

import json
import re
from contextlib import aclosing
from dataclasses import dataclass
from random import Random
from typing import Protocol

from llmcore.engine import Llm, LlmError, Message, Request
from voiceagent.evals.scenario import Habit, Persona, ScenarioFile
from voiceagent.testing.words import says

_MAX_TOKENS = 120
_INTERRUPTS_SHARE = 0.5
"""Share of answers that a caller with the habit interrupts."""
_INTERRUPTS_AFTER_S = (0.8, 2.0)
_COMMAND = re.compile(r"\[\s*(hang up|silence)(?:\s+(\d+(?:\.\d+)?))?\s*\]", re.IGNORECASE)
_MAX_SILENCE_S = 30.0
_TEMPERATURE = 0.7


@dataclass(frozen=True, slots=True)
class Line:
    """A line to say. wait_s: silence before it, None for the usual one."""

    text: str
    wait_s: float | None = None


class CallerError(Exception):
    """The LLM of a caller failed."""


class Caller(Protocol):
    """Decides what the caller says."""

    @property
    def is_cut(self) -> bool:
        """True if the caller hung up because of the scenario's `max_turns`."""

    def over_agent_s(self) -> float | None:
        """Return how far into the agent's answer the next line begins; None for after its end."""

    async def next(self, heard: str) -> Line | None:
        """Return the next line, None to hang up. heard: the agent's words since the last one.

        Raises CallerError.
        """


class ScriptedCaller:
    """Caller who follows a script; each run chooses among the wordings.

    by_ear: the agent's words come from a recognizer, which may mishear some.
    """

    def __init__(self, scenario: ScenarioFile, random: Random, language: str, by_ear: bool = False) -> None:
        self._lines = list(scenario.script)
        self._replies = list(scenario.replies)
        self._left = scenario.max_turns
        self._random = random
        self._language = language
        self._by_ear = by_ear
        self._has_spoken = False
        self._interrupts = _Interrupting(scenario.persona, random)

    @property
    def is_cut(self) -> bool:
        return not self._left and bool(self._lines)

    def over_agent_s(self) -> float | None:
        own_s = self._lines[0].over_agent_s if self._lines else None
        hears_out = not self._lines or not self._has_spoken  # the habit spares the greeting
        return own_s if own_s is not None or hears_out else self._interrupts.after_s()

    async def next(self, heard: str) -> Line | None:
        if not self._left:
            return None
        self._left -= 1
        self._has_spoken = True
        for reply in self._replies:
            if any(says(heard, words, self._language, self._by_ear) for words in reply.to):
                self._replies.remove(reply)
                return Line(self._random.choice(reply.say))
        if not self._lines:
            return None
        line = self._lines.pop(0)
        return Line(self._random.choice(line.say), line.wait_s)


class LlmCaller:
    """Caller who is an LLM in the role of a person."""

    def __init__(self, llm: Llm, scenario: ScenarioFile, random: Random, language: str) -> None:
        self._llm = llm
        self._messages = [Message("system", instructions(scenario.persona, language))]
        self._left = scenario.max_turns
        self._hangs_up = False
        self._interrupts = _Interrupting(scenario.persona, random)

    @property
    def is_cut(self) -> bool:
        return not self._left and not self._hangs_up

    def over_agent_s(self) -> float | None:
        return self._interrupts.after_s() if len(self._messages) > 1 else None

    async def next(self, heard: str) -> Line | None:
        if not self._left or self._hangs_up:
            return None
        self._left -= 1
        self._messages.append(Message("user", heard or "(silence)"))
        text = await complete(self._llm, tuple(self._messages), _TEMPERATURE)
        self._messages.append(Message("assistant", text))
        line, self._hangs_up = parse_line(text)
        return line


def parse_line(text: str) -> tuple[Line | None, bool]:
    """Return the line that an LLM wants to say, with "[silence 5]" as its wait, and True for "[hang up]".

    None instead of a line for "[hang up]" alone.
    """
    wait_s, hangs_up = None, False
    for name, seconds in _COMMAND.findall(text):
        if name.lower() == "silence":
            wait_s = min(_MAX_SILENCE_S, float(seconds or 5))
        else:
            hangs_up = True
    words = " ".join(_COMMAND.sub(" ", text).replace('"', " ").split())
    return (None if hangs_up and not words else Line(words, wait_s)), hangs_up


async def complete(llm: Llm, messages: tuple[Message, ...], temperature: float = 0.0) -> str:
    """Return an LLM's whole answer. Raises CallerError."""
    text = ""
    try:
        request = Request(messages, max_tokens=_MAX_TOKENS, temperature=temperature, caller="eval")
        async with aclosing(llm.generate(request)) as deltas:
            async for delta in deltas:
                text += delta.text
    except LlmError as error:
        raise CallerError(f"the caller's LLM failed: {error}") from error
    return text.strip()


_HABITS: dict[Habit, str] = {
    "pauses": 'You hesitate within sentences: write "[pause 1.2]" there.',
    "corrects": "You sometimes say a detail wrongly and correct yourself in the same sentence.",
    "spells": "You spell names letter by letter.",
    "changes_mind": "Once in the call you change your mind about a detail that you have already given.",
    "falls_silent": 'Once in the call you do not answer at first: begin that line with "[silence 6]".',
    "hangs_up": 'You hang up without a goodbye as soon as you have what you want: answer only "[hang up]".',
}


def instructions(persona: Persona, language: str) -> str:
    """Return the system prompt of an LLM that is this person."""
    facts = "\n".join(f"- {name}: {value}" for name, value in persona.facts.items())
    habits = "\n".join(_HABITS[habit] for habit in persona.habits if habit in _HABITS)
    parts = (
        "You are a person who calls a service by phone; the user's messages are what its agent says. You "
        "are no assistant. Write only what you say next: one or two spoken sentences, numbers in words, "
        f"in the language with the code {json.dumps(persona.language or language)}.",
        f"Why you call: {persona.goal}",
        f"You are {persona.temper}.",
        f"You know only this:\n{facts}" if facts else "",
        habits,
        'When your goal is reached, or clearly cannot be, say goodbye and end the line with "[hang up]".',
    )
    return "\n\n".join(part for part in parts if part)


class _Interrupting:
    """The habit of speaking over the agent."""

    def __init__(self, persona: Persona, random: Random) -> None:
        self._has = "interrupts" in persona.habits
        self._random = random

    def after_s(self) -> float | None:
        if not self._has or self._random.random() >= _INTERRUPTS_SHARE:
            return None
        return self._random.uniform(*_INTERRUPTS_AFTER_S)
