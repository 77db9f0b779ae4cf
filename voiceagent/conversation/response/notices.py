"""Notifications of the beginning and the end of a response, in OpenAI's terms."""

from __future__ import annotations

from voiceagent.conversation import notifications as notify
from voiceagent.conversation.causes import BARGE_IN, InterruptedBy
from voiceagent.conversation.response.phases import Response, Result, Stopping


def started(response: Response) -> notify.NotifyResponseStarted:
    """Return the notification of a response that begins."""
    start, wanted = response.start, response.wanted
    return notify.NotifyResponseStarted(
        start.response_id,
        start.modality,
        wanted.max_output_tokens,
        wanted.in_conversation,
        wanted.metadata,
        start.out_of_band,
        start.voice,
    )


def ended(
    response: Response, result: Result, cut: Stopping | None = None
) -> notify.NotifyResponseEnded | notify.NotifyClipEnded:
    """Return the notification of a response that ended. cut: how it was stopped, None if it was not."""
    if response.is_clip:
        return notify.NotifyClipEnded(response.response_id, completed=cut is None)
    status: notify.ResponseStatus = "completed"
    reason = ""
    interrupted_by: InterruptedBy = ""
    if result.refused:
        status, reason = "incomplete", "content_filter"
    elif result.failure:
        status, reason = "failed", result.failure
    elif cut is not None:
        interrupted_by = cut.interrupted_by
        status, reason = "cancelled", "turn_detected" if interrupted_by in BARGE_IN else "client_cancelled"
    elif result.finish_reason == "length":
        status, reason = "incomplete", "max_output_tokens"
    false_end, out_of_band = response.played.false_end, response.start.out_of_band
    return notify.NotifyResponseEnded(
        response.response_id, status, reason, result.usage, false_end, out_of_band, interrupted_by
    )
