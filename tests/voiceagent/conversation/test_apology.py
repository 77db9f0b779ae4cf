"""The apology after a failure: the caller and clients have it, prompts do not.

A small model that read it there said it again, as its answer to the next questions.
"""

from __future__ import annotations

from call_world import CallWorld, fragment, of, speech

from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import MessageItem


def assistant_text(call: CallWorld) -> str:
    """Return the only message of the agent in the history."""
    (item,) = [one for one in call.conversation.history.items if getattr(one, "role", "") == "assistant"]
    assert isinstance(item, MessageItem)
    return item.text


def test_prompts_leave_out_the_apology_that_the_history_and_clients_have() -> None:
    call = CallWorld()
    call.say("is there parking")
    response_id = call.response_id()
    call.feed(ev.ResponseFailed(response_id, "llm", "slow"))
    call.play_out(response_id)
    assert assistant_text(call) == "Sorry."
    assert [told.text for told in of(notify.NotifyResponseText, call.commands)] == ["Sorry."]
    assert call.next_prompt() == [("user", "is there parking and how much is it")]


def test_prompts_have_the_words_before_the_apology() -> None:
    call = CallWorld()
    call.say("is there parking")
    response_id = call.response_id()
    call.feed(ev.FragmentReady(response_id, fragment("Yes, there is. ")))
    call.feed(ev.SpeechReady(response_id, speech(1.0)))
    call.feed(ev.FragmentSpoken(response_id))
    call.feed(ev.ResponseFailed(response_id, "llm", "slow"))
    call.play_out(response_id)
    assert assistant_text(call) == "Yes, there is. Sorry."
    assert call.next_prompt()[1] == ("assistant", "Yes, there is.")
