"""Names under which a call's tools are offered to the model.

Tools come from the call's agent, its telephony provider, MCP servers and the client, so names may collide.
LLM servers refuse a request with two tools of one name, and a call would be ambiguous.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet

_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
MAX_NAME = 64
"""Maximum length of a tool's name that models accept."""


def free_name(name: str, owner: str, taken: AbstractSet[str]) -> str:
    """Return the name under which the model is offered a tool: its own if no other tool has it, else with the
    owner as prefix, else also with a number. Characters that models do not accept become "_".

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
    """Return the offered names in the order of the tools. Earlier tools keep their own names.

    tools: (owner, own name) of each tool.
    """
    names: list[str] = []
    for owner, name in tools:
        names.append(free_name(name, owner, frozenset(names)))
    return names
