from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llmcore.engine import Message, PriorityClass, Request, Usage
from llmcore.policies.priority_queue import PriorityQueue, QueueLimits, Ticket

LONG = "word " * 4000  # 5,000 tokens at first guess


def queue_of(slots: int = 1, max_long: int = 1) -> PriorityQueue:
    return PriorityQueue(QueueLimits(slots, 1500, max_long))


def ask(text: str = "hello?", priority_class: PriorityClass = "turn", due_s: float | None = None) -> Request:
    return Request((Message("user", text),), priority_class=priority_class, due_s=due_s)


def occupied(slots: int = 1) -> tuple[PriorityQueue, Ticket]:
    """PriorityQueue with one place, which is taken."""
    gate = queue_of(slots)
    ticket = gate.add(ask(), 0.0)
    gate.admit(0.0)
    return gate, ticket


def order(requests: list[Request], now_s: float = 0.0) -> list[int]:
    """In which order requests that came together are let in, as their numbers."""
    gate = queue_of()
    tickets = [gate.add(request, 0.0) for request in requests]
    seen: list[int] = []
    while let_in := gate.admit(now_s):
        for ticket in let_in:
            seen.append(tickets.index(ticket))
            gate.remove(ticket, None)
    return seen


def test_preemptive_replies_and_prefill_while_speaking_come_after_real_turns():
    assert order(
        [ask(priority_class="prefill"), ask(priority_class="preemptive"), ask(priority_class="turn")]
    ) == [2, 1, 0]


def test_a_summary_of_old_turns_comes_after_all_else():
    gate = queue_of(slots=2)
    tickets = [gate.add(ask(priority_class=priority_class), 0.0) for priority_class in ("summary", "prefill")]
    assert gate.admit(0.0) == [tickets[1]]
    gate.remove(tickets[1], None)
    assert gate.admit(0.0) == [tickets[0]]


def test_a_summary_keeps_its_slot_and_never_takes_the_last():
    gate = queue_of(slots=2)
    tickets = [gate.add(ask(priority_class="summary"), 0.0) for _ in range(2)]
    assert gate.admit(0.0) == tickets[:1]
    gate.on_first_token(tickets[0], 0.1)
    assert gate.admit(0.1) == []
    turn = gate.add(ask(), 0.2)
    assert gate.admit(0.2) == [turn]
    gate.remove(turn, None)
    gate.remove(tickets[0], Usage(10, 0, 20))
    assert gate.admit(0.3) == tickets[1:]


def test_where_there_is_one_place_no_summary_takes_it():
    gate = queue_of(slots=1)
    gate.add(ask(priority_class="summary"), 0.0)
    assert gate.admit(0.0) == []


def test_of_turns_the_one_due_first_goes_first():
    assert order([ask(due_s=0.9), ask(due_s=0.3), ask(due_s=0.6)]) == [1, 2, 0]


def test_a_turn_already_late_yields_to_those_in_time():
    assert order([ask(due_s=0.9), ask(due_s=1.5)], now_s=1.0) == [1, 0]


def test_a_long_prompt_comes_after_short_ones_with_more_time():
    assert order([ask(LONG, due_s=1.0), ask(due_s=8.0)]) == [1, 0]


def test_a_turn_with_much_to_read_is_a_long_prompt():
    gate = queue_of()
    came_for: list[tuple[str, PriorityClass]] = [
        ("hello?", "turn"),
        (LONG, "turn"),
        (LONG, "preemptive"),
        (LONG, "prefill"),
    ]
    tickets = [gate.add(ask(text, priority_class), 0.0) for text, priority_class in came_for]
    assert [gate.priority_class(ticket) for ticket in tickets] == ["turn", "long", "preemptive", "prefill"]


def test_no_more_long_prompts_are_read_at_once_than_allowed():
    gate = queue_of(slots=4, max_long=1)
    tickets = [gate.add(ask(f"{number} {LONG}"), 0.0) for number in range(2)] + [gate.add(ask(), 0.0)]
    let_in = gate.admit(0.0)
    assert set(let_in) == {tickets[2], tickets[0]}
    gate.on_first_token(tickets[0], 1.0)
    assert gate.admit(1.0) == [tickets[1]]


def test_a_long_history_that_has_been_read_before_is_not_long():
    gate = queue_of(slots=2, max_long=1)
    history = Message("user", LONG)
    first = gate.add(Request((history,)), 0.0)
    gate.admit(0.0)
    gate.on_first_token(first, 1.0)
    gate.remove(first, None)
    again = gate.add(Request((history, Message("assistant", "Yes."), Message("user", "And?"))), 2.0)
    assert again.new_tokens < 10


def test_prefill_while_speaking_leaves_the_last_place_to_turns():
    gate = queue_of(slots=2)
    reading, waiting = (gate.add(ask(f"{number}", priority_class="prefill"), 0.0) for number in range(2))
    assert gate.admit(0.0) == [reading]
    turn = gate.add(ask(), 0.0)
    assert gate.admit(0.0) == [turn]
    gate.remove(reading, None)
    gate.remove(turn, None)
    assert gate.admit(0.0) == [waiting]


def test_a_place_is_free_again_at_the_first_token():
    gate, ticket = occupied()
    waiting = gate.add(ask(), 0.0)
    assert gate.admit(0.0) == []
    gate.on_first_token(ticket, 0.1)
    assert gate.admit(0.1) == [waiting]


def test_one_who_gives_up_while_waiting_is_forgotten():
    gate, ticket = occupied()
    gate.remove(gate.add(ask(), 0.0), None)
    gate.remove(ticket, None)
    assert (gate.waiting, gate.admit(0.0)) == (0, [])


def test_the_engines_own_queue_gets_the_same_order():
    gate = queue_of(slots=9)
    requests = [
        ask(due_s=5.0),
        ask(due_s=6.0),
        ask(LONG),
        ask(priority_class="preemptive"),
        ask(priority_class="prefill"),
    ]
    priorities = [gate.priority(gate.add(request, 0.0), 0.0) for request in requests]
    assert priorities == sorted(priorities)


def test_the_prediction_grows_with_those_who_wait_before():
    gate, _ = occupied()
    before_s = gate.predicted_ttft_s()
    gate.add(ask("a question of some length, " * 20), 0.0)
    assert gate.predicted_ttft_s() > before_s


def test_the_prediction_learns_how_fast_the_engine_reads():
    slow, fast = queue_of(), queue_of()
    for gate, took_s in ((slow, 2.0), (fast, 0.02)):
        for number in range(20):
            ticket = gate.add(ask(f"{number} question of some length " * 20), 0.0)
            gate.admit(0.0)
            gate.on_first_token(ticket, took_s)
            gate.remove(ticket, Usage(200, 0, 5))
    assert slow.predicted_ttft_s() > 0.5
    assert fast.predicted_ttft_s() < 0.05


def read_once(gate: PriorityQueue, text: str, took_s: float) -> None:
    ticket = gate.add(ask(text), 0.0)
    gate.admit(0.0)
    gate.on_first_token(ticket, took_s)
    gate.remove(ticket, None)


def test_the_longer_a_prompt_the_longer_it_may_be_read():
    gate = queue_of()
    twice, once = gate.add(ask(2 * LONG), 0.0), gate.add(ask(LONG), 0.0)
    assert gate.reading_s(twice) == 2 * gate.reading_s(once)


def test_a_slow_engine_may_read_for_longer():
    slow, fast = queue_of(), queue_of()
    for gate, took_s in ((slow, 2.0), (fast, 0.2)):
        read_once(gate, "a question of some length " * 100, took_s)
    assert slow.reading_s(slow.add(ask(LONG), 0.0)) > 2 * fast.reading_s(fast.add(ask(LONG), 0.0))


def test_a_long_prompt_that_had_to_wait_does_not_make_the_next_wait_longer():
    gate = queue_of()
    before = gate.reading_s(gate.add(ask(f"first {LONG}"), 0.0))
    read_once(queue := queue_of(), LONG, 60.0)
    assert queue.reading_s(queue.add(ask(f"first {LONG}"), 0.0)) == before


@given(st.lists(st.tuples(st.sampled_from(["turn", "preemptive", "prefill"]), st.floats(0, 10)), max_size=40))
def test_everyone_is_let_in_once(requests):
    assert sorted(
        order([ask(priority_class=priority_class, due_s=due_s) for priority_class, due_s in requests])
    ) == list(range(len(requests)))


def of(caller: str, due_s: float = 0.0) -> Request:
    return Request((Message("user", f"{caller} asks"),), due_s=due_s, caller=caller)


def test_one_caller_never_has_more_than_half_of_the_slots():
    gate = queue_of(slots=4)
    greedy = [gate.add(of("greedy"), 0.0) for _ in range(4)]
    assert gate.admit(0.0) == greedy[:2]
    others = [gate.add(of("other"), 0.0), gate.add(of("another"), 0.0)]
    assert gate.admit(0.0) == others
    gate.remove(greedy[0], None)
    assert gate.admit(0.0) == [greedy[2]]


def test_whoever_has_fewer_prompts_read_goes_first():
    gate = queue_of(slots=4)
    first = gate.add(of("one"), 0.0)
    gate.admit(0.0)
    again, other = gate.add(of("one", due_s=1.0), 0.0), gate.add(of("two", due_s=9.0), 0.0)
    assert gate.admit(0.0) == [other, again]
    assert first is not again


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=30))
def test_no_caller_waits_for_another_while_a_slot_is_free(callers: list[str]):
    gate = queue_of(slots=4)
    tickets = [gate.add(of(caller), 0.0) for caller in callers]
    reading = gate.admit(0.0)
    for caller in set(callers):
        held = sum(ticket.request.caller == caller for ticket in reading)
        assert held <= 2
        if held == 0:
            assert len(reading) == 4
    assert len(reading) <= len(tickets)


def test_long_prompts_do_not_lengthen_what_others_are_told_to_wait():
    gate, short = occupied()
    gate.on_first_token(short, 0.05)
    before = gate.predicted_ttft_s()
    ticket = gate.add(ask(LONG), 1.0)
    gate.admit(1.0)
    gate.on_first_token(ticket, 31.0)
    gate.remove(ticket, None)
    other = gate.add(ask(), 32.0)
    gate.admit(32.0)
    assert gate.predicted_ttft_s() < before + 1.0
    gate.remove(other, None)


def asked_by(caller: str, text: str = "hello?", priority_class: PriorityClass = "preemptive") -> Request:
    return Request((Message("user", text),), priority_class=priority_class, caller=caller)


def test_a_preemptive_request_whose_turn_is_over_goes_as_that_turns_own():
    gate = queue_of()
    first, hurried = (gate.add(asked_by(caller), 0.0) for caller in ("one", "other"))
    turn = gate.add(ask(due_s=9.0), 0.0)
    assert gate.raise_priority("other", 3.0) == []
    assert gate.admit(0.0) == [hurried]
    assert (hurried.request.priority_class, hurried.request.due_s) == ("turn", 3.0)
    gate.remove(hurried, None)
    assert gate.admit(0.0) == [turn]
    assert first.request.priority_class == "preemptive"


def test_what_the_engine_has_already_is_told_as_the_turns_own():
    gate = queue_of()
    read = gate.add(asked_by("one"), 0.0)
    gate.admit(0.0)
    (hurried,) = gate.raise_priority("one", 3.0)
    assert gate.priority(hurried, 0.0) < gate.priority(read, 0.0)
    gate.on_first_token(read, 0.1)
    assert gate.raise_priority("one", 3.0) == []


def test_a_turn_goes_before_what_was_let_in_ahead_and_may_wait_in_the_engine():
    gate = queue_of(slots=2)
    ahead = [gate.add(asked_by(caller), 0.0) for caller in ("one", "other", "third")]
    assert gate.admit(0.0) == ahead[:2]
    turns = [gate.add(ask(), 0.0) for _ in range(3)]
    assert gate.admit(0.0) == turns[:2]
    gate.on_first_token(turns[0], 0.1)
    assert gate.admit(0.1) == turns[2:]
