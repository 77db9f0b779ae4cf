from __future__ import annotations

from random import Random

import pytest

from llmcore.engine import Message, Request
from llmcore.policies.learned_routing import LearnedRouter, Sample, learn, read_router
from llmcore.policies.routing import Rules, route

EASY = ("Thanks a lot", "Goodbye then", "Good morning", "Thank you very much", "Hello there", "Bye for now")
HARD = ("How far is the harbour", "Why does the lamp turn", "Who built the tower", "What does a sail cost")


def asked(text: str) -> tuple[Message, ...]:
    return (Message("system", "You keep the lighthouse."), Message("user", text))


def answered(*, easy_right: float = 1.0) -> list[Sample]:
    """Turns of which the small model can answer the easy ones, most of the time."""
    random, samples = Random(1), []
    for number in range(200):
        words = random.choice((EASY, HARD)[number % 2])
        right = number % 2 == 0 and random.random() < easy_right
        samples.append(Sample(asked(f"{words} {random.choice(('sir', 'please', 'now'))}"), right, True))
    return samples


def test_turns_like_those_the_small_model_answered_rightly_are_simple():
    router = learn(answered(), max_loss=0.0)
    assert router.is_simple(asked("Thanks a lot, sir"))
    assert not router.is_simple(asked("How far is the tower, sir"))


def test_a_large_loss_that_is_allowed_gives_the_small_model_everything():
    router = learn(answered(), max_loss=1.0)
    assert all(router.is_simple(asked(text)) for text in (*EASY, *HARD))


@pytest.mark.parametrize("allowed", [0.0, 0.02, 0.05, 0.1])
def test_no_more_turns_are_lost_than_allowed(allowed: float):
    samples = answered(easy_right=0.8)
    router = learn(samples, allowed)
    lost = sum(not each.small_right for each in samples if router.is_simple(each.messages))
    assert lost <= allowed * len(samples) + 0.02 * len(samples)


def test_what_the_large_model_cannot_answer_either_is_no_loss():
    samples = [Sample(each.messages, False, False) for each in answered()]
    assert learn(samples, max_loss=0.0).is_simple(asked("How far is the harbour"))


def test_a_small_model_that_is_never_right_answers_nothing():
    samples = [Sample(each.messages, False, True) for each in answered()]
    router = learn(samples, max_loss=0.0)
    assert not any(router.is_simple(asked(text)) for text in (*EASY, *HARD))


def test_too_few_turns_teach_nothing():
    with pytest.raises(ValueError, match="3 turns"):
        learn(answered()[:3], 0.01)


def test_a_file_holds_what_was_learned():
    router = learn(answered(), 0.0)
    read = read_router(router.to_json())
    for text in (*EASY, *HARD):
        assert read.probability(asked(text)) == pytest.approx(router.probability(asked(text)), abs=0.01)
        assert read.is_simple(asked(text)) == router.is_simple(asked(text))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"threshold": 1, "bias": 0, "weights": {"99999": 1}}'])
def test_another_file_is_refused(text: str):
    with pytest.raises(ValueError, match="voiceagent bench routing"):
        read_router(text)


def test_a_learned_turn_goes_to_the_small_model_within_the_rules():
    rules = Rules((), 40, 400, tools=False, learned=learn(answered(), 0.0))
    assert route(Request(asked("Thank you very much sir")), rules, overloaded=False) == "small"
    assert route(Request(asked("Who built the tower")), rules, overloaded=False) == "large"
    assert route(Request(asked("Thank you very much sir " * 3)), rules, overloaded=False) == "large"


def test_the_probability_is_one():
    router: LearnedRouter = learn(answered(), 0.0)
    assert all(0 <= router.probability(asked(text)) <= 1 for text in ("", *EASY, *HARD))
