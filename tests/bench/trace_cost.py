"""Measure the cost of a trace, from the events of kept calls: `python tests/bench/trace_cost.py FOLDER`.

The processor's time on the event loop, where spans are made, and in the thread that encodes them for OTLP.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import zstandard
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource

from voiceagent.calls.log.event_log import CallLog, read_log
from voiceagent.calls.replaying.replay import LoggedIds, new_conversation, whole_records
from voiceagent.conversation import call_events
from voiceagent.conversation import notifications as notify
from voiceagent.telemetry.otlp.exporter import readable
from voiceagent.telemetry.otlp.trace.attributes import EngineNames
from voiceagent.telemetry.otlp.trace.spans import Span
from voiceagent.telemetry.otlp.traced_call import TracedCall, Tracing

MADE_WITH = EngineNames("fixed", "fixed", "fixed", "fixed", 24_000)


def traced(log: CallLog) -> tuple[list[Span], float]:
    """The spans of a call, and the processor's seconds that they took."""
    ids = LoggedIds()
    conversation = new_conversation(log, ids)
    steps = []
    for record in whole_records(log):
        ids.expect(record.ids)
        steps.append((record, conversation.handle(record.event)))
    reports = {report.response_id: report for report in log.reports}
    spans: list[Span] = []
    now_s = log.header.clock_s
    call = TracedCall(log.header.call_id, Tracing(MADE_WITH, 1.0, False, lambda: now_s, spans.extend))
    began_s = time.process_time()
    for record, commands in steps:
        now_s = record.clock_s
        call.on_event(call_events.EventHandled(record.event, record.received_s, (), commands))
        for command in commands:
            if isinstance(command, notify.NotifyResponseEnded) and command.response_id in reports:
                call.on_event(call_events.ResponseDone(reports[command.response_id]))
    call.on_event(call_events.CallEnded("over", ()))
    return spans, time.process_time() - began_s


def main() -> None:
    """All calls of the folder."""
    loop_s = thread_s = calls_s = 0.0
    calls = spans = 0
    for path in Path(sys.argv[1]).rglob("log.jsonl.zst"):
        log = read_log(zstandard.decompress(path.read_bytes()), str(path))
        if not log.records:
            continue
        made, took_s = traced(log)
        began_s = time.process_time()
        encode_spans([readable(span, Resource({})) for span in made]).SerializeToString()
        thread_s += time.process_time() - began_s
        loop_s += took_s
        calls, spans = calls + 1, spans + len(made)
        calls_s += log.records[-1].clock_s - log.header.clock_s
    a_minute = 60_000 / calls_s
    print(f"{calls} calls, {calls_s / 60:.1f} minutes, {spans} spans; ms of the processor a call-minute:")
    print(f"{loop_s * a_minute:.2f} on the event loop, {thread_s * a_minute:.2f} in the thread")


if __name__ == "__main__":
    main()
