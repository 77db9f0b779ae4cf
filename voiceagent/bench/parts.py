"""Techniques of turn-taking that a benchmark can turn off and on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from voiceagent.config.tables import Config
from voiceagent.validation.errors import CommandFailed

Part = Literal["preemptive", "prefill_while_speaking", "turn_model", "semantic", "resume"]
PARTS: tuple[Part, ...] = get_args(Part)
_ATTEMPTS = 5
_RESUME_S = 1.0
"""`turn.resume_s` of a run with that technique on."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A configuration with one technique toggled; `part` is None for the configuration itself."""

    part: Part | None
    is_on: bool
    config: Config

    @property
    def name(self) -> str:
        """Name in reports."""
        return "as configured" if self.part is None else f"{self.part} {'on' if self.is_on else 'off'}"


def parse_parts(text: str) -> tuple[Part, ...]:
    """Parse names of techniques, separated by commas. Raises CommandFailed for an unknown one."""
    known = {str(part): part for part in PARTS}
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise CommandFailed(f"{name!r} is no part of turn-taking; allowed: {', '.join(PARTS)}")
    return tuple(known[name] for name in names)


def is_on(config: Config, part: Part) -> bool:
    """Return True if a configuration uses a technique."""
    turn = config.turn
    match part:
        case "preemptive":
            return turn.preemptive_attempts > 0
        case "prefill_while_speaking":
            return turn.prefill_while_speaking
        case "turn_model":
            return bool(turn.model)
        case "semantic":
            return turn.detection == "semantic_vad"
        case "resume":
            return turn.resume_s > 0


def turned(config: Config, part: Part, on: bool) -> Config:
    """Return the configuration with one technique on or off."""
    changes: dict[Part, dict[str, Any]] = {
        "preemptive": {"preemptive_attempts": _ATTEMPTS if on else 0},
        "prefill_while_speaking": {"prefill_while_speaking": on},
        "turn_model": {"model": "installed" if on else ""},
        "semantic": {"detection": "semantic_vad" if on else "server_vad"},
        "resume": {"resume_s": _RESUME_S if on else 0.0},
    }
    return config.model_copy(update={"turn": config.turn.model_copy(update=changes[part])})


def variants(config: Config, parts: Sequence[Part]) -> list[Variant]:
    """Return the configuration, then a variant for each technique with that one toggled."""
    flipped = [(part, not is_on(config, part)) for part in parts]
    return [
        Variant(None, True, config),
        *(Variant(part, on, turned(config, part, on)) for part, on in flipped),
    ]
