"""Prompts for a silent caller, and the hang-up after the last one."""

from __future__ import annotations

from voiceagent.conversation import commands as do
from voiceagent.conversation.commands import Command
from voiceagent.conversation.turn_policy import CurrentPolicy


class SilentCaller:
    """Sequence of prompts for a silent caller, before the agent hangs up."""

    def __init__(self, policy: CurrentPolicy) -> None:
        self._policy = policy
        self._prompts_spoken = 0
        self._moment_requested = False
        self._said_goodbye = False

    def pop_moment(self) -> bool:
        """Return True once after the caller asked for a moment."""
        moment, self._moment_requested = self._moment_requested, False
        return moment

    def next_phrase(self) -> str:
        """Return the next prompt, or goodbye if there are no more."""
        prompts = self._policy.now.idle_prompts
        self._said_goodbye = self._prompts_spoken >= len(prompts)
        self._prompts_spoken += 1
        return self._policy.now.goodbye if self._said_goodbye else prompts[self._prompts_spoken - 1]

    def on_caller_input(self, moment: bool = False) -> None:
        """Restart the sequence after input of the caller. moment: they asked for a moment."""
        self._prompts_spoken = 0
        self._moment_requested = moment

    def on_response_over(self, cut: bool) -> list[Command]:
        """Hang up after a goodbye that was not cut."""
        leaving, self._said_goodbye = self._said_goodbye, False
        return [do.HangUp("the caller has been silent", "caller_silent")] if leaving and not cut else []
