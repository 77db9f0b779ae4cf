"""Fixed phrases of an agent, synthesised before the first call if there is a phrase cache."""

from __future__ import annotations

from contextlib import aclosing

import structlog

from audio.synthesizers import Synthesizer, SynthesizerError
from voiceagent.agents.load import load_agents
from voiceagent.config.tables import Config
from voiceagent.conversation.fragments import Fragmenter
from voiceagent.text_normalization import normalize

log = structlog.get_logger()


def fixed_phrases(config: Config) -> tuple[str, ...]:
    """Return the phrases as a synthesizer is given them, without blanks around. Raises ConfigError."""
    agent, language = config.agent, config.agent.language
    alone = [agent.apology, agent.refusal, agent.filler]
    greetings = [agent.greeting]
    if (usual := load_agents(agent, config.instructions(), config.source).usual) is not None:
        greetings = [usual.greeting] if isinstance(usual.greeting, str) else []
    phrases = [normalize(text, language)[0] for text in alone if text]
    for text in (*greetings, *agent.idle_prompts, agent.goodbye):
        fragmenter = Fragmenter(language)
        phrases += [fragment.spoken for fragment in (*fragmenter.push(text or ""), *fragmenter.finish())]
    return tuple(dict.fromkeys(phrase.strip() for phrase in phrases if phrase.strip()))


async def speak_ahead(synthesizer: Synthesizer, phrases: tuple[str, ...]) -> None:
    """Have each phrase spoken, so that the cache before the synthesizer has it."""
    for phrase in phrases:
        try:
            async with aclosing(synthesizer.speak(phrase)) as speeches:
                async for _ in speeches:
                    pass
        except SynthesizerError as error:
            log.warning("fixed_phrases_failed", reason=str(error))
            return
