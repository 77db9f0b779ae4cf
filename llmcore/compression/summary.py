"""A summary of old turns: how the model is asked for it, and what becomes of what it wrote. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from llmcore.compression.facts import Fact, Known, asks_for_name, find_facts, given_name, known
from llmcore.engine import Message

REQUEST = (
    "Summarise our conversation up to here, for yourself, as you will no longer see it. Write at most "
    "{words} words in the language of the conversation, as plain sentences. Keep every name, number, date "
    "and decision exactly as it was said, and what is still open. Add nothing that was not said."
)
WORDS_PER_TOKEN = 0.6
MAX_CHARACTERS = 16_384
"""Of the turns that facts are looked for in, the newest: twice what is said before turns are summarised. A
caller may type a hundred times that, and the work holds up other calls too."""
MAX_PHRASES = 500
"""Of the facts that a summary lost, the newest: more than one has room for."""


@dataclass(frozen=True, slots=True)
class OldTurns:
    """What a summary stands for.

    said: the turns. earlier: the summary of those before them, "" where there are none. static: what stays in
    the prompt whatever happens, the system prompt. language: ISO 639 code.
    """

    said: tuple[Message, ...]
    earlier: str
    static: str
    language: str

    def facts(self) -> list[Fact]:
        """What must not be lost: what the caller said, and what the agent said beyond the system prompt."""
        static = _known_static(self.static, self.language)
        facts, asked = find_facts(self.earlier, self.language), False
        for message in self.said:
            found = find_facts(message.content, self.language)
            if message.role == "user":
                facts += given_name(message.content) if asked else []
                facts += found
            elif message.role == "assistant":
                facts += [fact for fact in found if not static.states(fact)]
                asked = asks_for_name(message.content)
        return facts

    def known(self) -> Known:
        """What a summary may state."""
        calls = (call.arguments for message in self.said for call in message.tool_calls)
        return _known_static(self.static, self.language) | known(
            [self.earlier, *(message.content for message in self.said), *calls], self.language
        )


def newest(said: Sequence[Message]) -> tuple[Message, ...]:
    """The turns that a summary is held against: `MAX_CHARACTERS` of them, the oldest of these cut."""
    kept: list[Message] = []
    left = MAX_CHARACTERS
    for message in reversed(said):
        size = len(message.content) + sum(len(call.arguments) for call in message.tool_calls)
        if size > left:
            kept.append(replace(message, content=message.content[-left:], tool_calls=()))
            break
        kept.append(message)
        left -= size
        if not left:
            break
    return tuple(reversed(kept))


@dataclass(frozen=True, slots=True)
class Verdict:
    """missing: phrases that the summary lost. invented: what nobody said."""

    missing: tuple[str, ...]
    invented: tuple[str, ...]


def request_summary(prompt: Sequence[Message], summary_tokens: int) -> tuple[Message, ...]:
    """The call's own prompt up to the last old turn, which the prefix cache holds, and what to do with it."""
    request = Message("user", REQUEST.format(words=round(summary_tokens * WORDS_PER_TOKEN)))
    if prompt and prompt[-1].role == "user":  # templates want the roles to alternate
        last = prompt[-1]
        return (*prompt[:-1], Message("user", f"{last.content}\n\n{request.content}"))
    return (*prompt, request)


def check_summary(summary: str, turns: OldTurns) -> Verdict:
    """Hold the names, numbers and dates of a summary against those of what it stands for."""
    stated, may_be_stated = known([summary], turns.language), turns.known()
    missing = _phrases(fact for fact in turns.facts() if not stated.states(fact))
    invented = _phrases(fact for fact in find_facts(summary, turns.language) if not may_be_stated.has(fact))
    return Verdict(missing, invented)


def with_missing(summary: str, missing: Sequence[str], max_characters: int) -> str:
    """The summary, then what it lost, word for word; the oldest goes beyond `max_characters`."""
    kept: list[str] = []
    for phrase in reversed(missing):
        if sum(map(len, kept)) + len(phrase) > max_characters:
            break
        kept.insert(0, phrase)
    return f"{summary.strip()} Said so far: {'; '.join(kept)}." if kept else summary.strip()


@lru_cache(maxsize=16)
def _known_static(static: str, language: str) -> Known:
    """The system prompt is long, and the same for many calls."""
    return known([static], language)


def _phrases(facts: Iterable[Fact]) -> tuple[str, ...]:
    """Their phrases, each once, without those that another one contains. Where one ends with the words that
    the next begins with, they are one: "27 Harbour" and "Harbour Street".
    """
    phrases: list[str] = []
    for phrase in dict.fromkeys(fact.phrase for fact in facts):
        before, words = phrases[-1].split() if phrases else [], phrase.split()
        shared = next((n for n in range(min(len(before), len(words)), 0, -1) if before[-n:] == words[:n]), 0)
        if shared:
            phrases[-1] = " ".join((*before, *words[shared:]))
        else:
            phrases.append(phrase)
    kept = phrases[-MAX_PHRASES:]
    return tuple(phrase for phrase in kept if not any(phrase in other for other in kept if other != phrase))
