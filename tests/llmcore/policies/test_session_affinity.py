from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.policies.session_affinity import BALANCE, IDLE_S, Choice, SessionAffinity

NAMES = [f"http://{index}/v1" for index in range(8)]
KEYS = st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=120, unique=True)
COUNTS = st.integers(1, len(NAMES))


def affinity(count: int, max_running: int = 4) -> tuple[SessionAffinity, set[str]]:
    return SessionAffinity(NAMES[:count], max_running), set(NAMES[:count])


def placed(policy: SessionAffinity, keys: list[str], usable: set[str]) -> dict[str, str]:
    choices = {key: policy.choose(key, usable, 0.0) for key in keys}
    assert None not in choices.values()
    return {key: choice.replica for key, choice in choices.items() if choice is not None}


@given(KEYS, COUNTS)
def test_a_session_stays_where_it_was_placed(keys: list[str], count: int) -> None:
    policy, usable = affinity(count)
    homes = placed(policy, keys, usable)
    for key in reversed(keys):
        assert policy.choose(key, usable, 1.0) == Choice(homes[key], "kept")


@given(KEYS, COUNTS)
def test_no_replica_has_many_more_sessions_than_the_mean(keys: list[str], count: int) -> None:
    policy, usable = affinity(count)
    counts = Counter(placed(policy, keys, usable).values())
    assert max(counts.values()) <= math.ceil(BALANCE * len(keys) / count)
    assert all(policy.sessions(name) == counts[name] for name in usable)


@given(KEYS, st.integers(2, len(NAMES)))
def test_a_lost_replica_moves_its_own_sessions_only(keys: list[str], count: int) -> None:
    policy, usable = affinity(count)
    homes = placed(policy, keys, usable)
    lost = homes[keys[0]]
    for key in keys:
        choice = policy.choose(key, usable - {lost}, 1.0)
        assert choice is not None
        assert choice.replica != lost
        assert choice.reason == ("moved" if homes[key] == lost else "kept")


@given(KEYS, st.integers(2, len(NAMES)))
def test_sessions_that_moved_stay_when_the_replica_is_back(keys: list[str], count: int) -> None:
    policy, usable = affinity(count)
    lost = placed(policy, keys, usable)[keys[0]]
    moved = placed(policy, keys, usable - {lost})
    assert {key: policy.choose(key, usable, 2.0) for key in keys} == {
        key: Choice(moved[key], "kept") for key in keys
    }


@given(st.text(min_size=1), st.integers(2, len(NAMES)), st.integers(1, 5))
def test_a_request_spills_while_its_replica_is_full(key: str, count: int, max_running: int) -> None:
    policy, usable = affinity(count, max_running)
    home = placed(policy, [key], usable)[key]
    for _ in range(max_running):
        policy.open_request(home)
    spilled = policy.choose(key, usable, 1.0)
    assert spilled is not None
    assert (spilled.reason, spilled.replica == home) == ("spilled", False)
    assert policy.choose(key, usable, 1.0) == spilled  # what it reads there is found there again
    policy.close_request(home)
    assert policy.choose(key, usable, 1.0) == Choice(home, "kept")


def test_where_all_are_full_a_request_stays() -> None:
    policy, usable = affinity(2, 1)
    home = placed(policy, ["call"], usable)["call"]
    for name in usable:
        policy.open_request(name)
    assert policy.choose("call", usable, 0.0) == Choice(home, "kept")


def test_a_replica_that_refused_is_asked_last() -> None:
    policy, usable = affinity(2)
    home = placed(policy, ["call"], usable)["call"]
    (other,) = usable - {home}
    assert policy.choose("call", usable, 0.0, avoid={home}) == Choice(other, "spilled")
    assert policy.choose("call", usable, 0.0) == Choice(home, "kept")
    assert policy.choose("call", usable, 0.0, avoid=usable) is None


def test_two_gateways_place_a_call_alike() -> None:
    keys = [f"call {index}" for index in range(8)]
    one, usable = affinity(8)
    other, _ = affinity(8)
    for key in keys:
        assert one.choose(key, usable, 0.0) == other.choose(key, usable, 0.0)


def test_a_session_that_is_idle_for_long_is_forgotten() -> None:
    policy, usable = affinity(2)
    home = placed(policy, ["call"], usable)["call"]
    policy.choose("other", usable, IDLE_S)
    assert sum(policy.sessions(name) for name in usable) == 1
    assert policy.choose("call", usable, IDLE_S) == Choice(home, "placed")


def test_what_is_nobodys_goes_where_least_is_open() -> None:
    policy, usable = affinity(2)
    policy.open_request(NAMES[0])
    assert policy.choose("", usable, 0.0) == Choice(NAMES[1], "placed")


@pytest.mark.parametrize("usable", [set(), {NAMES[0]}])
def test_only_usable_replicas_are_chosen(usable: set[str]) -> None:
    policy, _ = affinity(4)
    choice = policy.choose("call", usable, 0.0)
    assert (choice and {choice.replica}) == (usable or None)


def read(policy: SessionAffinity, replica: str, *prompts: list[int]) -> None:
    """A replica has read prompts, of which it had nothing."""
    for prompt in prompts:
        policy.record_read(replica, policy.open_request(replica, prompt), 0.0)
        policy.close_request(replica)


@given(
    st.text(min_size=1),
    st.lists(st.tuples(st.sampled_from(NAMES), st.integers(1, 5)), max_size=12),
    st.sets(st.sampled_from(NAMES), max_size=len(NAMES) - 2),
)
def test_a_request_spills_to_where_most_of_its_prompt_is_known_of_those_with_room(
    key: str, reads: list[tuple[str, int]], busy: set[str]
) -> None:
    policy, usable = affinity(len(NAMES), 1)
    prompt, known = [10, 11, 12, 13, 14], Counter[str]()
    home = placed(policy, [key], usable)[key]
    along_the_ring = policy.choose(key, usable, 0.0, avoid={home}, prompt=prompt)
    for name, blocks in reads:
        read(policy, name, prompt[:blocks])
        known[name] = max(known[name], blocks)
    for name in busy | {home}:
        policy.open_request(name)
    spilled = policy.choose(key, usable, 0.0, prompt=prompt)
    with_room = usable - busy - {home}
    assert spilled is not None and along_the_ring is not None
    if not with_room:
        assert spilled == Choice(home, "kept")
        return
    assert spilled.reason == "spilled" and spilled.replica in with_room
    assert known[spilled.replica] == max(known[name] for name in with_room)
    if not any(known[name] for name in with_room) and along_the_ring.replica in with_room:
        assert spilled == along_the_ring, "what none knows goes on along the ring"


def test_a_session_beyond_the_bound_is_placed_where_most_of_its_prompt_is_known() -> None:
    homes = {key: placed(affinity(3)[0], [key], set(NAMES[:3]))[key] for key in map(str, range(9))}
    first, second = [key for key in homes if homes[key] == homes["0"]][:2]
    places = set[str]()
    for knowing in set(NAMES[:3]) - {homes["0"]}:
        policy, usable = affinity(3)
        read(policy, knowing, [1, 2])
        assert placed(policy, [first], usable) == {first: homes["0"]}
        choice = policy.choose(second, usable, 0.0, prompt=[1, 2, 3])
        assert choice == Choice(knowing, "placed")
        places.add(placed(affinity(3)[0], [first, second], usable)[second])
    assert len(places) == 1, "without a prompt it is always the next along the ring"


def test_a_replica_that_was_lost_knows_nothing_when_it_is_back() -> None:
    policy, usable = affinity(4, 1)
    home = placed(policy, ["call"], usable)["call"]
    along_the_ring = policy.choose("call", usable, 0.0, avoid={home})
    knowing = next(name for name in usable - {home} if along_the_ring and name != along_the_ring.replica)
    read(policy, knowing, [1, 2])
    assert policy.choose("call", usable, 0.0, avoid={home}, prompt=[1, 2, 3]) == Choice(knowing, "spilled")
    policy.forget_replica(knowing)
    assert policy.choose("call", usable, 0.0, avoid={home}, prompt=[1, 2, 3]) == along_the_ring
