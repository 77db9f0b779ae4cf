"""Opens the calls of one process, with agent, core, recorder and tracer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from voiceagent.agents.load import Agents
from voiceagent.agents.running import running_agent
from voiceagent.config.tables import Config
from voiceagent.conversation.settings import CallSettings
from voiceagent.server.followed_call import CallReporting, FollowedCall
from voiceagent.server.traces import tracer
from voiceagent.session.call import Call, CallRefused, Client
from voiceagent.session.keeping import CallObserver, Keeping, kept_and_traced
from voiceagent.session.services import Services
from voiceagent.session.session import Session
from voiceagent.upstream.call import UpstreamCall
from voiceagent.upstream.connection import Upstream
from voiceagent.webhooks.sender import WebhookSender

if TYPE_CHECKING:
    from voiceagent.calls.kept_calls import KeptCalls  # brings the extra `calls`


@dataclass(frozen=True, slots=True)
class CallOpener:
    """Dependencies for opening calls, except the services. upstream: None if this server is the core."""

    config: Config
    agents: Agents
    upstream: Upstream | None
    kept: KeptCalls | None
    webhooks: WebhookSender | None
    following: CallReporting

    def opener(self, services: Services) -> Callable[..., Call]:
        """Return a function that opens a call. Its arguments: call id, client, requested model, and
        `transcribes` for a call that only transcribes.
        """
        follow = self._follower(services)

        def open_call(call_id: str, client: Client, model: str, transcribes: bool) -> Call:
            settings = replace(services.settings, model=model) if model else services.settings
            if transcribes:
                self._check_transcribes()
                keeping = follow(call_id, settings := settings.as_transcription())
                return Session(call_id, services, settings, client, keeping, None, self._observer(call_id))
            if self.upstream is not None:
                settings = replace(settings, voice=self.upstream.config.voice)
            make = self.agents.of_model(model)
            agent = None if make is None else running_agent(call_id, make, self.agents.of_call)
            observer, keeping = self._observer(call_id), follow(call_id, settings)
            if self.upstream is not None:
                return UpstreamCall(
                    call_id, services, settings, client, self.upstream, keeping, agent, observer
                )
            return Session(call_id, services, settings, client, keeping, agent, observer)

        return open_call

    def _check_transcribes(self) -> None:
        if self.upstream is not None:
            raise CallRefused("calls go to an upstream here; there are no transcription sessions", 400)

    def _observer(self, call_id: str) -> CallObserver | None:
        return None if self.webhooks is None else self.webhooks.call(call_id)

    def _follower(self, services: Services) -> Callable[[str, CallSettings], Keeping | None]:
        """Return a function that starts recording and tracing a call, as far as these are enabled."""
        kept = self.kept
        policy, rate_hz = services.answering.policy, services.speaking.synthesizer.rate_hz
        spans, tell = self.following.spans, self.following.tell
        trace = None if spans is None else tracer(self.config, spans, services)

        def follow(call_id: str, settings: CallSettings) -> Keeping | None:
            keeping = None if kept is None else kept.keep(call_id, settings, policy, rate_hz)
            traced = None if trace is None else trace(call_id)
            followed = None if tell is None else FollowedCall(call_id, tell, traced)
            return kept_and_traced(keeping, kept_and_traced(followed, traced))

        return follow
