"""Prompts for a silent caller, and the hang-up after the last one."""

from __future__ import annotations

from voiceagent.conversation import commands as do
from voiceagent.conversation.commands import Command
from voiceagent.conversation.turn_policy import TurnPolicy


class SilentCaller:
    """Sequence of prompts for a silent caller, before the agent hangs up."""

    def __init__(self, policy: TurnPolicy) -> None:
        self._policy = policy
        self._asked = 0
        self._moment = False
        self._leaving = False

    def take_moment(self) -> bool:
        """Return True once after the caller asked for a moment."""
        moment, self._moment = self._moment, False
        return moment

    def next_phrase(self) -> str:
        """Return the next prompt, or goodbye if there are no more."""
        prompts = self._policy.idle_prompts
        self._leaving = self._asked >= len(prompts)
        self._asked += 1
        return self._policy.goodbye if self._leaving else prompts[self._asked - 1]

    def caller_acted(self, moment: bool = False) -> None:
        """Restart the sequence after input of the caller. moment: they asked for a moment."""
        self._asked = 0
        self._moment = moment

    def response_over(self, cut: bool) -> list[Command]:
        """Hang up after a goodbye that was not cut."""
        leaving, self._leaving = self._leaving, False
        return [do.HangUp("the caller has been silent")] if leaving and not cut else []
