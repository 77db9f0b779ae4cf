"""What all calls of a server share: started engines, policies and metrics."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

from audio.echo import EchoCanceller
from audio.endpoint import EndpointConfig
from audio.front_end import FrontEnd
from audio.smart_turn import SmartTurn
from audio.synthesizers import Speech, Synthesizer
from voiceagent.config.tables import Config
from voiceagent.conversation.fragments import Fragment
from voiceagent.conversation.latency import LatencyBudget
from voiceagent.conversation.turn_policy import TurnPolicy
from voiceagent.engines.engines import Engines
from voiceagent.llm.load_shedding import LoadShedder
from voiceagent.session.pacing import Pacer
from voiceagent.telemetry.metrics import Metrics
from voiceagent.text_normalization import normalize


@dataclass(frozen=True, slots=True)
class SetPhrase:
    """Words whose sound was made at start: saying them needs no engine."""

    fragment: Fragment
    sound: tuple[Speech, ...]


@dataclass(frozen=True, slots=True)
class Services:
    """Everything a session is made with.

    apology: what the caller hears when a stage fails. filler: what is heard when the answer takes long.
    clock: monotonic seconds, the one clock of all stamps. pacer: wakes whoever has sound to send.
    shedder: what is given up while there is too much to do.
    """

    config: Config
    engines: Engines
    front_end: FrontEnd
    turn_model: SmartTurn | None
    endpoint: EndpointConfig
    policy: TurnPolicy
    budget: LatencyBudget
    apology: SetPhrase
    filler: SetPhrase | None
    metrics: Metrics
    clock: Callable[[], float] = field(default=time.monotonic)
    pacer: Pacer = field(default_factory=lambda: Pacer(time.monotonic))
    shedder: LoadShedder = field(default_factory=LoadShedder)

    def new_echo_canceller(self) -> EchoCanceller | None:
        """What cleans one caller's sound, if the configuration wants it. Raises EchoError."""
        echo = self.config.echo
        return EchoCanceller(echo.cancel, echo.suppress_noise) if echo.cancel or echo.suppress_noise else None


async def prepare(config: Config, engines: Engines, metrics: Metrics) -> Services:
    """Put the services together around engines that have been started. Raises SynthesizerError."""
    front_end = FrontEnd()
    front_end.start()
    turn = config.turn
    return Services(
        config=config,
        engines=engines,
        front_end=front_end,
        turn_model=await _start_turn_model(config),
        endpoint=turn.to_endpointing(),
        policy=turn.to_policy(config.agent, config.history),
        budget=config.budget.to_budget(),
        apology=await _make_phrase(config.agent.apology, config, engines.synthesizer),
        filler=await _make_phrase(config.agent.filler, config, engines.synthesizer)
        if config.agent.filler
        else None,
        metrics=metrics,
    )


async def _start_turn_model(config: Config) -> SmartTurn | None:
    if not config.turn.model:
        return None
    model = SmartTurn(None if config.turn.model == "installed" else Path(config.turn.model))
    await model.start()
    return model


async def _make_phrase(text: str, config: Config, synthesizer: Synthesizer) -> SetPhrase:
    text = f" {text} "  # it may stand before and behind other words of a response
    spoken, alignment = normalize(text, config.agent.language)
    sound = []
    async with aclosing(synthesizer.speak(spoken)) as speeches:
        async for speech in speeches:
            sound.append(speech)
    return SetPhrase(Fragment(text, spoken, alignment), tuple(sound))
