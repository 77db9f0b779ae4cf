"""Configuration table of an engine."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict

from voiceagent.validation.section import Section


class EngineConfig(Section):
    """`[recognizer]`, `[llm]`, `[synthesizer]`, their fallbacks, `[small_llm]`: an engine; all other keys are
    its keyword arguments.
    """

    model_config = ConfigDict(extra="allow")

    engine: str
    """A short name (see `voiceagent engines`) or `package.module:Class`; modules next to the file are
    found too.
    """

    @property
    def options(self) -> dict[str, Any]:
        """The engine's keyword arguments as written in the file."""
        return dict(self.model_extra or {})
