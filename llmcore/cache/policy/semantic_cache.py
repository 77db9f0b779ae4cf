"""Which questions the semantic cache may answer, and with what: the whole policy. Pure.

A question's key is who is asked (the prompt before the first turn, the tools and the settings, as a digest)
and its text. What needs the rest of the call to be understood has no key: it is neither stored nor looked up.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import takewhile
from typing import Literal

from llmcore.cache.policy.english import CALLED, PERSONAL, POINTS_BACK, SPOKEN_DIGITS
from llmcore.cache.policy.facts import facts, same_facts
from llmcore.engine import Message, Request

Skipped = Literal["no_question", "long", "tools", "no_class", "history", "personal"]
"""Why the cache leaves a request alone."""

MAX_QUESTION_CHARACTERS = 200
"""Two longer ones are never alike enough."""
MAX_REPLY_CHARACTERS = 2000
_MAX_DIGITS = 6
"""A text with more digits than a date, in figures or spoken, has the number of a phone, a card or a booking.
"""


@dataclass(frozen=True, slots=True)
class CacheableClass:
    """Questions of one kind: those in which a pattern is found.

    ttl_s: how long an answer stays true. self_contained: they are understood without the turns before them;
    others only where there is none.
    """

    patterns: tuple[re.Pattern[str], ...]
    ttl_s: float
    self_contained: bool


@dataclass(frozen=True, slots=True)
class Rules:
    """threshold: the least cosine of two questions with one answer. model: which one answers; its name is
    part of the key, as servers with different models may share their entries.
    """

    classes: tuple[CacheableClass, ...]
    threshold: float
    model: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """What may be looked up. first: nothing was said before it, so that its answer may be stored."""

    agent: str
    text: str
    ttl_s: float
    first: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """A question with the reply it was given, and the tokens that this took."""

    agent: str
    question: str
    reply: str
    prompt_tokens: int
    completion_tokens: int

    @property
    def key(self) -> str:
        """One for each agent and wording: a later reply to the same words takes the place of this one."""
        words = " ".join(re.findall(r"\w+", self.question.lower()))
        return _digest(f"{self.agent} {words}")


@dataclass(frozen=True, slots=True)
class Near:
    """An entry, and the cosine of its question to the one that is asked."""

    cosine: float
    entry: Entry


def to_question(request: Request, rules: Rules) -> Question | Skipped:
    """What `request` asks, if an answer from the cache is allowed; else why it is not."""
    if request.tools and request.tool_choice != "none":
        return "tools"
    if not request.messages or request.messages[-1].role != "user":
        return "no_question"
    if any(message.images for message in request.messages):
        return "personal"
    before, turn = _before_the_turns(request.messages), request.messages[-1].content
    first = len(before) + 1 == len(request.messages)
    if len(turn) > MAX_QUESTION_CHARACTERS:
        return "long"
    if "[" in turn:  # nobody said that: it is a summary of what was, or the like
        return "history"
    if is_personal(turn):
        return "personal"
    found = next((c for c in rules.classes if any(pattern.search(turn) for pattern in c.patterns)), None)
    if found is None:
        return "no_class"
    if not first and (not found.self_contained or POINTS_BACK.search(turn)):
        return "history"
    return Question(_agent(before, request, rules.model), turn, found.ttl_s, first)


def is_personal(text: str) -> bool:
    """Whether a text seems to tell who is speaking: a name, a long number, an address. Rather too often."""
    if PERSONAL.search(text) or CALLED.search(text):
        return True
    return any(_digits(run.group()) > _MAX_DIGITS for run in SPOKEN_DIGITS.finditer(text))


def choose(question: Question, near: Sequence[Near]) -> Entry | None:
    """The best of the entries that were found near enough, whose facts are those of the question."""
    asked = facts(question.text)
    for found in sorted(near, key=lambda found: -found.cosine):
        if same_facts(asked, facts(found.entry.question)):
            return found.entry
    return None


def pieces(reply: str) -> list[str]:
    """A reply in the pieces in which a model would have written it, about a word each."""
    return re.findall(r"\s*\S+|\s+", reply)


def _before_the_turns(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The system prompt, and a greeting if there is one."""
    return tuple(takewhile(lambda message: message.role != "user", messages))


def _agent(before: tuple[Message, ...], request: Request, model: str) -> str:
    """Who is asked: the same for all requests that the same prompt, tools and settings stand before."""
    said = [(message.role, message.content) for message in before]
    tools = [asdict(tool) for tool in request.tools]
    settings = (request.max_tokens, request.temperature, request.stop)
    return _digest(json.dumps([model, said, tools, settings]))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _digits(run: str) -> int:
    return len(re.findall(r"\d|[a-z]+", run, re.IGNORECASE))
