"""A log alone reproduces what was decided in a call whose core was an upstream."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from call_services import call_services
from fake_client import FakeClient
from kept_events import KeptEvents
from made_upstream import MadeUpstream, upstream_serving
from prometheus_client import CollectorRegistry

from voiceagent.agents import Agent, tool
from voiceagent.agents.running import RunningAgent
from voiceagent.calls.log.event_log import CallLog, read_log
from voiceagent.calls.log.timeline import Timeline
from voiceagent.calls.replaying.fork import fork
from voiceagent.calls.replaying.forked import Change
from voiceagent.calls.replaying.replay import CannotReplay, replay
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.config import TurnConfig
from voiceagent.conversation.history import MessageItem
from voiceagent.engines.silent import SilentLlm, SilentRecognizer, SilentSynthesizer
from voiceagent.session.publishing import Subscriptions
from voiceagent.upstream.call import UpstreamCall
from voiceagent.upstream.config import UpstreamConfig
from voiceagent.upstream.connection import Upstream
from voiceagent.upstream.replaying import replay_handler, transcript_of


class Shop(Agent):
    instructions = "You sell pizza."

    @tool
    async def add(self, pizza: str) -> str:
        """Add a pizza."""
        return f"{pizza} added"


async def logged_call() -> CallLog:
    """Return that log, parsed."""
    return read_log(await logged_lines())


async def logged_lines() -> bytes:
    """A tool, a response that is cut, a connection that is lost, and a caller who hangs up in mid-answer: the
    log of all that.
    """
    kept, made, client = KeptEvents(), MadeUpstream(), FakeClient()
    async with upstream_serving(made):
        upstream = Upstream(UpstreamConfig(url=made.url), {}, Path("my.toml"), CollectorRegistry())
        services = await call_services(SilentRecognizer(), SilentLlm(), SilentSynthesizer())
        settings, running = services.settings, RunningAgent("call_1", Shop)
        call = UpstreamCall("call_1", services, settings, client, upstream, Subscriptions((kept,)), running)
        call.begin()
        await made.until("session.update")
        made.hears("A tuna, please.")
        made.call("add", '{"pizza": "tuna"}')
        await made.until("response.create")
        made.say("one two three four five six seven eight nine ten", pieces=50)
        await client.until(lambda: len(client.frames) > 20)
        made.send("input_audio_buffer.speech_started", item_id="item_cut", audio_start_ms=900)
        await client.until(lambda: len(client.of(notify.NotifyResponseEnded)) == 2)
        made.send("response.created", response={"no": "id"})
        made.lose()
        await made.until("session.update", 2)
        heard = len(client.frames)
        made.say("one two three four five six seven eight nine ten", pieces=50)
        await client.until(lambda: len(client.frames) > heard + 20)
        await call.close("the caller hung up")
    return kept.lines(services)


async def test_a_caller_who_is_gone_before_the_upstream_comes_has_a_log_that_comes_again() -> None:
    kept = KeptEvents()
    upstream = Upstream(UpstreamConfig(url="ws://127.0.0.1:9/v1"), {}, Path("my.toml"), CollectorRegistry())
    services = await call_services(SilentRecognizer(), SilentLlm(), SilentSynthesizer())
    running = RunningAgent("call_1", Shop)
    call = UpstreamCall(
        "call_1", services, services.settings, FakeClient(), upstream, Subscriptions((kept,)), running
    )
    call.begin()
    await call.close("the caller hung up")
    assert replay(read_log(kept.lines(services)), begin=replay_handler) is None


async def test_a_call_is_drawn_with_what_the_upstream_heard() -> None:
    timeline = Timeline()
    for line in (await logged_lines()).splitlines():
        timeline.add_line(line)
    drawn = timeline.changes()
    turn, cut_in = drawn["turns"][0], drawn["turns"][1:]
    assert (turn["said"], turn["ended_by"]) == ("A tuna, please.", "upstream")
    assert turn["began_s"] <= turn["ended_s"] <= turn["decided_s"]
    assert cut_in == [], "a voice that is no item is none"
    assert [response["written"] for response in drawn["responses"] if response["written"]]


async def test_what_was_decided_comes_again() -> None:
    log = await logged_call()
    names = {record.event.name for record in log.records if isinstance(record.event, ev.UpstreamEvent)}
    assert {"connected", "lost", "response.output_audio.delta", "response.done"} <= names
    assert isinstance(log.records[-1].event, ev.CallerGone)
    assert replay(log, begin=replay_handler) is None


async def test_what_was_said_is_known_wherever_a_log_ends() -> None:
    log, words = await logged_call(), "one two three four five six seven eight nine ten"
    item = transcript_of(log)[-1]
    assert isinstance(item, MessageItem)
    assert item.status == "incomplete"
    assert words.startswith(item.text)
    broken_off = replace(log, records=log.records[:-1], ended=None)
    assert transcript_of(broken_off)[:-1] == transcript_of(log)[:-1]
    assert transcript_of(broken_off)[-1] == replace(item, text=words, status="in_progress")


async def test_where_the_upstream_had_told_other_words_it_departs() -> None:
    log = await logged_call()
    records = list(log.records)
    for at, record in enumerate(records):
        if isinstance(record.event, ev.UpstreamEvent) and "one two" in record.event.body:
            told = record.event.body.replace("one two", "two one")
            records[at] = replace(record, event=replace(record.event, body=told))
            break
    departure = replay(replace(log, records=tuple(records)), begin=replay_handler)
    assert departure is not None
    assert departure.number == records[at].number


async def test_without_what_the_upstream_told_nothing_can_be_decided_again() -> None:
    log = await logged_call()
    bare = [
        replace(one, event=ev.UpstreamEvent(one.event.name))
        if isinstance(one.event, ev.UpstreamEvent)
        else one
        for one in log.records
    ]
    with pytest.raises(CannotReplay, match="this log does not have its events"):
        replay(replace(log, records=tuple(bare)), begin=replay_handler)
    with pytest.raises(CannotReplay, match="what that decided is not known here"):
        replay(log)


async def test_what_an_upstream_would_have_done_under_other_settings_is_not_told() -> None:
    log, endpoint = await logged_call(), TurnConfig().to_endpointing()
    change = Change(1, lambda settings: settings, log.header.policy, endpoint, late_s=1.5)
    with pytest.raises(CannotReplay, match=r"under other settings is not known here; without --set"):
        fork(log, change)
