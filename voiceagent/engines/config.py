"""The tables that choose an engine."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict

from voiceagent.validation.section import Section


class EngineConfig(Section):
    """`[recognizer]`, `[llm]`, `[synthesizer]`, their fallbacks, `[small_llm]`: an engine and, in every other
    key, its keyword arguments.
    """

    model_config = ConfigDict(extra="allow")

    engine: str
    """A short name (see `voiceagent engines`) or `package.module:Class`; modules beside the file count."""

    @property
    def options(self) -> dict[str, Any]:
        """The engine's keyword arguments as they stand in the file."""
        return dict(self.model_extra or {})
