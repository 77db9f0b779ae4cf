"""Phrases that are known before any call, such as greetings and set answers. The start speaks each once, so
that the phrase cache holds their audio.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import aclosing

import structlog

from audio.synthesizers import Synthesizer, SynthesizerError
from voiceagent.agents.load import load_agents
from voiceagent.config.tables import Config
from voiceagent.conversation.fragments import Fragmenter
from voiceagent.text_normalization import normalize

log = structlog.get_logger()

_CALLERS_WORDS = "\ue000"
"""Placeholder in a set answer for a group of its pattern, which words of the caller will fill."""


def fixed_phrases(config: Config) -> tuple[str, ...]:
    """Return the phrases as a synthesizer gets them, without white space around them. Raises ConfigError."""
    agent, language = config.agent, config.agent.language
    alone = [agent.apology, agent.refusal, agent.filler]
    agents = load_agents(agent, config.instructions(), config.source)
    classes = [one for one in (agents.usual, *agents.named.values()) if one is not None]
    greetings = [one.greeting for one in classes if isinstance(one.greeting, str)] or [agent.greeting]
    phrases = [normalize(text, language)[0] for text in alone if text]
    corrections = () if config.back_llm is None else (agent.correction,)
    connecting = (agent.connecting,) if config.outbound.allow else ()
    for text in (*greetings, *agent.idle_prompts, agent.goodbye, *corrections, *connecting):
        phrases += _fragments(text or "", language)
    for table in config.set_answers:
        groups = dict.fromkeys(table.to_answer().pattern.groupindex, _CALLERS_WORDS)
        phrases += _fragments(table.answer.format(**groups), language)
    return tuple(dict.fromkeys(phrase.strip() for phrase in phrases if phrase.strip()))


def _fragments(text: str, language: str) -> Iterator[str]:
    """Yield the fragments of a response as they are spoken, without those that hold words of the caller."""
    fragmenter = Fragmenter(language)
    for fragment in (*fragmenter.push(text), *fragmenter.finish()):
        if _CALLERS_WORDS not in fragment.text:
            yield fragment.spoken


async def speak_ahead(synthesizer: Synthesizer, phrases: tuple[str, ...]) -> None:
    """Synthesize each phrase, so that the cache in front of the synthesizer has it."""
    for phrase in phrases:
        try:
            async with aclosing(synthesizer.speak(phrase)) as speeches:
                async for _ in speeches:
                    pass
        except SynthesizerError as error:
            log.warning("fixed_phrases_failed", reason=str(error))
            return
