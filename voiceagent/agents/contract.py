"""Checks of agent classes, at definition instead of in their first call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any

from audio.clips import check_sound

_OWN = ("call", "prompt", "tools")
"""Attributes of `Agent` that subclasses must not override."""

_ELSEWHERE = {
    "on_enter": "on_call_began",
    "on_exit": "on_call_ended",
    "on_user_turn_completed": "on_turn",
    "on_client_connected": "on_call_began",
    "on_client_disconnected": "on_call_ended",
}
"""Hooks of LiveKit Agents and Pipecat, and the nearest ones here."""


class WrongAgent(TypeError):
    """A class cannot be an agent; the message names the fault and what is allowed."""


def check_agent(kind: type, base: type) -> None:
    """Raise WrongAgent if the class `kind` violates the contract of `base`, which is `Agent`."""
    for name in _OWN:
        if name in vars(kind):
            hint = "its tools are its methods with @tool" if name == "tools" else "allowed: another name"
            raise WrongAgent(f"{kind.__name__}.{name}: every agent has this from Agent; {hint}")
    hooks = [name for name, value in vars(base).items() if inspect.iscoroutinefunction(value)]
    for name in hooks:
        _check_hook(kind, name, getattr(base, name))
    for name in vars(kind):
        _check_name(kind, name, hooks)
    if inspect.iscoroutinefunction(getattr(kind, "instructions", "")):
        raise WrongAgent(
            f"{kind.__name__}.instructions: async; allowed: a text or a plain method, which is asked "
            "again after on_call_began: what has to be waited for belongs there"
        )
    if sound := getattr(kind, "typing_sound", ""):
        try:
            check_sound(sound)
        except ValueError as error:
            raise WrongAgent(f"{kind.__name__}.typing_sound: {error}") from error
    if inspect.isroutine(getattr(kind, "greeting", "")):
        raise WrongAgent(f"{kind.__name__}.greeting: a method; allowed: a text, or a property that gives one")


def _check_hook(kind: type, name: str, own: Callable[..., Any]) -> None:
    hook = getattr(kind, name)
    if hook is own:
        return
    takes = list(inspect.signature(own).parameters)
    written = f"async def {name}({', '.join(takes)})"
    if not inspect.iscoroutinefunction(hook):
        raise WrongAgent(f"{kind.__name__}.{name}: not asynchronous; allowed: {written}")
    try:
        inspect.signature(hook).bind(*takes)
    except TypeError as error:
        raise WrongAgent(f"{kind.__name__}.{name}: {error}; allowed: {written}") from error


def _check_name(kind: type, name: str, hooks: Sequence[str]) -> None:
    """Raise WrongAgent for a misspelt hook, which would never be called."""
    if name in hooks or not name.startswith("on_") or not inspect.iscoroutinefunction(getattr(kind, name)):
        return
    meant = _ELSEWHERE.get(name, "")
    if meant or get_close_matches(name, hooks, 1, 0.65):
        allowed = meant or f"another name, or of a hook: {', '.join(hooks)}"
        raise WrongAgent(f"{kind.__name__}.{name}: there is no such hook; allowed: {allowed}")
