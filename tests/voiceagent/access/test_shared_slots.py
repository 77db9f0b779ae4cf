from __future__ import annotations

import multiprocessing
import tempfile

import pytest

from voiceagent.access.shared_slots import SharedPlaces
from voiceagent.access.slots import OwnPlaces

MOST = 50


@pytest.fixture
def shared():
    """Makes the places of a slot of two."""
    with tempfile.TemporaryFile() as file:
        file.truncate(SharedPlaces.size(2))
        yield lambda slot, most=MOST: SharedPlaces(file.fileno(), most, 2, slot)


def test_a_place_that_one_worker_takes_is_taken_for_all(shared):
    first, second = shared(0, 1), shared(1, 1)
    assert first.take()
    assert not second.take()
    assert (second.taken, second.each) == (1, [1, 0])
    first.leave()
    assert second.take()


def test_the_places_of_a_worker_that_died_are_free_again(shared):
    first, second = shared(0, 1), shared(1, 1)
    assert first.take()
    second.clear(0)
    assert second.take()


def test_workers_that_take_places_at_the_same_time_never_take_too_many(shared):
    context = multiprocessing.get_context("fork")
    took = context.Queue()

    def take(places: SharedPlaces) -> None:
        took.put(sum(places.take() for _ in range(MOST)))

    workers = [context.Process(target=take, args=(shared(slot),)) for slot in range(2)]
    for worker in workers:
        worker.start()
    assert sum(took.get(timeout=60) for _ in workers) == MOST
    for worker in workers:
        worker.join()


def test_a_server_alone_counts_its_own_places():
    places = OwnPlaces(1)
    assert places.take()
    assert not places.take()
    places.leave()
    assert places.take()
