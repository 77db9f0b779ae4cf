"""Turns of a call, with their tools and the answers to these."""

from __future__ import annotations

from llmcore.engine import ToolCall
from voiceagent.calls.log.codec import Json
from voiceagent.calls.replaying.forked import Step
from voiceagent.calls.replaying.outline import OutlinedTool, outline
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import MessageItem

TAXI = ToolCall("call_1", "order_taxi", '{"time": "six"}')
ENDED = ev.TurnEnded(2.0)
COMMITTED = {"type": "NotifyInputCommitted", "item_id": "turn_1"}
ORDERED = "ordered: it comes at six"


def at(clock_s: float, event: ev.Event, *commands: Json) -> Step:
    return Step(clock_s, clock_s, event, list(commands))


def start(response_id: str, turn_id: str | None, preemptive: bool = False, out_of_band: bool = False) -> Json:
    return {
        "type": "StartResponse",
        "response_id": response_id,
        "turn_id": turn_id,
        "preemptive": preemptive,
        "out_of_band": out_of_band,
    }


def says(response_id: str, text: str) -> list[Json]:
    return [
        {"type": "Play", "response_id": response_id},
        {"type": "NotifyResponseText", "response_id": response_id, "text": text},
    ]


def finished(call_id: str) -> ev.Event:
    return ev.ToolFinished(call_id, "done", ORDERED, reply=True)


def test_the_response_to_a_tools_result_answers_the_turn() -> None:
    (turn,) = outline(
        [
            at(2.5, ENDED, COMMITTED, start("resp_1", "turn_1")),
            at(2.6, ev.ToolCallsReady("resp_1", (TAXI,))),
            at(2.7, finished("call_1"), start("resp_2", None)),
            at(3.0, ev.PlayoutSent("resp_1"), *says("resp_2", "It comes at six.")),
        ]
    )
    assert (turn.answered, turn.waited_s) == ("It comes at six.", 1.0)
    assert turn.tools == [OutlinedTool("call_1", "order_taxi", '{"time": "six"}', ORDERED)]


def test_a_response_that_a_client_requests_answers_no_turn() -> None:
    (turn,) = outline(
        [
            at(2.5, ENDED, COMMITTED),
            at(2.7, ev.PlayoutSent("resp_0"), start("resp_2", None), *says("resp_2", "By the way.")),
        ]
    )
    assert (turn.answered, turn.waited_s) == ("", None)


def test_a_response_beside_the_conversation_answers_no_turn() -> None:
    (turn,) = outline(
        [
            at(2.5, ENDED, COMMITTED, start("resp_1", "turn_1")),
            at(2.6, ev.ToolCallsReady("resp_1", (TAXI,))),
            at(
                2.7,
                finished("call_1"),
                start("resp_2", None, out_of_band=True),
                *says("resp_2", "A summary."),
            ),
        ]
    )
    assert turn.answered == ""


def test_a_dropped_preemptive_response_has_called_nothing() -> None:
    (turn,) = outline(
        [
            at(1.5, ENDED, COMMITTED),
            at(1.6, ev.SpeechPaused(1.4), start("resp_1", "turn_1", preemptive=True)),
            at(1.7, ev.ToolCallsReady("resp_1", (TAXI,))),
            at(1.8, ev.SpeechPaused(1.7), start("resp_2", "turn_1", preemptive=True)),
            at(2.5, ENDED, {"type": "ReleaseResponse", "response_id": "resp_2"}),
        ]
    )
    assert turn.tools == []


def test_a_released_preemptive_response_has_called_its_tools() -> None:
    (turn,) = outline(
        [
            at(1.5, ev.SpeechPaused(1.4), start("resp_1", "turn_1", preemptive=True)),
            at(1.6, ev.ToolCallsReady("resp_1", (TAXI,))),
            at(2.5, ENDED, COMMITTED, {"type": "ReleaseResponse", "response_id": "resp_1"}),
        ]
    )
    assert [tool.name for tool in turn.tools] == ["order_taxi"]


TYPED = ev.ItemCreated(MessageItem("item_1", "user", "a taxi please"))


def test_typed_text_is_a_turn_without_a_wait() -> None:
    (turn,) = outline(
        [
            at(2.0, TYPED),
            at(2.1, ev.ResponseRequested(), start("resp_1", None)),
            at(2.2, ev.ToolCallsReady("resp_1", (TAXI,))),
            at(2.3, finished("call_1"), start("resp_2", None)),
            at(3.0, ev.PlayoutSent("resp_1"), *says("resp_2", "It comes at six.")),
        ]
    )
    assert (turn.said, turn.answered, turn.waited_s) == ("a taxi please", "It comes at six.", None)
    assert [tool.name for tool in turn.tools] == ["order_taxi"]


def test_typed_text_is_answered_by_the_first_response_after_it() -> None:
    (turn,) = outline(
        [
            at(2.0, TYPED),
            at(2.1, ev.ResponseRequested(), start("resp_0", None, out_of_band=True), *says("resp_0", "Hm.")),
            at(2.2, ev.ResponseRequested(), start("resp_1", None), *says("resp_1", "Gladly.")),
            at(3.0, ev.ResponseRequested(), start("resp_2", None), *says("resp_2", "By the way.")),
        ]
    )
    assert turn.answered == "Gladly."


def test_information_of_the_phone_line_is_no_turn() -> None:
    by_line = ev.ItemCreated(MessageItem("item_1", "user", "pressed 1", by_line=True))
    assert outline([at(2.0, by_line)]) == []
