from __future__ import annotations

import numpy as np
import torch

from audio.adaptation.complete_turns import PauseExample
from audio.adaptation.completeness import BATCH, CompletenessNetwork, learn
from audio.recognizers.completeness import STATES, Completeness

HIDDEN = 12


def network() -> CompletenessNetwork:
    torch.manual_seed(3)
    made = CompletenessNetwork(torch.randn(HIDDEN), torch.rand(HIDDEN) + 0.5).eval()
    torch.nn.init.normal_(made.position)
    return made


def told(made: CompletenessNetwork, states: np.ndarray) -> float:
    """Of the last states of a sound, as it is taught with them."""
    rows, known = np.zeros((1, STATES, HIDDEN), np.float32), np.zeros((1, STATES, 1), np.float32)
    newest = states[-STATES:]
    rows[0, STATES - len(newest) :], known[0, STATES - len(newest) :] = newest, 1
    with torch.no_grad():
        return float(torch.sigmoid(made(torch.from_numpy(rows), torch.from_numpy(known)))[0])


def test_the_recognizer_hears_with_its_weights_what_the_network_was_taught() -> None:
    made = network()
    hears = Completeness(made.weights())
    for length in (1, 7, STATES, 3 * STATES):
        states = np.random.default_rng(length).standard_normal((length, HIDDEN)).astype(np.float32)
        assert abs(hears.probability(states) - told(made, states)) < 1e-5


def test_what_the_teacher_said_is_learned_from_the_states_that_tell_it() -> None:
    random = np.random.default_rng(0)
    examples = []
    for _ in range(20 * BATCH):
        states = random.standard_normal((random.integers(5, STATES + 1), HIDDEN))
        complete = float(random.random() < 0.5)
        states[-3:, 2] += 4 * complete - 2
        examples.append(PauseExample(states.astype(np.float16), complete))
    hears = Completeness(learn(examples).weights())
    right = [
        (hears.probability(one.states.astype(np.float32)) > 0.5) == (one.complete > 0.5) for one in examples
    ]
    assert np.mean(right) > 0.95
