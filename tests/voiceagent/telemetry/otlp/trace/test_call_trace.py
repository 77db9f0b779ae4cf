"""The trace of a call: its spans, their parents, times and attributes."""

from __future__ import annotations

from call_settings import call_settings, turn_detection
from call_world import CallWorld, of
from conversation_moves import CALLS, SCRIPTS, run
from hypothesis import given, settings
from traced_world import MADE_WITH, TracedWorld

from llmcore.engine import Tool, ToolCall, Usage
from voiceagent.conversation import call_events
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import MessageItem, ToolOutputItem
from voiceagent.conversation.settings import AgentTool
from voiceagent.telemetry.otlp.trace.call_trace import CallTrace
from voiceagent.telemetry.otlp.trace.spans import CallSpans, TraceContext, new_trace, parse

CALLERS = TraceContext("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")


def question() -> CallWorld:
    """A question, and its answer to the end."""
    world = CallWorld(usage=Usage(10, 4, 5, queue_s=0.01, gate_s=0.02))
    world.feed(ev.CallStarted())
    world.say("is there a pool")
    world.play_out(world.make("Yes, there is."))
    return world


def test_a_turn_has_stt_chat_and_tts_below_it():
    traced = TracedWorld(question())
    assert [span.name for span in traced.spans] == [
        "chat small", "text_to_speech", "speech_to_text", "turn", "call",
    ]  # fmt: skip
    (call,), (turn,) = traced.of("call"), traced.of("turn")
    assert call.parent_id == ""
    assert turn.parent_id == call.span_id
    assert {span.parent_id for span in traced.spans[:3]} == {turn.span_id}
    assert {span.attributes["gen_ai.conversation.id"] for span in traced.spans} == {"call_1"}


def test_a_turn_that_an_upstream_hears_begins_with_the_callers_voice():
    spans = CallSpans("call_1", new_trace("call_1", 1.0), offset_ns=0)
    trace = CallTrace(spans, MADE_WITH, 100.0)
    told: list[do.Command] = [
        notify.NotifySpeechStarted("item_1", 0.4),
        notify.NotifySpeechStopped("item_1", 1.2),
        notify.NotifyInputCommitted("item_1", None),
        notify.NotifyResponseStarted("resp_1", "audio"),
        notify.NotifyTranscript("item_1", "is there a pool", True),
    ]
    for after_s, command in enumerate(told, 1):
        event = call_events.EventHandled(ev.UpstreamEvent("told"), 9.0 + after_s, (), [command])
        trace.on_event(event, 100.0 + after_s)
    trace.on_event(call_events.CallEnded("the caller hung up", ()), 110.0)
    made = {span.name: span for span in spans.drain()}
    assert made["turn"].attributes["voiceagent.turn.id"] == "item_1"
    assert made["turn"].start_ns == made["speech_to_text"].start_ns == 101 * 10**9
    assert made["speech_to_text"].end_ns == 105 * 10**9
    assert made["speech_to_text"].parent_id == made["turn"].span_id


def test_a_chat_tells_what_the_conventions_have_names_for():
    (chat,) = TracedWorld(question()).of("chat")
    told = chat.attributes
    assert (told["gen_ai.operation.name"], told["gen_ai.provider.name"]) == ("chat", "vllm")
    assert told["gen_ai.request.model"] == "small"
    assert told["gen_ai.usage.input_tokens"] == 10
    assert told["gen_ai.usage.cache_read.input_tokens"] == 4
    assert told["gen_ai.usage.output_tokens"] == 5
    assert told["gen_ai.response.finish_reasons"] == ("stop",)
    assert (told["voiceagent.llm.queue_s"], told["voiceagent.llm.gate_s"]) == (0.01, 0.02)
    assert chat.kind == "client"


def test_the_times_are_those_of_the_waterfall():
    traced = TracedWorld(question())
    (report,) = traced.reports
    moments_ns = {name: at_us * 1000 for name, at_us in report.moments_us}
    (chat,), (spoken,), (heard,) = traced.of("chat"), traced.of("text_to_speech"), traced.of("speech_to_text")
    assert (chat.start_ns, chat.end_ns) == (moments_ns["llm_request"], moments_ns["text_complete"])
    assert spoken.start_ns == moments_ns["first_fragment"]
    assert heard.end_ns == moments_ns["transcript_final"]
    told = traced.of("turn")[0].attributes
    for stage in report.stages:
        assert told[f"voiceagent.stage.{stage.name}_s"] == stage.duration_s
    assert told["voiceagent.turn.wait_s"] == report.total_s
    assert told["voiceagent.end_of_turn.delay_s"] == report.stages[0].duration_s


def test_a_turn_lasts_from_first_voice_to_last_answer():
    world = question()
    (turn,) = TracedWorld(world).of("turn")
    assert turn.start_ns == (100 + 1) * 10**9  # `say` begins at 1 s
    assert turn.end_ns == round((100 + 0.5 * len(world.steps)) * 1e9)
    assert turn.attributes["voiceagent.turn.played_until_s"] == 1.0


def test_a_preemptive_response_that_was_dropped_is_a_chat_too():
    world = CallWorld()
    item_id = world.begin_speaking()
    world.pause(item_id, "is there")
    assert of(do.StartResponse, world.commands)[0].preemptive
    world.feed(ev.SpeechResumed(2.5))
    world.pause(item_id, "is there a pool", 4.0)
    world.feed(ev.TurnEnded(4.0))
    world.play_out(world.make("Yes."))
    traced = TracedWorld(world)
    assert [span.attributes["voiceagent.llm.preemptive"] for span in traced.of("chat")] == ["wasted", "used"]
    told = traced.of("turn")[0].attributes
    assert (told["voiceagent.preemptive.begun"], told["voiceagent.preemptive.used"]) == (2, 1)
    assert told["voiceagent.preemptive.tokens_wasted"] == 3


def test_a_preemptive_response_that_was_held_when_the_call_ended_is_wasted():
    world = CallWorld()
    world.pause(world.begin_speaking(), "is there a pool")
    (chat,) = TracedWorld(world).of("chat")
    assert chat.attributes["voiceagent.llm.preemptive"] == "wasted"


def test_an_interrupted_turn_says_how_much_of_it_was_played():
    world = CallWorld(played_s=0.4)
    world.say("is there a pool")
    world.make("Yes, there is.")
    world.begin_speaking(5.0)
    world.feed(ev.InterruptionConfirmed(6.0))
    (turn,) = TracedWorld(world).of("turn")
    assert turn.attributes["voiceagent.turn.outcome"] == "interrupted"
    assert turn.attributes["voiceagent.turn.played_until_s"] == 0.4


def test_a_turn_whose_answer_the_caller_hung_up_in_has_its_wait_and_what_was_played():
    world = CallWorld()
    world.say("is there a pool")
    response_id = world.make("Yes, there is.")
    world.feed(ev.CallerGone(response_id, 0.4))
    traced = TracedWorld(world)
    (turn,), (report,) = traced.of("turn"), traced.reports
    assert turn.attributes["voiceagent.turn.outcome"] == "hung_up"
    assert turn.attributes["voiceagent.turn.wait_s"] == report.total_s > 0
    assert turn.attributes["voiceagent.turn.played_until_s"] == 0.4


def test_what_nobody_took_for_a_turn_leaves_no_trace():
    world = CallWorld()
    world.begin_speaking()
    world.feed(ev.SpeechPaused(1.2))
    assert [span.name for span in TracedWorld(world).spans] == ["call"]


def traced_tool_call() -> TracedWorld:
    """Return a call whose client ran a tool for the first turn, and its trace."""
    world = CallWorld()
    world.say("what is the weather")
    response_id = world.response_id()
    world.feed(ev.ToolCallsReady(response_id, (ToolCall("call_a", "weather", "{}"),)))
    world.feed(ev.ResponseGenerated(response_id, "tool_calls", Usage(10, 0, 5)))
    world.play_out(response_id)
    world.feed(ev.ItemCreated(ToolOutputItem("item_o", "call_a", "sunny")))
    world.feed(ev.ResponseRequested())
    world.play_out(world.make("It is sunny."))
    return TracedWorld(world)


def test_a_clients_tool_and_its_result_belong_to_the_turn():
    traced = traced_tool_call()
    (turn,), (tool,) = traced.of("turn"), traced.of("execute_tool")
    assert tool.name == "execute_tool weather"
    assert {span.parent_id for span in [tool, *traced.of("chat")]} == {turn.span_id}
    assert len(traced.of("chat")) == 2
    assert tool.attributes["gen_ai.tool.call.id"] == "call_a"
    assert tool.attributes["voiceagent.tool.outcome"] == "done"


def test_a_turn_with_a_tool_has_the_wait_for_the_response_about_its_result():
    traced = traced_tool_call()
    (turn,), (silent, answer) = traced.of("turn"), traced.reports
    assert silent.wait_us is None
    assert turn.attributes["voiceagent.turn.wait_s"] == answer.total_s > 0
    for stage in answer.stages:
        assert turn.attributes[f"voiceagent.stage.{stage.name}_s"] == stage.duration_s
    assert turn.attributes["voiceagent.prompt.tokens"] == 20


def test_a_turn_with_a_tool_has_the_wait_for_what_was_said_before_the_tool():
    world = CallWorld()
    world.say("what is the weather")
    response_id = world.response_id()
    world.feed(ev.ToolCallsReady(response_id, (ToolCall("call_a", "weather", "{}"),)))
    world.play_out(world.make("One moment."))
    world.feed(ev.ItemCreated(ToolOutputItem("item_o", "call_a", "sunny")))
    world.feed(ev.ResponseRequested())
    world.play_out(world.make("It is sunny."))
    traced = TracedWorld(world)
    (turn,), (said, _) = traced.of("turn"), traced.reports
    assert turn.attributes["voiceagent.turn.wait_s"] == said.total_s
    assert "voiceagent.stage.tools_s" not in turn.attributes


def test_an_agents_own_tool_that_fails_is_an_error():
    world = CallWorld(settings=call_settings(agent_tools=(AgentTool(Tool("order", "Orders.")),)))
    world.say("two tuna please")
    response_id = world.response_id()
    world.feed(ev.ToolCallsReady(response_id, (ToolCall("call_a", "order", "{}"),)))
    (run_tool,) = of(do.RunTool, world.commands)
    world.feed(ev.ToolFinished(run_tool.call.call_id, "failed", "there is no tuna"))
    (tool,) = TracedWorld(world).of("execute_tool")
    assert tool.error == "tool"


def test_a_question_that_is_typed_is_a_turn_of_its_own():
    world = CallWorld()
    for number in range(2):
        world.feed(ev.ItemCreated(MessageItem(f"q{number}", "user", "is there a pool")))
        world.feed(ev.ResponseRequested())
        world.play_out(world.make("Yes."))
    assert len(TracedWorld(world).of("turn")) == 2


def test_a_requested_response_belongs_to_the_turn_it_answers():
    world = CallWorld(settings=call_settings(turn_detection=turn_detection(create_response=False)))
    world.say("is there a pool")
    world.feed(ev.ResponseRequested())
    world.play_out(world.make("Yes."))
    traced = TracedWorld(world)
    assert len(traced.of("turn")) == 1
    assert len(traced.of("speech_to_text")) == 1


def test_an_engine_that_breaks_is_an_error_of_its_span():
    world = CallWorld()
    world.say("is there a pool")
    world.feed(ev.ResponseFailed(world.response_id(), "llm", "it is gone"))
    world.play_out(world.live().pop())
    traced = TracedWorld(world)
    assert [span.error for span in traced.of("chat")] == ["llm"]
    assert traced.of("turn")[0].attributes["voiceagent.turn.outcome"] == "failed"


def test_words_are_told_only_where_they_are_wanted_and_under_one_prefix():
    silent = TracedWorld(question()).spans
    assert not [name for span in silent for name in span.attributes if "content" in name]
    traced = TracedWorld(question(), content=True)
    assert traced.of("turn")[0].attributes["voiceagent.content.said"] == "is there a pool"
    assert traced.of("chat")[0].attributes["voiceagent.content.written"] == "Yes, there is."
    for span in traced.spans:
        others = [v for name, v in span.attributes.items() if not name.startswith("voiceagent.content.")]
        assert not [value for value in others if "pool" in str(value) or "there is" in str(value)]


def test_a_call_in_its_callers_trace_is_below_his_span():
    traced = TracedWorld(question(), place=CALLERS)
    assert {span.trace_id for span in traced.spans} == {CALLERS.trace_id}
    (call,) = traced.of("call")
    assert (call.parent_id, call.remote_parent) == (CALLERS.span_id, True)


def test_the_header_of_a_response_names_its_span():
    world = question()
    traced = TracedWorld(world)
    (start,) = of(do.StartResponse, world.commands)
    place = parse(traced.spans_made.traceparent(start.response_id))
    assert place is not None
    assert place.span_id == traced.of("chat")[0].span_id


def test_a_call_id_that_the_model_repeats_has_one_span():
    repeated = [("respond", 9), ("tool", 0), ("output", 9)]
    assert len(TracedWorld(run(call_settings(), repeated)).of("execute_tool")) == 1


@settings(max_examples=200)
@given(CALLS, SCRIPTS)
def test_whatever_happens_the_spans_are_one_tree(call, script):
    world = run(call, script)
    traced = TracedWorld(world)
    ids = [span.span_id for span in traced.spans]
    assert len(set(ids)) == len(ids)
    (root,) = traced.of("call")
    turns = {turn.span_id for turn in traced.of("turn")}
    for span in traced.spans:
        assert span.start_ns <= span.end_ns <= root.end_ns
        if span.name == "turn":
            assert span.parent_id == root.span_id
        elif span is not root:
            assert span.parent_id in turns | {root.span_id}
    asked = [start for start in of(do.StartResponse, world.commands) if not start.say]
    assert len(traced.of("chat")) == len(asked)
    assert root.attributes["voiceagent.call.turns"] == len(turns)
    assert len(of(notify.NotifyResponseEnded, world.commands)) == len(traced.reports)


@settings(max_examples=200)
@given(CALLS, SCRIPTS)
def test_no_cost_of_a_response_is_reported_twice(call, script):
    world = run(call, script)
    counts = [report.counts for report in TracedWorld(world).reports]
    ended = of(notify.NotifyResponseEnded, world.commands)
    preemptive = [start for start in of(do.StartResponse, world.commands) if start.preemptive]
    assert sum(one.prompt_tokens for one in counts) == sum(end.usage.prompt_tokens for end in ended)
    assert sum(one.preemptive_hits for one in counts) <= len(of(do.ReleaseResponse, world.commands))
    assert sum(one.preemptive_attempts for one in counts) <= len(preemptive)
