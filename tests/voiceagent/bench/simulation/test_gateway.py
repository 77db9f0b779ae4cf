from __future__ import annotations

from simulation.gateway import CHARACTERS, Gateway, Promise

from llmcore.engine import Message

TOKENS = 120
PROMPT = (Message("user", "w" * CHARACTERS * TOKENS),)


def gateway(**promise: float) -> Gateway:
    return Gateway("gateway 0", ("replica 0", "replica 1"), Promise(max_running=4, **promise))


def test_a_gateway_takes_calls_up_to_its_limit() -> None:
    one = gateway(max_calls=2)
    one.calls = 1
    assert one.takes_calls() and one.report().takes_calls
    one.calls = 2
    assert not one.takes_calls() and one.report().utilization == 1


def test_the_first_call_is_taken_whatever_is_predicted() -> None:
    late = gateway(max_ttft_s=1e-6)
    assert late.takes_calls()
    late.calls = 1
    assert not late.takes_calls()


def test_requests_beyond_the_slots_wait_for_a_first_token() -> None:
    one = gateway()
    for call in range(5):
        one.add(PROMPT, str(call), 0.0)
    running = one.admit(0.0)
    assert len(running) == 4 and one.admit(0.0) == []
    one.on_first_token(running[0], 0.1)
    assert len(one.admit(0.1)) == 1


def test_a_gateway_that_stays_late_refuses_calls_at_last() -> None:
    one = gateway(ttft_budget_s=1e-6, max_ttft_s=100.0)
    one.calls = 1
    for call in range(40):
        one.add(PROMPT, str(call), 0.0)
    one.admit(0.0)
    seconds = next(second for second in range(60) if one.sample(float(second)) or not one.takes_calls())
    assert 1 < seconds < 30


def test_a_request_that_is_over_is_no_load_any_more() -> None:
    one = gateway()
    one.calls = 2
    ticket = one.add(PROMPT, "a call", 0.0)
    busy_s = one.report().predicted_ttft_ms
    one.admit(0.0)
    one.on_first_token(ticket, 0.1)
    one.over(ticket, TOKENS)
    assert one.report().predicted_ttft_ms < busy_s
