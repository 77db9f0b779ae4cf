"""Tools that a caller's words demand.

Small models seldom call a tool on their own once a conversation has begun: asked for the time, they make one
up. So the configuration may say at which words a tool must be called.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from llmcore.engine import Request


class DemandedTools:
    """Patterns by the name of the tool, in the order in which they are tried. Raises ValueError for a pattern
    that does not compile.
    """

    def __init__(self, patterns: Mapping[str, str]) -> None:
        self._patterns = [(name, _compiled(name, pattern)) for name, pattern in patterns.items()]

    def tool_for(self, words: str) -> str | None:
        """Return the name of the first tool that these words demand, if any."""
        return next((name for name, pattern in self._patterns if pattern.search(words)), None)

    def apply(self, request: Request) -> Request:
        """Return the request with the tool that the caller's newest words demand, if it is offered.

        A request whose last message is no user's, or that names its own choice, stays as it is.
        """
        if request.tool_choice != "auto" or not request.messages or request.messages[-1].role != "user":
            return request
        name = self.tool_for(request.messages[-1].content)
        if name is None or all(tool.name != name for tool in request.tools):
            return request
        return replace(request, tool_choice=name)


def _compiled(name: str, pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        raise ValueError(
            f"call_tools_on.{name} is {pattern!r}: {error}; allowed: a regular expression"
        ) from None
