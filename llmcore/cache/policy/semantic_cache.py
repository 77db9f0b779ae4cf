"""Policy of the semantic cache: which questions it may answer, and with which entry.

A question is identified by its agent (a digest of the prompt before the first turn, the tools and the
settings) and its text. A question that depends on the rest of the call is neither stored nor looked up.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import takewhile
from typing import Literal

from llmcore.cache.policy.facts import CALLED, PERSONAL, POINTS_BACK, SPOKEN_DIGITS, facts, same_facts
from llmcore.engine import Message, Request

Skipped = Literal["no_question", "long", "tools", "no_class", "history", "personal"]
"""Reason that the cache ignores a request."""

MAX_QUESTION_CHARACTERS = 200
"""Longer questions are never similar enough."""
MAX_REPLY_CHARACTERS = 2000
_MAX_DIGITS = 6
"""Digits of a date, in figures or words. A text with more contains a phone, card or booking number."""


@dataclass(frozen=True, slots=True)
class CacheableClass:
    """A kind of question, recognized by patterns.

    ttl_s: time for which an answer stays true. self_contained: understood without earlier turns; if False,
    cached only in the first turn.
    """

    patterns: tuple[re.Pattern[str], ...]
    ttl_s: float
    self_contained: bool


@dataclass(frozen=True, slots=True)
class Rules:
    """Settings of the policy. threshold: smallest cosine of two questions with one answer. model: name of the
    answering model, part of the key, as servers with different models may share a store.
    """

    classes: tuple[CacheableClass, ...]
    threshold: float
    model: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question that may be looked up. first: in the first turn, so that its answer may be stored."""

    agent: str
    text: str
    ttl_s: float
    first: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """A question, its reply, and the tokens that the reply took."""

    agent: str
    question: str
    reply: str
    prompt_tokens: int
    completion_tokens: int

    @property
    def key(self) -> str:
        """Key of agent and wording: a later reply to the same words replaces this entry."""
        words = " ".join(re.findall(r"\w+", self.question.lower()))
        return _digest(f"{self.agent} {words}")


@dataclass(frozen=True, slots=True)
class NearEntry:
    """An entry, and the cosine of its question to the one asked."""

    cosine: float
    entry: Entry


def cacheable_question(request: Request, rules: Rules) -> Question | Skipped:
    """Return the question of `request` if the cache may answer it, else the reason why not."""
    if request.tools and request.tool_choice != "none":
        return "tools"
    if not request.messages or request.messages[-1].role != "user":
        return "no_question"
    if any(message.images for message in request.messages):
        return "personal"
    before, turn = _before_first_turn(request.messages), request.messages[-1].content
    first = len(before) + 1 == len(request.messages)
    if len(turn) > MAX_QUESTION_CHARACTERS:
        return "long"
    if "[" in turn:  # not spoken text: a summary of earlier turns, or the like
        return "history"
    if is_personal(turn):
        return "personal"
    found = next((c for c in rules.classes if any(pattern.search(turn) for pattern in c.patterns)), None)
    if found is None:
        return "no_class"
    if not first and (not found.self_contained or POINTS_BACK.search(turn)):
        return "history"
    return Question(_agent_digest(before, request, rules.model), turn, found.ttl_s, first)


def is_personal(text: str) -> bool:
    """Return True if a text may identify the speaker: a name, a long number, an address. In doubt True."""
    if PERSONAL.search(text) or CALLED.search(text):
        return True
    return any(_digits(run.group()) > _MAX_DIGITS for run in SPOKEN_DIGITS.finditer(text))


def choose_entry(question: Question, near: Sequence[NearEntry]) -> Entry | None:
    """Return the closest entry with the same facts as the question, or None."""
    asked = facts(question.text)
    for found in sorted(near, key=lambda found: -found.cosine):
        if same_facts(asked, facts(found.entry.question)):
            return found.entry
    return None


def split_words(reply: str) -> list[str]:
    """Split a reply into pieces of about a word, as a model writes it."""
    return re.findall(r"\s*\S+|\s+", reply)


def _before_first_turn(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the system prompt, and the greeting if there is one."""
    return tuple(takewhile(lambda message: message.role != "user", messages))


def _agent_digest(before: tuple[Message, ...], request: Request, model: str) -> str:
    """Return a digest of the model, the messages before the first turn, the tools and the settings."""
    said = [(message.role, message.content) for message in before]
    tools = [asdict(tool) for tool in request.tools]
    settings = (request.max_tokens, request.temperature, request.stop)
    return _digest(json.dumps([model, said, tools, settings]))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _digits(run: str) -> int:
    return len(re.findall(r"\d|[a-z]+", run, re.IGNORECASE))
