"""Properties of every call in any order of events. `CallWorld` asserts the rest at every command."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from call_settings import call_settings
from call_world import POLICY, CallWorld
from conversation_moves import CALLS, FORGETFUL, LOOK, MOVES, SCRIPTS, run
from hypothesis import given, settings
from hypothesis import strategies as st

from voiceagent.conversation import commands as do
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import MessageItem
from voiceagent.conversation.prompting.items import to_messages
from voiceagent.conversation.settings import CallSettings, InferencePause


@settings(max_examples=300)
@given(CALLS, SCRIPTS)
def test_every_response_ends_once_and_the_call_comes_to_rest(call: CallSettings, script):
    world = run(call, script)
    assert sorted(world.begun) == sorted(world.ended)
    assert world.conversation.idle


WORK = (do.StartRecognition, do.FlushRecognition, do.JudgeTurn, do.StartResponse, do.Prefill, do.Summarise)


@settings(max_examples=300)
@given(SCRIPTS)
def test_no_engine_works_while_inference_is_paused(script):
    world = run(call_settings(pause=InferencePause(30.0)), script, FORGETFUL)
    paused = False
    for command in world.commands:
        if isinstance(command, notify.NotifyInferencePaused | notify.NotifyInferenceResumed):
            assert paused is isinstance(command, notify.NotifyInferenceResumed)
            paused = not paused
        out_of_band = (
            isinstance(command, do.StartResponse) and command.out_of_band
        )  # the client's own request
        assert out_of_band or not (paused and isinstance(command, WORK))


@settings(max_examples=300)
@given(CALLS, SCRIPTS)
def test_the_prompt_of_every_response_alternates(call: CallSettings, script):
    world = run(call, script, FORGETFUL)
    for command in world.commands:
        if isinstance(command, do.StartResponse):
            roles = [message.role for message in command.request.messages]
            assert all(one != other or one == "tool" for one, other in pairwise(roles))


@settings(max_examples=300)
@given(CALLS, SCRIPTS)
def test_the_history_holds_only_words_that_were_written(call: CallSettings, script):
    world = run(call, script)
    written = {}
    for command in world.commands:
        if isinstance(command, notify.NotifyResponseText):
            written[command.item_id] = written.get(command.item_id, "") + command.text
    for item in world.conversation.history.items:
        if isinstance(item, MessageItem) and item.role == "assistant":
            words = iter(written.get(item.item_id, "").split())
            assert all(word in words for word in item.text.split()), (
                "a word that was never written, or out of order"
            )
            assert item.status != "in_progress"


@settings(max_examples=300)
@given(CALLS, SCRIPTS)
def test_every_call_in_a_prompt_is_followed_by_exactly_its_results(call: CallSettings, script):
    for command in run(call, script).commands:
        if isinstance(command, do.StartResponse):
            messages = command.request.messages
            answered = 0
            for index, message in enumerate(messages):
                called = [wanted.call_id for wanted in message.tool_calls]
                results = messages[index + 1 : index + 1 + len(called)]
                assert sorted(called) == sorted(str(result.tool_call_id) for result in results)
                answered += len(called)
            assert answered == sum(message.role == "tool" for message in messages)


@settings(max_examples=300)
@given(CALLS, SCRIPTS)
def test_no_item_is_blank_unless_it_was_cut(call: CallSettings, script):
    for item in run(call, script).conversation.history.items:
        if isinstance(item, MessageItem) and item.role == "assistant":
            assert item.text.strip() or item.status == "incomplete"


@settings(max_examples=300)
@given(st.integers(1, 3), SCRIPTS)
def test_the_requests_of_an_answer_are_bounded(rounds: int, script):
    """The bound holds from one turn of the caller, or response without calls, to the next."""
    policy = replace(POLICY, max_tool_rounds=rounds)
    calling = [("tool", 1), ("generated", 0), ("sent", 0), ("heard", 0), ("tool_ends", 0), ("tool_ends", 0)]
    turn = [("speak", 0), ("pause", 0), ("answer_flush", 4), ("end", 0)]
    world = run(call_settings(agent="Clerk", agent_tools=(LOOK,)), turn + calling * 6 + script, policy)
    requests, calls = 0, False
    for step in world.steps:
        for command in step.commands:
            match command:
                case notify.NotifyResponseStarted(in_conversation=True):
                    requests, calls = requests + 1, False
                    assert requests <= rounds + 2
                case do.RunTool():
                    calls = True
                case do.TurnConcluded():
                    requests = 0
                case do.ResponseConcluded() if not calls:
                    requests = 0
                case _:
                    pass


def false_end(world: CallWorld) -> list[str]:
    """Return the history's text of each withdrawn response that has an item there."""
    ended = [c for c in world.commands if isinstance(c, notify.NotifyResponseEnded) and c.false_end]
    responses = {command.response_id for command in ended}
    texts = [
        c for c in world.commands if isinstance(c, notify.NotifyResponseText) and c.response_id in responses
    ]
    items = {command.item_id for command in texts}
    return [
        item.text
        for item in world.conversation.history.items
        if isinstance(item, MessageItem) and item.item_id in items
    ]


@settings(max_examples=300)
@given(CALLS, SCRIPTS)
def test_the_history_has_nothing_of_a_response_taken_back(call: CallSettings, script):
    assert not any(false_end(run(call, script)))


def test_such_calls_do_take_responses_back():
    turn = [("speak", 0), ("pause", 0), ("answer_flush", 4), ("fragment", 1), ("sound", 9), ("end", 0)]
    assert false_end(run(call_settings(), [*turn, ("speak", 0), ("prolong", 0)])) == [""]


@settings(max_examples=300)
@given(CALLS, SCRIPTS)
def test_a_preemptive_response_is_silent_until_the_turn_has_ended(call: CallSettings, script):
    world = run(call, script)
    preemptive: set[str] = set()
    ended: set[str] = set()
    turn_of: dict[str, str | None] = {}
    for command in world.commands:
        match command:
            case do.StartResponse(response_id=response_id, turn_id=turn_id, preemptive=True):
                preemptive.add(response_id)
                turn_of[response_id] = turn_id
            case notify.NotifyInputCommitted(item_id):
                ended.add(item_id)
            case do.ReleaseResponse(response_id):
                # one made from a tool's results may answer a client's request, which has no turn
                assert turn_of[response_id] in ended | {None}
                preemptive.discard(response_id)
            case (
                do.Play(response_id)
                | notify.NotifyResponseText(response_id)
                | notify.NotifyResponseStarted(response_id)
            ):
                assert response_id not in preemptive
            case _:
                pass


@settings(max_examples=300)
@given(CALLS, SCRIPTS)
def test_no_summary_changes_what_the_client_is_notified_of(call: CallSettings, script):
    notified = [
        [repr(c) for c in run(call, script, policy).commands if type(c).__module__ == notify.__name__]
        for policy in (POLICY, FORGETFUL)
    ]
    assert notified[0] == notified[1]


def test_same_events_same_commands():
    script = [(MOVES[n % len(MOVES)], n % 10) for n in range(200)]
    assert repr(run(call_settings(), script).commands) == repr(run(call_settings(), script).commands)


def test_a_history_of_one_role_becomes_one_message():
    items = [MessageItem("a", "user", "one"), MessageItem("b", "user", "two")]
    assert [message.content for message in to_messages(items)] == ["one two"]
