"""Cost of a call's subscribers per event, before and after: `python subscribers_cost.py OLD_CHECKOUT`.

OLD_CHECKOUT: a folder with the code at a revision before `CallSubscriber` (`git worktree add` makes one). The
events of one conversation are passed to the same receivers in both, in turn, in processes of their own. The
output is the least CPU time per event of all rounds, in microseconds, and its difference.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 7
CALLS = 300
KINDS = ("none", "recorder", "all")
"""No receiver; the recorder; trace, supervisor, recorder and webhooks."""


def measure() -> dict[str, float]:
    """Return the microseconds per event of the code on the path, by kind."""
    from call_world import CallWorld  # noqa: PLC0415

    from voiceagent.conversation import events as ev  # noqa: PLC0415

    world = CallWorld()
    world.feed(ev.CallStarted("Hello."))
    world.play_out(world.make("Hello."))
    for words in ("is there a pool", "when does it open", "thank you"):
        world.say(words)
        world.play_out(world.make("Yes, there is."))
    make = _new_publish if _has_subscribers() else _old_publish
    costs = {}
    for kind in KINDS:
        publish = make(kind)
        began_s = time.process_time()
        for _ in range(CALLS):
            for step in world.steps:
                publish(step.event, step.ids, step.commands)
        costs[kind] = (time.process_time() - began_s) / (CALLS * len(world.steps)) * 1e6
    return costs


def _has_subscribers() -> bool:
    from importlib.util import find_spec  # noqa: PLC0415

    return find_spec("voiceagent.session.publishing") is not None


def _new_publish(kind: str) -> Callable[..., None]:
    from voiceagent.calls.kept_call import KeptCall, Losses  # noqa: PLC0415
    from voiceagent.conversation.call_events import CallBegan, EventHandled  # noqa: PLC0415
    from voiceagent.server.call_progress import ProgressReporter  # noqa: PLC0415
    from voiceagent.session.publishing import CallPublisher, Subscriptions  # noqa: PLC0415
    from voiceagent.telemetry.metrics import Metrics  # noqa: PLC0415
    from voiceagent.telemetry.otlp.trace.attributes import EngineNames  # noqa: PLC0415
    from voiceagent.telemetry.otlp.traced_call import TracedCall, Tracing  # noqa: PLC0415
    from voiceagent.webhooks.sender import WebhookSubscriber  # noqa: PLC0415

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
    publisher = CallPublisher("call_1", Subscriptions(given[kind]), Metrics().call_faults)
    publisher.publish(CallBegan("", "", {}))

    def publish(event: Any, ids: Any, commands: Any) -> None:
        if publisher.has_subscribers:
            publisher.publish(EventHandled(event, 1.0, ids, commands, None))
        kept.waiting.clear()

    return publish


def _old_publish(kind: str) -> Callable[..., None]:
    from voiceagent.server.followed_call import FollowedCall  # type: ignore[import-not-found]  # noqa: PLC0415

    from voiceagent.calls.kept_call import KeptCall, Losses  # noqa: PLC0415
    from voiceagent.session import keeping  # noqa: PLC0415
    from voiceagent.telemetry.otlp.trace.attributes import MadeWith  # type: ignore[attr-defined]  # noqa: PLC0415
    from voiceagent.telemetry.otlp.traced_call import TracedCall, Tracing  # noqa: PLC0415

    names = MadeWith("stt", "llm", "", "tts", 24_000)
    kept: Any = KeptCall(time.monotonic, Losses())
    traced = TracedCall("call_1", Tracing(names, 1.0, False, time.monotonic, lambda spans: None))
    followed = FollowedCall("call_1", lambda told: None, None)
    both = keeping.kept_and_traced(kept, keeping.kept_and_traced(followed, traced))
    target = {"none": keeping.NotKept(), "recorder": kept, "all": both}[kind]

    def publish(event: Any, ids: Any, commands: Any) -> None:
        target.took(event, 1.0, ids, commands)
        kept.waiting.clear()

    return publish


def main() -> None:
    """Measure both checkouts in turn and print the costs."""
    if sys.argv[1] == "--measure":
        print(json.dumps(measure()))
        return
    checkouts = {"before": Path(sys.argv[1]), "after": ROOT}
    least: dict[str, dict[str, float]] = {name: {} for name in checkouts}
    for _ in range(ROUNDS):
        for name, checkout in checkouts.items():
            path = os.pathsep.join(map(str, (checkout, checkout / "tests" / "support")))
            command = [sys.executable, str(Path(__file__)), "--measure"]
            run = subprocess.run(
                command, env={**os.environ, "PYTHONPATH": path}, cwd=checkout, capture_output=True, check=True
            )
            for kind, cost in json.loads(run.stdout).items():
                least[name][kind] = min(cost, least[name].get(kind, cost))
    for kind in KINDS:
        before, after = least["before"][kind], least["after"][kind]
        print(f"{kind:9} before {before:6.2f} us, after {after:6.2f} us an event ({after - before:+.2f})")


if __name__ == "__main__":
    main()
