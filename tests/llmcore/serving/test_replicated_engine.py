from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace

import pytest
from scripted_llm import HANG, ScriptedLlm

from llmcore.engine import BusyError, Delta, LlmError, Message, Request, RequestError, ToolCall
from llmcore.engine_load import EngineLoad
from llmcore.policies.circuit_breaker import Backoff
from llmcore.policies.session_affinity import Choice, SessionAffinity
from llmcore.serving import replicated_engine
from llmcore.serving.replicated_engine import ReplicatedLlm

ASK = Request((Message("user", "hello?"),), caller="call 1")
DIED = LlmError("the replica died")


class Replica(ScriptedLlm):
    """A replica that is not there while `away`."""

    away = False

    def load(self) -> EngineLoad:
        return EngineLoad(self.running)

    async def start(self) -> None:
        await super().start()
        await self.reach()

    async def reach(self) -> None:
        if self.away:
            raise LlmError("nobody there")


class World:
    """Two replicas; `home` has the session of ASK."""

    def __init__(self, home: list[object], other: list[object], tries: int = 3) -> None:
        names = ("a", "b")
        first = SessionAffinity(names, 4).choose(ASK.caller, set(names), 0.0)
        assert first is not None
        self.home, self.other = Replica(home), Replica(other)
        replicas = {name: self.home if name == first.replica else self.other for name in names}
        self.home_name = first.replica
        self.choices: list[Choice] = []
        self.llm = ReplicatedLlm(replicas, SessionAffinity(names, 4), tries, self.choices.append, lambda: 0.0)

    @property
    def reasons(self) -> list[str]:
        return [choice.reason for choice in self.choices]


async def ask(llm: ReplicatedLlm, request: Request = ASK) -> list[Delta]:
    async with aclosing(llm.generate(request)) as deltas:
        return [delta async for delta in deltas]


def text(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas)


@pytest.fixture(autouse=True)
def without_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replicated_engine, "PROBES", Backoff(0.0, 0.0))


async def test_all_requests_of_a_call_go_to_one_replica() -> None:
    both = World(["hello"], ["from the other"])
    await both.llm.prefill(ASK)
    await ask(both.llm)
    await ask(both.llm, replace(ASK, priority_class="summary"))
    assert (len(both.home.requests), len(both.home.prefills), both.other.requests) == (2, 1, [])
    assert both.reasons == ["placed", "kept", "kept"]


async def test_a_reply_that_fails_before_its_first_word_comes_from_another() -> None:
    both = World([DIED], ["from the other"])
    both.home.away = True
    assert text(await ask(both.llm)) == "from the other"
    assert text(await ask(both.llm)) == "from the other"
    assert both.reasons == ["placed", "moved", "kept"]
    await both.llm.close()


async def test_a_broken_reply_goes_on_where_it_stopped() -> None:
    both = World(["Breakfast is ", "at se", DIED], ["Break", "fast is at", " seven."])
    assert text(await ask(both.llm)) == "Breakfast is at seven."
    await both.llm.close()


@pytest.mark.parametrize("other", [["Breakfast was "], ["Break"]])
async def test_a_reply_that_another_begins_otherwise_fails(other: list[object]) -> None:
    both = World(["Breakfast is ", DIED], other)
    with pytest.raises(LlmError, match="differs from the part already sent"):
        await ask(both.llm)
    assert both.llm.lost == (both.home_name,)
    await both.llm.close()


async def test_a_broken_reply_that_was_drawn_at_random_fails() -> None:
    both = World(["Break", DIED], ["Breakfast"])
    with pytest.raises(LlmError, match="died"):
        await ask(both.llm, replace(ASK, temperature=0.7))
    await both.llm.close()


async def test_a_tool_is_not_called_twice() -> None:
    call = Delta(tool_calls=(ToolCall("1", "open_door", "{}"),))
    both = World([call, DIED], [call])
    with pytest.raises(LlmError, match="died"):
        await ask(both.llm)
    await both.llm.close()


async def test_a_busy_replica_keeps_its_sessions() -> None:
    both = World(["hello"], ["from the other"])
    both.home.scripts = [[BusyError("full")], ["hello"]]
    assert text(await ask(both.llm)) == "from the other"
    assert text(await ask(both.llm)) == "hello"
    assert both.reasons == ["placed", "spilled", "kept"]
    assert both.llm.lost == ()


async def test_a_full_replica_sends_a_request_on_to_where_its_instructions_were_read() -> None:
    names, agent = ("a", "b", "c"), Message("system", "You are the receptionist of a hotel. " * 40)
    affinity = SessionAffinity(names, 1)
    replicas = {name: Replica(["hello"]) for name in names}
    llm = ReplicatedLlm(replicas, affinity, 3, lambda choice: None, lambda: 0.0)
    home = affinity.choose(ASK.caller, set(names), 0.0)
    along_the_ring = affinity.choose(ASK.caller, set(names), 0.0, avoid={home.replica} if home else set())
    assert home is not None and along_the_ring is not None
    [other] = set(names) - {home.replica, along_the_ring.replica}
    callers = (f"call {index}" for index in range(2, 99))
    colleague = next(
        caller
        for caller in callers
        if SessionAffinity(names, 1).choose(caller, {*names}, 0.0) == (other, "placed")
    )
    await ask(llm, Request((agent, Message("user", "are you open?")), caller=colleague))
    affinity.open_request(home.replica)
    await ask(llm, Request((agent, *ASK.messages), caller=ASK.caller))
    assert len(replicas[other].requests) == 2


async def test_a_request_at_fault_goes_to_no_other() -> None:
    both = World([RequestError("too long")], ["from the other"])
    with pytest.raises(RequestError):
        await ask(both.llm)
    assert (both.other.requests, both.llm.lost) == ([], ())


async def test_no_more_replicas_are_tried_than_asked_for() -> None:
    both = World([DIED], ["from the other"], tries=1)
    with pytest.raises(LlmError, match="died"):
        await ask(both.llm)
    await both.llm.close()


async def test_a_lost_replica_gets_new_calls_when_it_answers_again() -> None:
    both = World([DIED], ["from the other"])
    both.home.away = True
    await ask(both.llm)
    both.home.away = False
    both.home.scripts = [["hello"]]
    while both.llm.lost:  # noqa: ASYNC110 - the engine tells nobody
        await asyncio.sleep(0)
    answers = {text(await ask(both.llm, replace(ASK, caller=f"call {index}"))) for index in range(9)}
    assert answers == {"hello", "from the other"}


async def test_where_all_are_lost_the_error_names_them() -> None:
    both = World([DIED], [DIED])
    both.home.away = both.other.away = True
    with pytest.raises(LlmError, match="died"):
        await ask(both.llm)
    with pytest.raises(LlmError, match=r"no replica answers: [ab], [ab]"):
        await ask(both.llm)
    await both.llm.close()


async def test_it_starts_without_a_replica_that_is_away() -> None:
    both = World(["hello"], ["from the other"])
    both.home.away = True
    await both.llm.start()
    assert both.llm.lost == (both.home_name,)
    assert text(await ask(both.llm)) == "from the other"
    await both.llm.close()
    assert both.home.closed == both.other.closed == 1


async def test_it_does_not_start_where_none_is_there() -> None:
    both = World(["hello"], ["hello"])
    both.home.away = both.other.away = True
    with pytest.raises(LlmError, match="nobody there"):
        await both.llm.start()


async def test_closing_in_mid_reply_stops_the_replica() -> None:
    both = World(["hello", HANG], ["from the other"])
    deltas = both.llm.generate(ASK)
    await anext(deltas)
    assert both.llm.load().running == 1
    await deltas.aclose()
    assert both.llm.load().running == 0
    assert both.llm.lost == ()
