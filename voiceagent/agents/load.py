"""Loads the configured agents and selects the one for a call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from llmcore.engine import Tool
from voiceagent.agents.agent import Agent, greeting_of
from voiceagent.agents.call import no_call
from voiceagent.agents.vocabulary import MAX_WORDS, vocabulary
from voiceagent.conversation.agent_config import AgentConfig
from voiceagent.session.call import CallRefused
from voiceagent.validation.errors import config_error
from voiceagent.validation.references import import_object

BY_NAME = "agent"
"""Call parameter that names the agent."""


@dataclass(frozen=True, slots=True)
class Agents:
    """The agents of a server.

    Attributes:
        usual: The default agent, None if the configuration has instructions only.
        named: The others by name.
        chosen_by: Call parameters and, for their values, the agent's name.
    """

    usual: type[Agent] | None = None
    named: Mapping[str, type[Agent]] = field(default_factory=dict)
    chosen_by: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def of_model(self, model: str) -> type[Agent] | None:
        """Return the agent for a client that requested this model."""
        return self.named.get(model, self.usual)

    def check_name(self, name: str) -> None:
        """Raise CallRefused unless an agent has this name."""
        if name not in self.named:
            allowed = ", ".join(self.named) or "none, as there is no agent.alternatives"
            raise CallRefused(f"no agent is called {name[:60]!r}; allowed: {allowed}", 404)

    def of_call(self, parameters: Mapping[str, str]) -> Agent | None:
        """Return an agent for a phone call with these parameters; None if they select none."""
        found = self.named.get(parameters.get(BY_NAME, ""))
        for parameter, names in self.chosen_by.items():
            found = found or self.named.get(names.get(parameters.get(parameter, ""), ""))
        return None if found is None else found()


def load_agents(table: AgentConfig, instructions: str, source: Path) -> Agents:
    """Load the agents of `[agent]`.

    Args:
        table: The table.
        instructions: Its instructions, loaded.
        source: The configuration file.

    Raises:
        ConfigError: An agent cannot be loaded or is unknown.
    """
    named = {
        name: load_agent(path, f"agent.alternatives.{name}", source)
        for name, path in table.alternatives.items()
    }
    for parameter, names in table.route_by.items():
        for value, name in names.items():
            if name not in named:
                allowed = f"of agent.alternatives: {', '.join(named) or 'none is there'}"
                raise config_error(source, f"agent.route_by.{parameter}.{value}", name, f"allowed: {allowed}")
    if table.python is not None:
        return Agents(load_agent(table.python, "agent.python", source), named, table.route_by)
    if not named:
        return Agents()
    usual = type("Configured", (Agent,), {"instructions": instructions, "greeting": table.greeting})
    return Agents(usual, named, table.route_by)


def beginning_of(table: AgentConfig, instructions: str, source: Path) -> tuple[str, tuple[Tool, ...]]:
    """Return the system prompt and tools of the default agent's calls. Raises ConfigError."""
    agent = default_agent(table, instructions, source)
    if agent is None:
        return instructions, ()
    return agent.prompt(), tuple(tool.spec.tool for tool in agent.tools)


def default_agent(table: AgentConfig, instructions: str, source: Path) -> Agent | None:
    """Return the default agent, without a call; None if the configuration has instructions only.

    Raises ConfigError.
    """
    usual = load_agents(table, instructions, source).usual
    return None if usual is None else _uncalled(usual)


def agent_vocabulary(table: AgentConfig, instructions: str, source: Path) -> tuple[str, ...]:
    """Return the words and names of all agents' tools and instructions. Raises ConfigError."""
    agents = load_agents(table, instructions, source)
    kinds = [kind for kind in (agents.usual, *agents.named.values()) if kind is not None]
    if not kinds:
        return vocabulary(instructions, ())
    uncalled = [_uncalled(kind) for kind in kinds]
    found = (vocabulary(agent.prompt(), [tool.spec.tool for tool in agent.tools]) for agent in uncalled)
    return tuple(dict.fromkeys(word for words in found for word in words))[:MAX_WORDS]


def known_tools(table: AgentConfig, instructions: str, source: Path) -> dict[str, set[str]]:
    """Return the tools of all agents that calls can reach, with the names of their arguments.

    An agent hands over to classes that its module has or imports: those count that are loaded with it.
    Raises ConfigError.
    """
    load_agents(table, instructions, source)
    found: dict[str, set[str]] = {}
    kinds = Agent.__subclasses__()
    while kinds:
        kind = kinds.pop()
        for tool in kind.tools:
            found.setdefault(tool.spec.name, set()).update(tool.spec.tool.parameters.get("properties", {}))
        kinds += kind.__subclasses__()
    return found


def load_agent(name: str, key: str, source: Path) -> type[Agent]:
    """Load the class `module:Class`.

    An instance is created so that its faults show at start and not in the first call; instructions and
    greeting are evaluated for a call without metadata.

    Args:
        name: The class.
        key: The configuration key that names it.
        source: The configuration file.

    Raises:
        ConfigError: It cannot be imported or is no valid agent.
    """
    try:
        found = import_object(name, source.parent)
        if not (isinstance(found, type) and issubclass(found, Agent)):
            raise TypeError("not an agent; allowed: a class derived from voiceagent.agents.Agent")
        agent = _uncalled(found)
        agent.prompt()
        greeting_of(agent)
    except (Exception, SystemExit) as error:  # user code
        raise config_error(source, key, name, f"{type(error).__name__}: {error}") from error
    return found


def _uncalled(kind: type[Agent]) -> Agent:
    """Return an instance without a caller, whose instructions may still use `self.call`."""
    agent = kind()
    agent._call = no_call()
    return agent
