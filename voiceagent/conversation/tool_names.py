"""The one rule by which a tool is renamed whose name another tool of the call has. Pure.

Tools of a call come from its agent, its phone line, MCP servers and the client. Servers refuse a request in
which two tools have one name, and the call of such a tool could not be told from the other's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet

_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
MAX_NAME = 64
"""Longest name of a tool that models take."""


def free_name(name: str, owner: str, taken: AbstractSet[str]) -> str:
    """Return the name under which the model is offered a tool: its own where no other tool has it, else with
    its owner's before it, else counted too. Characters that models do not take become "_".

    owner: the label of an MCP server, "line", or the agent's class.
    """
    plain = _NOT_IN_NAMES.sub("_", name)[:MAX_NAME] or "tool"
    if plain not in taken:
        return plain
    longer = _NOT_IN_NAMES.sub("_", f"{owner}_{name}")[:MAX_NAME]
    number = 2
    free = longer
    while free in taken:
        free = f"{longer[: MAX_NAME - 5]}_{number}"
        number += 1
    return free


def free_names(tools: Iterable[tuple[str, str]]) -> list[str]:
    """Return the names that the model is offered, in the order of the tools: earlier ones keep their own.

    tools: of each its owner and its own name.
    """
    names: list[str] = []
    for owner, name in tools:
        names.append(free_name(name, owner, frozenset(names)))
    return names
