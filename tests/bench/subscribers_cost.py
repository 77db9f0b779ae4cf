"""Cost of a call's subscribers per event: `python tests/bench/subscribers_cost.py`.

The events of one conversation are published to no receiver, the live scores, the recorder, and all
receivers, in turn.
The output is the least CPU time per event of all rounds, in microseconds, and its ratio to no receiver.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from call_world import CallWorld  # noqa: E402

from voiceagent.calls.kept_call import KeptCall, Losses  # noqa: E402
from voiceagent.conversation import events as ev  # noqa: E402
from voiceagent.conversation.call_events import CallBegan, EventHandled  # noqa: E402
from voiceagent.server.call_progress import ProgressReporter  # noqa: E402
from voiceagent.session.overlap_scores import OverlapScores  # noqa: E402
from voiceagent.session.publishing import CallPublisher, Subscriptions  # noqa: E402
from voiceagent.telemetry.metrics import Metrics  # noqa: E402
from voiceagent.telemetry.otlp.trace.attributes import EngineNames  # noqa: E402
from voiceagent.telemetry.otlp.traced_call import TracedCall, Tracing  # noqa: E402
from voiceagent.webhooks.sender import WebhookSubscriber  # noqa: E402

ROUNDS = 7
CALLS = 300
KINDS = ("none", "scores", "recorder", "all")
"""No receiver; the live scores, which every call has; the recorder; trace, supervisor, recorder and
webhooks.
"""


def conversation() -> list[Any]:
    """Return the steps of one call with a greeting and three turns."""
    world = CallWorld()
    world.feed(ev.CallStarted("Hello."))
    world.play_out(world.make("Hello."))
    for words in ("is there a pool", "when does it open", "thank you"):
        world.say(words)
        world.play_out(world.make("Yes, there is."))
    return world.steps


def microseconds_per_event(kind: str, steps: list[Any]) -> float:
    """Return the CPU time of one event with the receivers of `kind`, in microseconds."""
    publish = _publisher(kind)
    began_s = time.process_time()
    for _ in range(CALLS):
        for step in steps:
            publish(step.event, step.ids, step.commands)
    return (time.process_time() - began_s) / (CALLS * len(steps)) * 1e6


def _publisher(kind: str) -> Callable[..., None]:
    names = EngineNames("stt", "llm", "", "tts", 24_000)
    kept = KeptCall(time.monotonic, Losses())
    traced = TracedCall("call_1", Tracing(names, 1.0, False, time.monotonic, lambda spans: None))
    reporter = ProgressReporter("call_1", lambda report: None, None)
    posts = WebhookSubscriber("call_1", lambda event: None, time.time, time.monotonic)
    given: dict[str, tuple[Any, ...]] = {
        "none": (),
        "recorder": (kept,),
        "all": (traced, reporter, kept, posts),
    }
    if kind == "scores":
        scores = OverlapScores(Metrics(), lambda: 1.0)
        return lambda event, ids, commands: scores.on_event(event, commands)
    publisher = CallPublisher("call_1", Subscriptions(given[kind]), Metrics().call_faults)
    publisher.publish(CallBegan("", "", {}))

    def publish(event: Any, ids: Any, commands: Any) -> None:
        if publisher.has_subscribers:
            publisher.publish(EventHandled(event, 1.0, ids, commands, None))
        kept.waiting.clear()

    return publish


def main() -> None:
    """Measure each kind of receivers in turn and print the costs."""
    steps = conversation()
    least: dict[str, float] = {}
    for _ in range(ROUNDS):
        for kind in KINDS:
            cost = microseconds_per_event(kind, steps)
            least[kind] = min(cost, least.get(kind, cost))
    for kind in KINDS:
        print(f"{kind:9} {least[kind]:6.2f} us an event ({least[kind] / least['none']:.1f}x of none)")


if __name__ == "__main__":
    main()
