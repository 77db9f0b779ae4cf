"""Finds the class that a configuration names as its agent."""

from __future__ import annotations

from pathlib import Path

from voiceagent.agents.agent import Agent
from voiceagent.validation.errors import problem
from voiceagent.validation.references import import_object


def load_agent(name: str, key: str, source: Path) -> type[Agent]:
    """The class `module:Class`; key: where the file `source` names it. Raises ConfigError.

    An instance is made, so that what is wrong with it is told at start and not in the first call.
    """
    try:
        found = import_object(name, source.parent)
        if not (isinstance(found, type) and issubclass(found, Agent)):
            raise TypeError("not an agent; allowed: a class derived from voiceagent.agents.Agent")
        prompt = found().prompt()
        if not isinstance(prompt, str):
            raise TypeError(f"its instructions are {type(prompt).__name__}; allowed: text")
    except Exception as error:  # it is others' code that is imported
        raise problem(source, key, name, f"{type(error).__name__}: {error}") from error
    return found
