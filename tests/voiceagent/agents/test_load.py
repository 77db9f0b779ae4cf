"""Choice of a server's agent for a call."""

from __future__ import annotations

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from voiceagent.agents import Agent
from voiceagent.agents.load import beginning_of, load_agents
from voiceagent.agents.running import RunningAgent
from voiceagent.conversation.agent_config import AgentConfig
from voiceagent.session.call import CallRefused
from voiceagent.validation.errors import ConfigError

SOURCE = Path(__file__).parents[2] / "e2e" / "served.toml"  # beside clerk.py
OTHERS = {"polite": "clerk:Polite", "clerk": "clerk:Clerk"}


def table(**more: object) -> AgentConfig:
    return AgentConfig(alternatives=OTHERS, **more)  # type: ignore[arg-type]


def test_without_agents_in_code_the_instructions_are_all_there_is() -> None:
    agents = load_agents(AgentConfig(instructions="Be brief."), "Be brief.", SOURCE)
    assert agents.of_model("polite") is None
    assert agents.of_call({"agent": "polite"}) is None


def test_a_model_names_an_agent_and_others_are_the_usual() -> None:
    agents = load_agents(table(python="clerk:Clerk"), "", SOURCE)
    assert [getattr(agents.of_model(name), "__name__", "") for name in ("polite", "gpt")] == [
        "Polite",
        "Clerk",
    ]


@pytest.mark.parametrize(
    ("parameters", "agent"),
    [
        ({"agent": "polite"}, "Polite"),
        ({"to": "+15550100"}, "Clerk"),
        ({"SipHeader_X-Department": "sales"}, "Polite"),
        ({"agent": "polite", "to": "+15550100"}, "Polite"),
        ({"to": "+1999"}, None),
    ],
)
def test_path_number_or_header_name_a_phone_calls_agent(
    parameters: dict[str, str], agent: str | None
) -> None:
    chosen_by = {"to": {"+15550100": "clerk"}, "SipHeader_X-Department": {"sales": "polite"}}
    found = load_agents(table(python="clerk:Polite", route_by=chosen_by), "", SOURCE).of_call(parameters)
    assert (None if found is None else type(found).__name__) == agent


def test_others_stand_beside_plain_instructions() -> None:
    usual = load_agents(table(greeting="Hi."), "Be brief.", SOURCE).of_model("gpt")
    assert usual is not None
    assert (usual().prompt(), usual.greeting) == ("Be brief.", "Hi.")


def test_a_choice_of_an_agent_that_there_is_not_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"route_by.to.1 = 'sales': allowed: of agent.alternatives: polite"):
        load_agents(table(route_by={"to": {"1": "sales"}}), "", SOURCE)


def test_calls_begin_with_the_prompt_and_the_tools_of_the_agent_where_there_is_one() -> None:
    prompt, tools = beginning_of(AgentConfig(python="clerk:Clerk"), "", SOURCE)
    assert (prompt, [tool.name for tool in tools]) == ("You take orders. So far: none.", ["order"])
    assert beginning_of(AgentConfig(instructions="Be brief."), "Be brief.", SOURCE) == ("Be brief.", ())


@pytest.mark.parametrize(("others", "allowed"), [(OTHERS, "polite, clerk"), ({}, "none, as there is no ag")])
def test_a_name_at_the_end_of_a_lines_url_that_no_agent_has_is_refused(
    others: dict[str, str], allowed: str
) -> None:
    agents = load_agents(AgentConfig(alternatives=others), "", SOURCE)
    with pytest.raises(CallRefused, match=f"no agent is called 'polte'; allowed: {allowed}") as refused:
        agents.check_name("polte")
    assert refused.value.status == 404


def test_a_parameter_that_names_no_agent_is_told_of_and_the_usual_one_answers() -> None:
    with capture_logs() as told:
        RunningAgent("call", Agent).identify({"agent": "shpo"})
    assert [(line["event"], line["named"], line["answers"]) for line in told] == [
        ("no_such_agent", "shpo", "Agent")
    ]


def test_instructions_may_ask_what_is_known_of_the_call_before_anybody_calls() -> None:
    prompt, _ = beginning_of(AgentConfig(python="clerk:Remembers"), "", SOURCE)
    assert prompt == "The caller: somebody new. Said so far: 0."


def test_a_greeting_that_fails_where_nothing_is_known_of_the_caller_is_refused_at_the_start() -> None:
    with pytest.raises(ConfigError, match=r"agent.python = 'clerk:Greets': KeyError: 'from'"):
        load_agents(AgentConfig(python="clerk:Greets"), "", SOURCE)


def test_an_agents_file_that_ends_the_program_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "script_of_an_agent.py").write_text("import sys\n\nprint('done')\nsys.exit()\n")
    fault = (
        r"agent.python = 'script_of_an_agent:Any': .*script_of_an_agent ends the program as it is imported"
    )
    with pytest.raises(ConfigError, match=fault):
        load_agents(AgentConfig(python="script_of_an_agent:Any"), "", tmp_path / "served.toml")
