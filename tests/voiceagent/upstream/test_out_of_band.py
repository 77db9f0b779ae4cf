"""Texts out of band: responses outside the conversation."""

from __future__ import annotations

import pytest
from upstream_call import (
    OUT_OF_BAND,
    SPEAKS,
    begun_beside,
    conversation,
    created,
    done,
    kinds,
    sent,
    sound,
    take,
    words,
    written,
)

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.upstream.messages import response_created


def test_a_text_out_of_band_ends_while_another_response_is_played() -> None:
    call = conversation()
    call.connected()
    take(call, created(1), words(1), sound(1))
    [wanted] = sent(call.handle(OUT_OF_BAND))
    assert wanted["response"]["conversation"] == "none"
    began, text, ended = take(call, begun_beside(2), written(2, "A note."), done(2))
    assert began == notify.NotifyResponseStarted(
        "resp_2", "text", None, False, {"for": "notes"}, out_of_band=True
    )
    assert text == notify.NotifyResponseText("resp_2", "item_2", None, "A note.")
    assert isinstance(ended, notify.NotifyResponseEnded)
    assert (ended.status, ended.out_of_band) == ("completed", True)
    assert "item_2" not in call.history


def test_a_text_out_of_band_is_cut_by_no_voice_and_by_its_id() -> None:
    call = conversation()
    call.connected()
    take(call, created(1), words(1), sound(1), begun_beside(2), SPEAKS)
    cut = call.handle(ev.PlayoutStopped("resp_1", 0.1))
    assert [one.response_id for one in cut if isinstance(one, notify.NotifyResponseEnded)] == ["resp_1"]
    assert take(call, written(2, "A note."))
    assert sent(call.handle(ev.ResponseCancelled("resp_2"))) == [
        {"type": "response.cancel", "response_id": "resp_2"}
    ]


def test_a_text_out_of_band_keeps_no_answer_waiting_and_is_none() -> None:
    call = conversation()
    call.connected()
    call.handle(OUT_OF_BAND)
    assert kinds(call.handle(ev.ResponseRequested())) == ["response.create"]
    take(call, begun_beside(2))
    assert call.quiet is False, "the answer has not begun"
    take(call, created(1), done(1))
    assert call.quiet


def test_a_text_out_of_band_fails_where_the_upstream_is_lost() -> None:
    call = conversation()
    call.connected()
    take(call, begun_beside(2))
    [failed] = call.lost()
    assert isinstance(failed, notify.NotifyResponseEnded)
    assert (failed.response_id, failed.status) == ("resp_2", "failed")


def test_a_text_that_the_upstream_refuses_is_not_asked_for_again_and_leaves_the_answer() -> None:
    call = conversation()
    call.connected()
    [aside] = sent(call.handle(OUT_OF_BAND))
    call.handle(ev.ResponseRequested())
    [told] = take(call, {"type": "error", "error": {"code": "no", "event_id": aside["event_id"]}})
    assert isinstance(told, notify.NotifyError)
    assert not call.quiet, "the answer has not begun"
    call.lost()
    assert kinds(call.connected()) == ["session.update", "response.create"]


def test_to_cancel_a_text_that_is_over_leaves_the_answer_to_be_heard() -> None:
    call = conversation()
    call.connected()
    take(call, created(1), words(1), sound(1), begun_beside(2), done(2))
    [told] = call.handle(ev.ResponseCancelled("resp_2", "mine"))
    assert isinstance(told, notify.NotifyError)
    assert (told.code, told.client_event_id) == ("response_cancel_not_active", "mine")
    assert do.StopPlayout("resp_1", "client") in call.handle(ev.ResponseCancelled("resp_1"))


@pytest.mark.parametrize(
    ("choice", "sent"), [("required", "required"), ("weather", {"type": "function", "name": "weather"})]
)
def test_a_function_that_a_client_forces_is_forced_upstream(choice: str, sent: str | dict[str, str]) -> None:
    event = response_created(ev.ResponseRequested(tool_choice=choice, in_conversation=False))
    assert event["response"]["tool_choice"] == sent
