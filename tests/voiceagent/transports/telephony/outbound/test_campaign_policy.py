"""Pacing, retries and calling hours of a campaign, as properties of simulated ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, time
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from voiceagent.transports.telephony.outbound.policies.campaign import (
    DAYS,
    CallingHours,
    Campaign,
    Entry,
    EntryState,
    Pacing,
    to_campaign,
    to_document,
)
from voiceagent.transports.telephony.outbound.policies.progress import Status

ALWAYS = CallingHours("UTC", time(0, 0), time(23, 59, 59, 999_999), DAYS)
ZONES = ("UTC", "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Pacific/Auckland", "America/St_Johns")
ENDS = (Status.COMPLETED, Status.BUSY, Status.NO_ANSWER, Status.FAILED)
STEP_S = 7.0


@dataclass
class Simulated:
    """A campaign that is run to its end. begun: time and index of each call."""

    campaign: Campaign
    status: Callable[[int, int], Status]
    call_s: float
    begun: list[tuple[float, int]] = field(default_factory=list)
    max_at_once: int = 0
    doubled: bool = False

    def run(self, from_s: float, steps: int) -> None:
        """Advance in steps of `STEP_S`."""
        ends: dict[int, float] = {}
        for step in range(steps):
            now_s = from_s + step * STEP_S
            for index in [index for index, end_s in ends.items() if end_s <= now_s]:
                del ends[index]
                status = self.status(index, self.campaign.entries[index].attempts)
                self.campaign = self.campaign.with_result(index, status, now_s)
            index = self.campaign.next_call(now_s)
            if index is not None:
                called = {self.campaign.entries[other].to for other in ends}
                self.doubled = self.doubled or self.campaign.entries[index].to in called
                self.campaign = self.campaign.with_call(index, f"call_{len(self.begun)}", now_s)
                self.begun.append((now_s, index))
                ends[index] = now_s + self.call_s
                self.max_at_once = max(self.max_at_once, len(ends))


@st.composite
def simulated(draw: st.DrawFn, hours: CallingHours = ALWAYS) -> Simulated:
    pacing = Pacing(
        hours,
        draw(st.floats(0.5, 20)),
        draw(st.integers(1, 4)),
        draw(st.integers(1, 3)),
        draw(st.floats(60, 600)),
    )
    people = draw(st.lists(st.integers(0, 5), min_size=1, max_size=6))
    outcomes = draw(st.lists(st.sampled_from(ENDS), min_size=4, max_size=4))
    entries = tuple(Entry(f"+1555010000{number}") for number in people)
    call_s = draw(st.floats(1, 120))
    return Simulated(Campaign("camp_1", pacing, entries), lambda index, n: outcomes[(index + n) % 4], call_s)


@settings(max_examples=60)
@given(one=simulated())
def test_pacing_concurrency_and_attempts_are_kept_and_all_are_called(one: Simulated) -> None:
    one.run(0.0, 1_500)
    pacing = one.campaign.pacing
    times = [at_s for at_s, _ in one.begun]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert all(gap_s >= 60 / pacing.calls_per_minute - 1e-6 for gap_s in gaps)
    assert one.max_at_once <= pacing.at_once
    assert not one.doubled, "nobody is called twice at the same time"
    counts = Counter(index for _, index in one.begun)
    assert all(counts[index] <= pacing.attempts for index in counts)
    assert one.campaign.is_over
    for index, entry in enumerate(one.campaign.entries):
        assert entry.attempts == counts[index] >= 1
        reached = entry.state is EntryState.REACHED
        assert reached or (entry.state is EntryState.ABANDONED and entry.attempts == pacing.attempts)


@settings(max_examples=60)
@given(one=simulated())
def test_nobody_is_called_again_who_was_reached_or_before_the_wait(one: Simulated) -> None:
    one.run(0.0, 1_500)
    for index in range(len(one.campaign.entries)):
        times = [at_s for at_s, called in one.begun if called == index]
        for number, (earlier, later) in enumerate(pairwise(times), 1):
            assert one.status(index, number) is not Status.COMPLETED
            assert later - earlier >= one.campaign.pacing.retry_s


@settings(max_examples=30)
@given(one=simulated(), steps=st.integers(0, 200))
def test_a_stopped_campaign_begins_nothing_and_ends_with_its_running_calls(
    one: Simulated, steps: int
) -> None:
    one.run(0.0, steps)
    running = sum(entry.state is EntryState.CALLING for entry in one.campaign.entries)
    stopped = one.campaign.stop()
    assert stopped.next_call(1e9) is None
    for index, entry in enumerate(stopped.entries):
        if entry.state is EntryState.CALLING:
            stopped = stopped.with_result(index, Status.BUSY, 1e9)
            running -= 1
    assert running == 0
    assert stopped.is_over
    assert stopped.next_call(2e9) is None


hours = st.builds(
    lambda zone, begin, length, days: CallingHours(
        zone, time(begin), time(min(23, begin + length)), tuple(days)
    ),
    st.sampled_from(ZONES),
    st.integers(0, 21),
    st.integers(2, 12),
    st.lists(st.sampled_from(DAYS), min_size=1, max_size=7, unique=True),
)
seconds = st.floats(1_700_000_000, 1_800_000_000)


@given(hours=hours, now_s=seconds, one=simulated())
def test_nobody_is_called_outside_the_calling_hours(
    hours: CallingHours, now_s: float, one: Simulated
) -> None:
    one.campaign = to_campaign(
        {**to_document(one.campaign), "pacing": to_document(_with_hours(one, hours))["pacing"]}
    )
    one.run(now_s, 300)
    for at_s, _ in one.begun:
        local = datetime.fromtimestamp(at_s, ZoneInfo(hours.timezone))
        assert DAYS[local.weekday()] in hours.days
        assert hours.begin <= local.time() < hours.end


def _with_hours(one: Simulated, hours: CallingHours) -> Campaign:
    pacing = one.campaign.pacing
    changed = Pacing(hours, pacing.calls_per_minute, pacing.at_once, pacing.attempts, pacing.retry_s)
    return Campaign("camp_1", changed, one.campaign.entries)


@given(one=simulated(hours=CallingHours("Europe/Berlin", time(9, 30), time(18), ("mon", "sat"))))
def test_a_campaign_is_the_same_after_it_was_stored(one: Simulated) -> None:
    one.run(1_700_000_000.0, 20)
    assert to_campaign(to_document(one.campaign)) == one.campaign
