"""Keys for clients end on their own, and are as good as none before they are made and after they end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from voiceagent.access.client_secrets import ClientSecrets


@given(st.floats(1, 7200), st.floats(0, 8000))
def test_a_secret_is_found_until_it_ends(lifetime_s: float, later_s: float) -> None:
    secrets = ClientSecrets(10)
    secret = secrets.mint({"type": "realtime"}, lifetime_s, 1000.0, 1.8e9)
    found = secrets.find(secret.value, 1000.0 + later_s)
    assert (found == secret) == (1000.0 + later_s < secret.ends_s)
    assert secret.expires_s == 1.8e9 + lifetime_s


def test_no_two_secrets_are_alike_and_none_is_guessed() -> None:
    secrets = ClientSecrets(100)
    made = {secrets.mint({}, 60, 0.0, 1.8e9).value for _ in range(100)}
    assert len(made) == 100
    assert all(value.startswith("ek_") and len(value) > 30 for value in made)
    for guess in (None, "", "ek_", "ek_0", next(iter(made))[:-1]):
        assert secrets.find(guess, 1.0) is None


def test_secrets_that_ended_are_forgotten_and_too_many_push_the_oldest_out() -> None:
    secrets = ClientSecrets(3)
    ended = secrets.mint({}, 1, 0.0, 1.8e9)
    kept = [secrets.mint({}, 100, 2.0 + number, 1.8e9) for number in range(4)]
    assert secrets.find(ended.value, 0.5) is None
    assert [secrets.find(secret.value, 10.0) is not None for secret in kept] == [False, True, True, True]
