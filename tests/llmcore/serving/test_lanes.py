from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llmcore.engine import Lane, Message, Request, Usage
from llmcore.serving.lanes import LaneLimits, Lanes, Ticket

LONG = "word " * 4000  # 5,000 tokens at first guess


def lanes(places: int = 1, long: int = 1) -> Lanes:
    return Lanes(LaneLimits(places, long_tokens=1500, long=long))


def ask(text: str = "hello?", lane: Lane = "turn", due_s: float | None = None) -> Request:
    return Request((Message("user", text),), lane=lane, due_s=due_s)


def occupied(places: int = 1) -> tuple[Lanes, Ticket]:
    """Lanes with one place, which is taken."""
    gate = lanes(places)
    ticket = gate.enter(ask(), 0.0)
    gate.let_in(0.0)
    return gate, ticket


def order(requests: list[Request], now_s: float = 0.0) -> list[int]:
    """In which order requests that came together are let in, as their numbers."""
    gate = lanes()
    tickets = [gate.enter(request, 0.0) for request in requests]
    seen: list[int] = []
    while let_in := gate.let_in(now_s):
        for ticket in let_in:
            seen.append(tickets.index(ticket))
            gate.leave(ticket, None)
    return seen


def test_preemptive_replies_and_prefill_while_speaking_come_after_real_turns():
    assert order([ask(lane="ahead"), ask(lane="preemptive"), ask(lane="turn")]) == [2, 1, 0]


def test_a_summary_of_old_turns_comes_after_all_else():
    gate = lanes(places=2)
    tickets = [gate.enter(ask(lane=lane), 0.0) for lane in ("summary", "ahead")]
    assert gate.let_in(0.0) == [tickets[1]]
    gate.leave(tickets[1], None)
    assert gate.let_in(0.0) == [tickets[0]]


def test_a_summary_holds_its_place_to_its_end_and_never_takes_the_last_one():
    gate = lanes(places=2)
    tickets = [gate.enter(ask(lane="summary"), 0.0) for _ in range(2)]
    assert gate.let_in(0.0) == tickets[:1]
    gate.first_token(tickets[0], 0.1)
    assert gate.let_in(0.1) == []
    turn = gate.enter(ask(), 0.2)
    assert gate.let_in(0.2) == [turn]
    gate.leave(turn, None)
    gate.leave(tickets[0], Usage(10, 0, 20))
    assert gate.let_in(0.3) == tickets[1:]


def test_where_there_is_one_place_no_summary_takes_it():
    gate = lanes(places=1)
    gate.enter(ask(lane="summary"), 0.0)
    assert gate.let_in(0.0) == []


def test_of_real_turns_the_one_with_the_min_time_left_goes_first():
    assert order([ask(due_s=0.9), ask(due_s=0.3), ask(due_s=0.6)]) == [1, 2, 0]


def test_a_turn_that_can_no_longer_be_in_time_yields_to_those_that_can():
    assert order([ask(due_s=0.9), ask(due_s=1.5)], now_s=1.0) == [1, 0]


def test_a_long_prompt_comes_after_short_ones_with_more_time():
    assert order([ask(LONG, due_s=1.0), ask(due_s=8.0)]) == [1, 0]


def test_a_turn_with_much_to_read_is_in_the_lane_of_long_prompts():
    gate = lanes()
    came_for: list[tuple[str, Lane]] = [
        ("hello?", "turn"),
        (LONG, "turn"),
        (LONG, "preemptive"),
        (LONG, "ahead"),
    ]
    tickets = [gate.enter(ask(text, lane), 0.0) for text, lane in came_for]
    assert [gate.lane(ticket) for ticket in tickets] == ["turn", "long", "preemptive", "ahead"]


def test_no_more_long_prompts_are_read_at_once_than_allowed():
    gate = lanes(places=4, long=1)
    tickets = [gate.enter(ask(f"{number} {LONG}"), 0.0) for number in range(2)] + [gate.enter(ask(), 0.0)]
    let_in = gate.let_in(0.0)
    assert set(let_in) == {tickets[2], tickets[0]}
    gate.first_token(tickets[0], 1.0)
    assert gate.let_in(1.0) == [tickets[1]]


def test_a_long_history_that_has_been_read_before_is_not_long():
    gate = lanes(places=2, long=1)
    history = Message("user", LONG)
    first = gate.enter(Request((history,)), 0.0)
    gate.let_in(0.0)
    gate.first_token(first, 1.0)
    gate.leave(first, None)
    again = gate.enter(Request((history, Message("assistant", "Yes."), Message("user", "And?"))), 2.0)
    assert again.new_tokens < 10


def test_prefill_while_speaking_leaves_the_last_place_to_turns():
    gate = lanes(places=2)
    reading, waiting = (gate.enter(ask(f"{number}", lane="ahead"), 0.0) for number in range(2))
    assert gate.let_in(0.0) == [reading]
    turn = gate.enter(ask(), 0.0)
    assert gate.let_in(0.0) == [turn]
    gate.leave(reading, None)
    gate.leave(turn, None)
    assert gate.let_in(0.0) == [waiting]


def test_a_place_is_free_again_at_the_first_token():
    gate, ticket = occupied()
    waiting = gate.enter(ask(), 0.0)
    assert gate.let_in(0.0) == []
    gate.first_token(ticket, 0.1)
    assert gate.let_in(0.1) == [waiting]


def test_one_who_gives_up_while_waiting_is_forgotten():
    gate, ticket = occupied()
    gate.leave(gate.enter(ask(), 0.0), None)
    gate.leave(ticket, None)
    assert (gate.waiting, gate.let_in(0.0)) == (0, [])


def test_the_engines_own_queue_gets_the_same_order():
    gate = lanes(places=9)
    requests = [ask(due_s=5.0), ask(due_s=6.0), ask(LONG), ask(lane="preemptive"), ask(lane="ahead")]
    priorities = [gate.priority(gate.enter(request, 0.0), 0.0) for request in requests]
    assert priorities == sorted(priorities)


def test_the_prediction_grows_with_those_who_wait_before():
    gate, _ = occupied()
    before_s = gate.predicted_ttft_s()
    gate.enter(ask("a question of some length, " * 20), 0.0)
    assert gate.predicted_ttft_s() > before_s


def test_the_prediction_learns_how_fast_the_engine_reads():
    slow, fast = lanes(), lanes()
    for gate, took_s in ((slow, 2.0), (fast, 0.02)):
        for number in range(20):
            ticket = gate.enter(ask(f"{number} question of some length " * 20), 0.0)
            gate.let_in(0.0)
            gate.first_token(ticket, took_s)
            gate.leave(ticket, Usage(200, 0, 5))
    assert slow.predicted_ttft_s() > 0.5
    assert fast.predicted_ttft_s() < 0.05


@given(st.lists(st.tuples(st.sampled_from(["turn", "preemptive", "ahead"]), st.floats(0, 10)), max_size=40))
def test_everyone_is_let_in_once(requests):
    assert sorted(order([ask(lane=lane, due_s=due_s) for lane, due_s in requests])) == list(
        range(len(requests))
    )
