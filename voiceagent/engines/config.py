"""Configuration table of an engine."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict

from voiceagent.validation.section import Section


class EngineConfig(Section):
    """Table that selects an engine. All keys except `engine` are the engine's keyword arguments."""

    model_config = ConfigDict(extra="allow")

    engine: str
    """Short name of an engine (`voiceagent engines` lists them) or `package.module:Class`. Modules in the
    configuration's folder are found too. All other keys of the table are the engine's own.
    """

    @property
    def options(self) -> dict[str, Any]:
        """The engine's keyword arguments as written in the file."""
        return dict(self.model_extra or {})
