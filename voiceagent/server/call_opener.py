"""Opens the calls of one process, with agent, core, recorder and tracer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import structlog

from voiceagent.access.config import LOOPBACK
from voiceagent.agents.load import Agents
from voiceagent.agents.running import running_agent
from voiceagent.config.tables import Config
from voiceagent.conversation.call_events import CallSubscriber
from voiceagent.conversation.settings import CallSettings
from voiceagent.server.call_progress import CallReporting, ProgressReporter
from voiceagent.server.traces import tracer
from voiceagent.session.call import Call, CallRefused, Client
from voiceagent.session.publishing import Subscriptions
from voiceagent.session.services import Services
from voiceagent.session.session import Session
from voiceagent.telemetry.log import configure_log
from voiceagent.telemetry.terminal import TerminalTranscript
from voiceagent.upstream.call import UpstreamCall
from voiceagent.upstream.connection import Upstream
from voiceagent.webhooks.sender import WebhookSender

if TYPE_CHECKING:
    from voiceagent.calls.kept_calls import KeptCalls  # brings the extra `calls`


log = structlog.get_logger()


def shows_conversation(config: Config) -> bool:
    """Return True if the terminal shows what is said: on a machine for development, or if the log has it."""
    own = config.log.personal_data or config.server.host in LOOPBACK
    return (
        config.log.format == "console"
        and config.log.level in ("debug", "info")
        and own
        and sys.stderr.isatty()
    )


def log_to_stderr(config: Config) -> None:
    """Configure the log of a process that has calls."""
    table, shown = config.log, shows_conversation(config)
    configure_log(table.format, table.level, personal=table.personal_data, apart=True, conversation=shown)


def _show_line(text: str) -> None:
    log.info("conversation", text=text)


@dataclass(frozen=True, slots=True)
class CallOpener:
    """Dependencies for opening calls, except the services. upstream: None if this server is the core."""

    config: Config
    agents: Agents
    upstream: Upstream | None
    kept: KeptCalls | None
    webhooks: WebhookSender | None
    reporting: CallReporting

    def opener(self, services: Services) -> Callable[..., Call]:
        """Return a function that opens a call. Its arguments: call id, client, requested model, `transcribes`
        for a call that only transcribes, and `stored`, which is false for a call that must not be kept.
        """
        subscriptions = self._subscriptions(services)

        def open_call(
            call_id: str, client: Client, model: str, transcribes: bool = False, stored: bool = True
        ) -> Call:
            settings = replace(services.settings, model=model) if model else services.settings
            if transcribes:
                self._check_transcribes()
                settings = settings.as_transcription()
                return Session(call_id, services, settings, client, subscriptions(call_id, settings))
            if self.upstream is not None:
                settings = replace(settings, voice=self.upstream.config.voice)
            make = self.agents.of_model(model)
            agent = None if make is None else running_agent(call_id, make, self.agents.of_call)
            receivers = subscriptions(call_id, settings, stored)
            if self.upstream is not None:
                return UpstreamCall(call_id, services, settings, client, self.upstream, receivers, agent)
            return Session(call_id, services, settings, client, receivers, agent)

        return open_call

    def _check_transcribes(self) -> None:
        if self.upstream is not None:
            raise CallRefused("calls go to an upstream here; there are no transcription sessions", 400)

    def _subscriptions(self, services: Services) -> Callable[..., Subscriptions]:
        """Return a function that subscribes trace, supervisor, recorder, webhooks and terminal, as far as
        these are enabled, to a call, in this order.
        """
        kept, webhooks, report = self.kept, self.webhooks, self.reporting.report
        policy, rate_hz = services.answering.policy, services.speaking.synthesizer.rate_hz
        spans = self.reporting.spans
        shown = shows_conversation(self.config)
        trace = None if spans is None else tracer(self.config, spans, services)

        def subscribe(call_id: str, settings: CallSettings, stored: bool = True) -> Subscriptions:
            traced = None if trace is None else trace(call_id)
            reporter = None if report is None else ProgressReporter(call_id, report, traced)
            recorder = None
            if kept is not None and stored:
                recorder = kept.keep(call_id, settings, policy, rate_hz)
            posted = None if webhooks is None else webhooks.call(call_id)
            printed = TerminalTranscript(_show_line) if shown else None
            given: tuple[CallSubscriber | None, ...] = (traced, reporter, recorder, posted, printed)
            return Subscriptions(tuple(one for one in given if one is not None), recorder, traced)

        return subscribe
