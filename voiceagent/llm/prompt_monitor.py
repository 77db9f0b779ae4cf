"""Sees to it that the prompts of a call go on where the one before them left off."""

from __future__ import annotations

from dataclasses import asdict

import structlog

from llmcore.text.prompt import PromptLayout
from voiceagent.conversation.commands import StartResponse
from voiceagent.telemetry.llm_metrics import LlmMetrics

log = structlog.get_logger()


class PromptMonitor:
    """Warns when something that changes stands before something that does not: it defeats prefix caching."""

    def __init__(self, call_id: str, metrics: LlmMetrics) -> None:
        self._log = log.bind(call=call_id)
        self._metrics = metrics
        self._layout = PromptLayout()
        self._replacements = 0

    def check(self, start: StartResponse) -> None:
        """Compare a response's prompt with the one before it, if both are the conversation's."""
        if start.say or start.own_prompt:
            return
        if start.replacements != self._replacements:  # a new beginning that is meant
            self._layout, self._replacements = PromptLayout(), start.replacements
        if parting := self._layout.check(start.request.messages, start.request.tools):
            self._metrics.prompt_parted()
            self._log.warning("prompt_parted", **asdict(parting))
