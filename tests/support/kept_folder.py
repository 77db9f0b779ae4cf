"""Calls in a folder of their own, kept as a server keeps them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import zstandard
from call_settings import call_settings
from call_world import POLICY, RATE_HZ, CallWorld
from prometheus_client import CollectorRegistry

from voiceagent.calls.config import CallsConfig
from voiceagent.calls.kept_call import KeptCall
from voiceagent.calls.kept_calls import KeptCalls
from voiceagent.calls.log.event_log import CallLog, read_log
from voiceagent.calls.store import CallStore, sqlite_url
from voiceagent.conversation import call_events
from voiceagent.conversation import events as ev

PATIENCE_S = 20.0


def conversation() -> CallWorld:
    """A short call: a greeting, and a question that is answered."""
    world = CallWorld()
    world.feed(ev.CallStarted("Hello."))
    world.play_out(world.make("Hello."))
    world.say("is there a pool")
    world.play_out(world.make("Yes, there is."))
    return world


def keep_calls(folder: Path, **settings: object) -> KeptCalls:
    """Return the keeper of calls in that folder, with these keys of `[calls]`."""
    kept = KeptCalls(CallsConfig(folder=str(folder), **settings), folder, CollectorRegistry())
    kept.start()
    return kept


def begin(kept: KeptCalls, call_id: str = "call_1") -> KeptCall:
    """Return a running call."""
    call = kept.keep(call_id, call_settings(), POLICY, RATE_HZ)
    for step in conversation().steps:
        call.on_event(call_events.EventHandled(step.event, 1.0, step.ids, step.commands))
    return call


def keep_one(folder: Path, call_id: str = "call_1", **settings: object) -> None:
    """A whole call, and everything that is done about it."""
    kept = keep_calls(folder, **settings)
    history = conversation().conversation.history.items
    begin(kept, call_id).on_event(call_events.CallEnded("the caller hung up", history))
    kept.close()


def log_in(folder: Path) -> CallLog:
    """The only log there, of a call that is over."""
    (path,) = folder.rglob("log.jsonl.zst")
    return read_log(zstandard.decompress(path.read_bytes()), str(path))


def until(condition: Callable[[], object]) -> None:
    """Wait until the threads have brought it about; the time-out only ends a test that hangs."""
    until_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until_s
        time.sleep(0.01)


def store_of(folder: Path) -> CallStore:
    """The store that a folder has by default."""
    store = CallStore(sqlite_url(folder))
    store.upgrade()
    return store
