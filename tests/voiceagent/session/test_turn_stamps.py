"""The stamps of a call's turns: one clock, the caller's sound mapped to it, preemptive work counted."""

from __future__ import annotations

import pytest
from clock import Clock

from llmcore.engine import Request, ToolCall, Usage
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.end_of_turn.probability import EndOfTurn
from voiceagent.conversation.history import ToolOutputItem
from voiceagent.conversation.latency import LatencyBudget
from voiceagent.session.services import Measuring
from voiceagent.session.turn_stamps import REMEMBERED_TURNS, TurnStamps
from voiceagent.telemetry.metrics import Metrics

BUDGET = LatencyBudget({"llm_ttft": 0.1, "fragmenting": 0.06, "synthesis": 0.06, "playout": 0.02}, 0.6)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stamps(clock: Clock) -> TurnStamps:
    """Of a call whose newest sound, at 5 s, was spoken at 100 s of the clock."""
    return TurnStamps(Measuring(Metrics(), BUDGET, clock), lambda position_s: 100.0 - (5.0 - position_s))


def start(response_id: str, turn_id: str = "turn", preemptive: bool = False) -> do.StartResponse:
    return do.StartResponse(response_id, Request(()), "audio", turn_id, preemptive)


def end(response_id: str, usage: Usage | None = None) -> notify.NotifyResponseEnded:
    return notify.NotifyResponseEnded(response_id, "completed", "", usage or Usage())


def speak_and_end(stamps: TurnStamps, clock: Clock) -> None:
    """A turn whose last voiced sample came 0.2 s before it was decided."""
    stamps.on_command(do.StartRecognition("turn", 1.0))
    clock.now_s = 100.01
    stamps.on_event(ev.TranscriptChanged("turn", "hello", settled=True))
    stamps.on_event(ev.TurnEnded(4.8))


def test_report_has_the_rule_that_ended_the_turn_and_what_cut_the_response(stamps, clock):
    speak_and_end(stamps, clock)
    stamps.on_command(notify.NotifyInputCommitted("turn", None, "probability"))
    stamps.on_command(start("response"))
    cut = notify.NotifyResponseEnded("response", "cancelled", "turn_detected", interrupted_by="stop_word")
    report = stamps.report(cut)
    assert (report.end_code, report.interrupted_by) == ("probability", "stop_word")


def test_the_end_of_speech_is_backdated_through_the_newest_sound(stamps, clock):
    speak_and_end(stamps, clock)
    stamps.on_command(start("response"))
    stamps.on_command(notify.NotifyResponseStarted("response", "audio"))
    clock.now_s = 100.3
    stamps.first_frame("response", clock())
    report = stamps.report(end("response"))
    assert report.total_s == pytest.approx(0.5)
    assert report.stages[0].duration_s == pytest.approx(0.21)


def test_the_report_says_what_ended_the_turn(stamps, clock):
    ended = EndOfTurn(0.9, 0.128, (("bias", 0.4),))
    speak_and_end(stamps, clock)
    stamps.on_command(do.RequireSilence("turn", ended))
    stamps.on_command(start("response"))
    stamps.on_command(notify.NotifyResponseStarted("response", "audio"))
    assert stamps.report(end("response")).end_of_turn == ended


def test_a_preemptive_response_that_is_used_hides_its_work(stamps, clock):
    stamps.on_command(do.StartRecognition("turn", 1.0))
    stamps.on_command(start("response", preemptive=True))
    stamps.milestone("response", "llm_request")
    clock.now_s = 100.05
    stamps.milestone("response", "first_token")
    clock.now_s = 100.1
    stamps.on_event(ev.TurnEnded(4.8))
    stamps.on_command(do.ReleaseResponse("response"))
    stamps.on_command(notify.NotifyResponseStarted("response", "audio"))
    report = stamps.report(end("response", Usage(30, 10, 5)))
    assert report.hidden_s == pytest.approx(0.05)
    assert (report.counts.preemptive_attempts, report.counts.preemptive_hits) == (1, 1)
    assert report.counts.prompt_tokens_after_turn == 0


def test_a_preemptive_response_that_is_dropped_is_counted_as_waste(stamps, clock):
    stamps.on_command(do.StartRecognition("turn", 1.0))
    stamps.on_command(start("first", preemptive=True))
    stamps.cancelled("first", 7)
    speak_and_end(stamps, clock)
    stamps.on_command(start("second"))
    stamps.on_command(notify.NotifyResponseStarted("second", "audio"))
    report = stamps.report(end("second", Usage(30, 10, 5)))
    assert report.counts.tokens_wasted == 7
    assert report.counts.prompt_tokens_after_turn == 20


def test_a_late_cancellation_of_a_response_in_use_wastes_nothing(stamps, clock):
    speak_and_end(stamps, clock)
    stamps.on_command(start("response"))
    stamps.cancelled("response", 7)
    assert stamps.report(end("response")).counts.tokens_wasted == 0


def test_an_unknown_response_has_no_report(stamps):
    assert stamps.report(end("nobody")) is None


def test_turns_that_were_noises_are_forgotten(stamps):
    for number in range(1000):
        stamps.on_command(do.StartRecognition(f"noise {number}", float(number)))
        stamps.on_event(ev.TurnEnded(float(number)))
    for number, remembered in ((999 - REMEMBERED_TURNS, False), (999, True)):
        stamps.on_command(start("response", f"noise {number}"))
        stamps.on_command(notify.NotifyResponseStarted("response", "audio"))
        assert (stamps.report(end("response")).stages != ()) == remembered


def test_the_first_token_is_due_so_that_the_rest_fits_the_budget(stamps, clock):
    speak_and_end(stamps, clock)
    stamps.on_command(start("response"))
    spoken_s = 100.0 - (5.0 - 4.8)
    assert stamps.first_token_due_s("response") == pytest.approx(spoken_s + 0.6 - 0.14)


def test_a_response_to_no_speech_has_the_budget_of_the_llm(stamps):
    stamps.on_command(start("response"))
    assert stamps.first_token_due_s("response") == pytest.approx(100.1)


def calling_a_tool(stamps: TurnStamps, clock: Clock, heard: bool) -> None:
    """A turn whose response calls a tool 0.3 s after the turn was decided; the tool takes two seconds."""
    speak_and_end(stamps, clock)
    stamps.on_command(start("response"))
    stamps.on_command(notify.NotifyResponseStarted("response", "audio"))
    stamps.milestone("response", "llm_request")
    clock.now_s = 100.31
    if heard:
        stamps.first_frame("response", clock.now_s)
    stamps.on_event(ev.ToolCallsReady("response", (ToolCall("call", "look", "{}"),)))
    clock.now_s = 102.31
    stamps.report(end("response"))


@pytest.mark.parametrize(
    "result",
    [ev.ToolFinished("call", "done", "rain"), ev.ItemCreated(ToolOutputItem("item", "call", "rain"))],
)
def test_what_tools_took_is_a_stage_of_the_response_about_their_results(stamps, clock, result):
    calling_a_tool(stamps, clock, heard=False)
    stamps.on_event(result)
    stamps.on_command(do.StartResponse("filler", Request(()), "audio", say="One moment."))
    stamps.on_command(do.StartResponse("about", Request(()), "audio"))
    stamps.on_command(notify.NotifyResponseStarted("about", "audio"))
    assert stamps.first_token_due_s("about") == pytest.approx(102.31 + 0.1)
    clock.now_s = 102.5
    stamps.first_frame("about", clock.now_s)
    report = stamps.report(end("about"))
    assert report.turn_id == "turn"
    took = {stage.name: round(stage.duration_s, 2) for stage in report.stages}
    assert took == {"endpointing": 0.21, "recognition": 0.0, "tool_call": 0.3, "tools": 2.0, "playout": 0.19}
    assert "total" not in report.over_budget, "tools take what they take"


def test_a_result_that_is_spoken_as_it_is_ends_the_wait_of_the_turn(stamps, clock):
    calling_a_tool(stamps, clock, heard=False)
    stamps.on_event(ev.SpeechRequested("It rains.", result_of="call"))
    stamps.on_command(do.StartResponse("other", Request(()), "audio", say="One moment."))
    stamps.on_command(do.StartResponse("about", Request(()), "audio", say="It rains."))
    stamps.on_command(notify.NotifyResponseStarted("about", "audio"))
    clock.now_s = 102.4
    stamps.first_frame("about", clock.now_s)
    report = stamps.report(end("about"))
    assert (report.turn_id, report.wait_us) == ("turn", 2_600_000)


def test_a_response_after_one_that_was_heard_begins_with_the_call(stamps, clock):
    calling_a_tool(stamps, clock, heard=True)
    stamps.on_event(ev.ToolFinished("call", "done", "rain"))
    clock.now_s = 105.0  # the words that came with the call were played until now
    stamps.on_command(do.StartResponse("about", Request(()), "audio"))
    stamps.on_command(notify.NotifyResponseStarted("about", "audio"))
    stamps.milestone("about", "llm_request")
    report = stamps.report(end("about"))
    took = {stage.name: round(stage.duration_s, 2) for stage in report.stages}
    assert took == {"tools": 2.0, "request": 0.0}


def about(response_id: str) -> do.StartResponse:
    """Return a preemptive response about tool results, while the words of the calling response are played."""
    return do.StartResponse(response_id, Request(()), "audio", preemptive=True)


def test_an_answer_made_while_the_words_before_it_were_played_kept_nobody_waiting(stamps, clock):
    calling_a_tool(stamps, clock, heard=True)
    stamps.on_event(ev.ToolFinished("call", "done", "rain"))
    stamps.on_command(about("about"))
    stamps.milestone("about", "llm_request")
    clock.now_s = 102.71
    stamps.milestone("about", "first_token")
    stamps.milestone("about", "first_sound")
    clock.now_s = 105.0  # playback of the words has ended
    stamps.on_command(do.ReleaseResponse("about"))
    stamps.on_command(notify.NotifyResponseStarted("about", "audio"))
    stamps.first_frame("about", clock.now_s)
    report = stamps.report(end("about"))
    took = {stage.name: round(stage.duration_s, 2) for stage in report.stages if stage.duration_s}
    assert took == {"tools": 2.0}
    assert report.hidden_s == pytest.approx(0.4)
    assert (report.counts.preemptive_attempts, report.counts.preemptive_hits) == (1, 1)


def test_answers_about_tools_that_were_dropped_are_counted_with_the_turn_that_took_their_place(stamps, clock):
    calling_a_tool(stamps, clock, heard=True)
    stamps.on_event(ev.ToolFinished("call", "done", "rain"))
    stamps.on_command(about("dropped"))
    stamps.cancelled("dropped", pieces=7)
    stamps.on_command(start("answer", "next turn"))
    stamps.on_command(notify.NotifyResponseStarted("answer", "audio"))
    counts = stamps.report(end("answer")).counts
    assert (counts.preemptive_attempts, counts.preemptive_hits, counts.tokens_wasted) == (1, 0, 7)


def test_a_response_beside_the_conversations_speaks_of_no_tool_and_its_own_are_none_of_the_turns(
    stamps, clock
):
    calling_a_tool(stamps, clock, heard=False)
    stamps.on_command(do.StartResponse("beside", Request(()), "text", out_of_band=True))
    stamps.on_command(notify.NotifyResponseStarted("beside", "text", out_of_band=True))
    stamps.on_event(ev.ToolCallsReady("beside", (ToolCall("other", "look", "{}"),)))
    report = stamps.report(end("beside", Usage(30, 0, 5)))
    assert (report.turn_id, report.counts.prompt_tokens) == ("beside", 30)
    stamps.on_event(ev.ToolFinished("call", "done", "rain"))
    stamps.on_command(do.StartResponse("about", Request(()), "audio"))
    stamps.on_command(notify.NotifyResponseStarted("about", "audio"))
    assert stamps.report(end("about")).turn_id == "turn"


def answering(stamps: TurnStamps, clock: Clock) -> None:
    """A turn whose response is written, and heard 0.5 s after the caller fell silent."""
    speak_and_end(stamps, clock)
    stamps.on_command(start("response"))
    stamps.on_command(notify.NotifyResponseStarted("response", "audio"))
    stamps.on_event(ev.ResponseGenerated("response", "stop", Usage(30, 10, 5)))
    clock.now_s = 100.3
    stamps.first_frame("response", clock())


def test_the_response_that_the_call_ends_in_is_reported_with_its_wait_and_what_it_cost(stamps, clock):
    answering(stamps, clock)
    (report,) = stamps.hung_up()
    assert (report.turn_id, report.response_id, report.outcome) == ("turn", "response", "hung_up")
    assert report.total_s == pytest.approx(0.5)
    assert (report.counts.prompt_tokens, report.counts.prompt_tokens_after_turn) == (30, 20)


def test_a_response_that_was_over_before_the_call_is_not_reported_again(stamps, clock):
    answering(stamps, clock)
    stamps.report(end("response"))
    assert stamps.hung_up() == []


def test_a_preemptive_response_that_nobody_knew_of_is_none_that_the_call_ended_in(stamps):
    stamps.on_command(do.StartRecognition("turn", 1.0))
    stamps.on_command(start("response", preemptive=True))
    assert stamps.hung_up() == []
