"""Summaries of old turns: the request to the model, and the check of its summary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from llmcore.compression.facts import (
    Fact,
    FactIndex,
    asks_for_name,
    extract_facts,
    index_facts,
    name_in_answer,
)
from llmcore.engine import Message

REQUEST = (
    "Summarise our conversation up to here, for yourself, as you will no longer see it. Write at most "
    "{words} words in the language of the conversation, as plain sentences. Keep every name, number, date "
    "and decision exactly as it was said, and what is still open. Add nothing that was not said."
)
WORDS_PER_TOKEN = 0.6
MAX_CHARACTERS = 16_384
"""Newest characters of the turns that are searched for facts: twice the length at which turns are summarized.
A caller may type a hundred times as much, and the search blocks other calls.
"""
MAX_PHRASES = 500
"""Newest lost facts that are considered; more than a summary has room for."""


@dataclass(frozen=True, slots=True)
class OldTurns:
    """Turns replaced by a summary.

    said: the turns. earlier: the previous summary, or "". static: text that stays in the prompt, the system
    prompt. language: ISO 639 code.
    """

    said: tuple[Message, ...]
    earlier: str
    static: str
    language: str

    def facts(self) -> list[Fact]:
        """Return the facts to keep: the caller's, and the agent's beyond the system prompt."""
        static = _index_static(self.static, self.language)
        facts, asked = extract_facts(self.earlier, self.language), False
        for message in self.said:
            found = extract_facts(message.content, self.language)
            if message.role == "user":
                facts += name_in_answer(message.content) if asked else []
                facts += found
            elif message.role == "assistant":
                facts += [fact for fact in found if not static.states(fact)]
                asked = asks_for_name(message.content)
        return facts

    def index_facts(self) -> FactIndex:
        """Return an index of everything that a summary may state."""
        calls = (call.arguments for message in self.said for call in message.tool_calls)
        return _index_static(self.static, self.language) | index_facts(
            [self.earlier, *(message.content for message in self.said), *calls], self.language
        )


def newest(said: Sequence[Message]) -> tuple[Message, ...]:
    """Return the newest `MAX_CHARACTERS` of the turns, the oldest of them cut."""
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
    """Errors of a summary. missing: lost phrases. invented: facts that do not occur in the turns."""

    missing: tuple[str, ...]
    invented: tuple[str, ...]


def request_summary(prompt: Sequence[Message], summary_tokens: int) -> tuple[Message, ...]:
    """Return the call's own prompt up to the last old turn, which is cached, and the request to summarize."""
    request = Message("user", REQUEST.format(words=round(summary_tokens * WORDS_PER_TOKEN)))
    if prompt and prompt[-1].role == "user":  # templates require alternating roles
        last = prompt[-1]
        return (*prompt[:-1], Message("user", f"{last.content}\n\n{request.content}"))
    return (*prompt, request)


def check_summary(summary: str, turns: OldTurns) -> Verdict:
    """Compare the names, numbers and dates of a summary with those of the turns."""
    stated, may_be_stated = index_facts([summary], turns.language), turns.index_facts()
    missing = _phrases(fact for fact in turns.facts() if not stated.states(fact))
    invented = _phrases(
        fact for fact in extract_facts(summary, turns.language) if not may_be_stated.has(fact)
    )
    return Verdict(missing, invented)


def append_missing(summary: str, missing: Sequence[str], max_characters: int) -> str:
    """Append the lost phrases to the summary, up to `max_characters`; the oldest are dropped."""
    kept: list[str] = []
    for phrase in reversed(missing):
        if sum(map(len, kept)) + len(phrase) > max_characters:
            break
        kept.insert(0, phrase)
    return f"{summary.strip()} Said so far: {'; '.join(kept)}." if kept else summary.strip()


@lru_cache(maxsize=16)
def _index_static(static: str, language: str) -> FactIndex:
    """Cache the index of the system prompt, which is long and the same for many calls."""
    return index_facts([static], language)


def _phrases(facts: Iterable[Fact]) -> tuple[str, ...]:
    """Return the facts' distinct phrases, without those that another one contains.

    Phrases that overlap are joined: "27 Harbour" and "Harbour Street".
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
