"""`[timeouts]`: the longest wait for each stage of a turn and for each process."""

from __future__ import annotations

from typing import ClassVar

from voiceagent.processes.policies.liveness import Supervision
from voiceagent.validation.section import Duration, Section

FALLBACK_SHARE = 0.5
"""Share of a speech engine's wait after which its fallback is asked: the fallback has as long again."""
REPLICA_SHARE = 0.5
"""Share of the LLM's waits for one replica, so that another can still answer in time."""
REVIEW_SHARE = 0.9
"""Share of the wait for a review after which its engine counts as failed, before the call gives up."""
QUEUEING_S = 2.0
"""Time in the LLM's queue, in addition to the waits for the engine and its fallback."""
NOTICE_S = 1.0
"""Time for an engine's own timeout to be reported before the call times out as well: only the former
counts as a failure of the engine.
"""
_LATE_S = 1.0
"""Silence after which a process gets no new work. Other processes are asked instead."""


class TimeoutsConfig(Section):
    """`[timeouts]`: longest waits for the stages of a turn and for processes. Each wait has this one limit;
    the waits for fallbacks and for replicas are shares of it.
    """

    transcript_s: Duration = 4.5
    """Longest wait from a pause to the final transcript. Then the caller hears the apology.
    `[recognizer_fallback]` is asked after half of it.
    """
    first_token_s: Duration = 5.0
    """Longest wait from the LLM request, once it has left the queue, to the first token; the estimated
    prefill time of the prompt is added. Then `[fallback]` is asked, or the caller hears the apology. They
    hear it at the latest after twice this time and 2 s, which includes the queue and the fallback. Between
    two tokens the LLM has the same, and at least 5 s.
    """
    min_token_s: ClassVar[float] = 5.0
    """Shortest limit between two tokens. No fallback answers in place of an LLM that has begun to speak: a
    short `first_token_s`, set so that the fallback is asked soon, would only bring the apology sooner.
    """
    review_s: ClassVar[float] = 5.0
    """From the end of an answer's text to its review by `[back_llm]`. Then the answer stands. An answer of
    some sentences is spoken for about as long.
    """
    first_audio_s: Duration = 4.0
    """Longest wait from a text fragment to its first audio, and between two chunks of it. Then the caller
    hears the apology. `[synthesizer_fallback]` is asked after half of it.
    """
    engine_hang_s: ClassVar[float] = 5.0
    """Time without a heartbeat after which an engine process is killed and restarted: ten heartbeats, and no
    longer than a caller waits for an answer (`first_token_s`). One that uses its processor meanwhile has
    `engine_working_s`, as it is slow and would be slow again.
    """
    engine_working_s: ClassVar[float] = 30.0
    """The same for an engine process that computes."""
    worker_hang_s: ClassVar[float] = 10.0
    """Time without a heartbeat after which a call worker is killed and restarted. Its calls end, so that it
    has twice as long as an engine, which has none.
    """
    restart_s: ClassVar[float] = 120.0
    """Longest restart of a process. The first start, which may load a model, has no limit."""

    @property
    def token_s(self) -> float:
        """Longest wait between two tokens of the LLM. Then the caller hears the apology."""
        return max(self.first_token_s, self.min_token_s)

    @property
    def answer_s(self) -> float:
        """Longest wait of a call for the first token: queue, engine and fallback."""
        return 2 * self.first_token_s + QUEUEING_S

    @property
    def answer_token_s(self) -> float:
        """Longest wait of a call for a further token, from the engine or its fallback."""
        return self.token_s + NOTICE_S

    def of_engines(self) -> Supervision:
        """Return the settings for the processes of engines."""
        return Supervision(
            late_s=_LATE_S, hang_s=self.engine_hang_s, working_s=self.engine_working_s, start_s=self.restart_s
        )

    def of_workers(self) -> Supervision:
        """Return the settings for call workers."""
        return Supervision(late_s=_LATE_S, hang_s=self.worker_hang_s, start_s=self.restart_s)
