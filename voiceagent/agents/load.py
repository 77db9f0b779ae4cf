"""The agents that a configuration names, and which of them a call is for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from llmcore.engine import Tool
from voiceagent.agents.agent import Agent, greeting_of
from voiceagent.agents.call import no_call
from voiceagent.conversation.config import AgentConfig
from voiceagent.session.call import CallRefused
from voiceagent.validation.errors import problem
from voiceagent.validation.references import import_object

BY_NAME = "agent"
"""The parameter of a phone call that names its agent."""


@dataclass(frozen=True, slots=True)
class Agents:
    """The agents of a server. usual: the one for all other calls, None where the instructions are all there
    is. named: by their names. chosen_by: of a phone call's parameters, whose value names an agent.
    """

    usual: type[Agent] | None = None
    named: Mapping[str, type[Agent]] = field(default_factory=dict)
    chosen_by: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def of_model(self, model: str) -> type[Agent] | None:
        """The agent of a client that asked for this model."""
        return self.named.get(model, self.usual)

    def check_name(self, name: str) -> None:
        """Raises CallRefused where no agent is called so."""
        if name not in self.named:
            allowed = ", ".join(self.named) or "none, as there is no agent.others"
            raise CallRefused(f"no agent is called {name[:60]!r}; allowed: {allowed}", 404)

    def of_call(self, parameters: Mapping[str, str]) -> Agent | None:
        """An agent for a phone call with these parameters; None where they say nothing of one."""
        found = self.named.get(parameters.get(BY_NAME, ""))
        for parameter, names in self.chosen_by.items():
            found = found or self.named.get(names.get(parameters.get(parameter, ""), ""))
        return None if found is None else found()


def load_agents(table: AgentConfig, instructions: str, source: Path) -> Agents:
    """The agents of `[agent]` in the file `source`. instructions: the table's own. Raises ConfigError."""
    named = {name: load_agent(path, f"agent.others.{name}", source) for name, path in table.others.items()}
    for parameter, names in table.chosen_by.items():
        for value, name in names.items():
            if name not in named:
                allowed = f"of agent.others: {', '.join(named) or 'none is there'}"
                raise problem(source, f"agent.chosen_by.{parameter}.{value}", name, f"allowed: {allowed}")
    if table.python is not None:
        return Agents(load_agent(table.python, "agent.python", source), named, table.chosen_by)
    if not named:
        return Agents()
    usual = type("Configured", (Agent,), {"instructions": instructions, "greeting": table.greeting})
    return Agents(usual, named, table.chosen_by)


def beginning_of(table: AgentConfig, instructions: str, source: Path) -> tuple[str, tuple[Tool, ...]]:
    """The system prompt and the tools that calls of the usual agent begin with. Raises ConfigError."""
    usual = load_agents(table, instructions, source).usual
    if usual is None:
        return instructions, ()
    agent = _uncalled(usual)
    return agent.prompt(), tuple(tool.spec.tool for tool in agent.tools)


def load_agent(name: str, key: str, source: Path) -> type[Agent]:
    """The class `module:Class`; key: where the file `source` names it. Raises ConfigError.

    An instance is made, so that what is wrong with it is told at start and not in the first call; its
    instructions and greeting are asked for as of a call of which nothing is known.
    """
    try:
        found = import_object(name, source.parent)
        if not (isinstance(found, type) and issubclass(found, Agent)):
            raise TypeError("not an agent; allowed: a class derived from voiceagent.agents.Agent")
        agent = _uncalled(found)
        agent.prompt()
        greeting_of(agent)
    except (Exception, SystemExit) as error:  # it is others' code that is imported
        raise problem(source, key, name, f"{type(error).__name__}: {error}") from error
    return found


def _uncalled(kind: type[Agent]) -> Agent:
    """An instance that nobody has called, but whose instructions may ask what is known of the call."""
    agent = kind()
    agent._call = no_call()
    return agent
