"""A caller who says nothing: what he is asked, and when the agent hangs up. Pure."""

from __future__ import annotations

from voiceagent.conversation import commands as do
from voiceagent.conversation.commands import Command
from voiceagent.conversation.turn_policy import TurnPolicy


class SilentCaller:
    """What a caller who says nothing is asked, one prompt after the other, before the agent hangs up."""

    def __init__(self, policy: TurnPolicy) -> None:
        self._policy = policy
        self._asked = 0
        self._moment = False
        self._leaving = False

    def take_moment(self) -> bool:
        """Whether the caller has asked for a moment; he is given it once."""
        moment, self._moment = self._moment, False
        return moment

    def next_phrase(self) -> str:
        """The next prompt, or goodbye when there are no more."""
        prompts = self._policy.idle_prompts
        self._leaving = self._asked >= len(prompts)
        self._asked += 1
        return self._policy.goodbye if self._leaving else prompts[self._asked - 1]

    def caller_acted(self, moment: bool = False) -> None:
        """The caller has said, typed or pressed something. moment: he has asked for one."""
        self._asked = 0
        self._moment = moment

    def response_over(self, cut: bool) -> list[Command]:
        """Hang up behind a goodbye that nobody cut."""
        leaving, self._leaving = self._leaving, False
        return [do.HangUp("the caller has been silent")] if leaving and not cut else []
