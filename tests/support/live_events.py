"""Every event type of the Live API: who sends it, its fate here, and the test that shows it.

`python tests/support/live_events.py docs/live-events.md` writes the page.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

HEAD = """# Events of the Live API

Every event type of the `openai` package 3.57. A test compares this page with the package's types and with the
tests that send or take each event; `python tests/support/live_events.py docs/live-events.md` writes it.
[What fields do](live-api.md#taken-ignored-refused).

| from | here | events |
| --- | --- | --- |
"""
_LIVE = "tests/voiceagent/transports/live/"
SOCKET, FIXTURE, SIDEBANDS, WEBRTC = (
    f"{_LIVE}test_{name}.py" for name in ("websocket", "fixture", "sidebands", "webrtc")
)
ENCODE, DECODE = f"{_LIVE}protocol/test_encode.py", f"{_LIVE}protocol/test_client_events.py"
SDK = "tests/e2e/test_live.py"
_DECISIONS = "there is no Decisions API"
_PHONE = "sessions have no phone line"

_INSTRUCTIONS = "test_instructions_last_for_the_rest_of_the_session"
_BRIDGED = "test_client_that_answers_late_is_bridged_and_its_answer_is_told"
_PAUSED = "test_pause_of_inference_is_told_and_counted_apart"
_REFLECTED = "test_sideband_has_both_sides_audio_and_the_agents_with_times"
_TRANSCRIBED = "test_both_sides_are_transcribed_with_their_times"


class Row(NamedTuple):
    """One event type in one direction. fate: "taken", "sent", or the reason why not."""

    event: str
    fate: str
    file: str
    test: str


CLIENT = (
    Row("session.start", "taken", SOCKET, "test_session_begins_with_its_configuration"),
    Row("session.update", "taken", SOCKET, "test_update_changes_the_backend_and_nothing_else"),
    Row("session.close", "taken", SOCKET, "test_close_is_answered_with_reason_and_usage"),
    Row("session.input_audio.append", "taken", SOCKET, "test_audio_goes_both_ways_in_each_format"),
    Row("session.input_audio.mute", "taken", SOCKET, "test_muted_caller_is_silent_until_unmuted"),
    Row("session.input_audio.unmute", "taken", SOCKET, "test_muted_caller_is_silent_until_unmuted"),
    Row("session.output_audio.fixture.play", "taken", FIXTURE, "test_end_of_a_fixture_is_told"),
    Row("session.instructions.append", "taken", SOCKET, _INSTRUCTIONS),
    Row("session.thinking.append", "taken", SOCKET, "test_thinking_informs_without_a_response"),
    Row("session.commentary.append", "taken", SOCKET, "test_client_delegation_is_answered_by_commentary"),
    Row("response.item.create", "taken", SOCKET, "test_backend_continues_once_all_calls_have_outputs"),
    Row("response.create", "taken", SOCKET, "test_backend_continues_once_all_calls_have_outputs"),
    Row("decision.create", f"refused: {_DECISIONS}", DECODE, "test_event_is_refused_with_its_reason"),
    Row("decision.item.create", f"refused: {_DECISIONS}", DECODE, "test_event_is_refused_with_its_reason"),
    Row("decision.item.delete", f"refused: {_DECISIONS}", DECODE, "test_event_is_refused_with_its_reason"),
    Row("transport.dtmf.send", f"refused: {_PHONE}", DECODE, "test_event_is_refused_with_its_reason"),
)
_LIST = "test_every_event_type_of_the_package_is_in_one_list"
SERVER = (
    Row("session.started", "sent", SOCKET, "test_session_begins_with_its_configuration"),
    Row("session.updated", "sent", SOCKET, "test_update_changes_the_backend_and_nothing_else"),
    Row("session.closed", "sent", SOCKET, "test_close_is_answered_with_reason_and_usage"),
    Row("session.paused", "sent", SOCKET, _PAUSED),
    Row("session.resumed", "sent", SOCKET, _PAUSED),
    Row("session.usage.updated", "sent", SOCKET, "test_usage_is_reported_while_the_session_runs"),
    Row("session.input_audio.muted", "sent", SOCKET, "test_muted_caller_is_silent_until_unmuted"),
    Row("session.input_audio.unmuted", "sent", SOCKET, "test_muted_caller_is_silent_until_unmuted"),
    Row("session.output_audio.fixture.playing", "sent", FIXTURE, "test_end_of_a_fixture_is_told"),
    Row("session.output_audio.fixture.played", "sent", FIXTURE, "test_end_of_a_fixture_is_told"),
    Row(
        "session.instructions.appended", "sent", SOCKET, "test_instructions_last_for_the_rest_of_the_session"
    ),
    Row("session.thinking.appended", "sent", SOCKET, "test_thinking_informs_without_a_response"),
    Row(
        "session.commentary.appended",
        "sent",
        SDK,
        "test_client_that_answers_late_is_bridged_and_its_answer_is_told",
    ),
    Row(
        "session.input_audio.append",
        "sent to sidebands",
        SIDEBANDS,
        "test_sideband_has_both_sides_audio_and_the_agents_with_times",
    ),
    Row("session.output_audio.delta", "sent", SOCKET, "test_audio_goes_both_ways_in_each_format"),
    Row("session.input_transcript.delta", "sent", ENCODE, "test_speech_is_dated_by_its_audio"),
    Row(
        "session.output_transcript.delta", "sent", SOCKET, "test_both_sides_are_transcribed_with_their_times"
    ),
    Row("session.delegation.created", "sent", SOCKET, "test_client_delegation_is_answered_by_commentary"),
    Row("response.event", "sent", SDK, "test_backend_calls_a_function_of_the_client_and_tells_its_result"),
    Row("error", "sent", SOCKET, "test_audio_ahead_of_real_time_is_one_error"),
    Row("info", "sent", WEBRTC, "test_frontend_sends_and_receives_only_what_is_allowed"),
    Row("decision.event", f"never: {_DECISIONS}", ENCODE, _LIST),
    Row("decision.item.created", f"never: {_DECISIONS}", ENCODE, _LIST),
    Row("decision.item.deleted", f"never: {_DECISIONS}", ENCODE, _LIST),
    Row("transport.dtmf.received", f"never: {_PHONE}", ENCODE, _LIST),
    Row("transport.dtmf.send", f"never: {_PHONE}", ENCODE, _LIST),
    Row("transport.dtmf.sent", f"never: {_PHONE}", ENCODE, _LIST),
    Row("transport.ringing", f"never: {_PHONE}", ENCODE, _LIST),
    Row("transport.answered", f"never: {_PHONE}", ENCODE, _LIST),
    Row("transport.failed", f"never: {_PHONE}", ENCODE, _LIST),
)


def page() -> str:
    """Return the page."""
    sides = {"client": CLIENT, "server": SERVER}
    fates: dict[tuple[str, str], list[str]] = {}
    for side, rows in sides.items():
        for row in rows:
            fates.setdefault((side, row.fate), []).append(f"`{row.event}`")
    return HEAD + "".join(
        f"| {side} | {fate} | {', '.join(events)} |\n" for (side, fate), events in fates.items()
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page())
