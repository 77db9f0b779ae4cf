"""The agent's sound of typing, played while a tool runs."""

from __future__ import annotations

import asyncio

from voiceagent.session.agent import AgentCode
from voiceagent.session.background import Background
from voiceagent.session.tool_running import ToolRunner

AFTER_S = 0.3
"""Time after which a running tool is sounded: a shorter one would be a single click."""


class TypingSound:
    """Plays the sound of the agent while tools run. agent: None for a call without one, which has none."""

    def __init__(self, background: Background, agent: AgentCode | None, tools: ToolRunner) -> None:
        self._background = background
        self._agent = agent
        self._tools = tools
        self._timer: asyncio.TimerHandle | None = None
        self._playing: int | None = None

    @property
    def _sound(self) -> str:
        """The name of the sound, "" for none: a hand-over changes it."""
        return "" if self._agent is None else self._agent.typing_sound

    def on_tool_began(self) -> None:
        """Play the sound in a moment, if a tool runs then."""
        if self._sound and self._timer is None and self._playing is None:
            self._timer = asyncio.get_running_loop().call_later(AFTER_S, self._play)

    def on_tool_ended(self) -> None:
        """Stop the sound after the last tool."""
        if not self._tools.busy:
            self.close()

    def close(self) -> None:
        """Stop the sound."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._playing is not None:
            self._background.stop(self._playing)
            self._playing = None

    def _play(self) -> None:
        self._timer = None
        if self._tools.busy and self._sound:
            self._playing = self._background.start(self._sound, 1.0)
