"""Stored prompts: the configuration's texts as a session's instructions."""

from __future__ import annotations

from typing import Any

import pytest
from call_settings import call_settings
from session_updates import updated

from voiceagent.transports.realtime.protocol.errors import RequestError
from voiceagent.transports.realtime.protocol.shown_session import show_session

PROMPTS = {
    "pmpt_hotel": {"1": "Old.", "2": "You are the clerk of {{hotel}} in {{ city }}. {{hotel}} has a pool."},
    "pmpt_plain": {"1": "Be brief."},
}
SETTINGS = call_settings(prompts=PROMPTS)
HOTEL = {"hotel": "Miramar", "city": {"type": "input_text", "text": "Bonn"}}


def instructions(**prompt: Any) -> str:
    return updated(SETTINGS, prompt=prompt).instructions


def test_a_prompt_becomes_the_instructions_with_its_variables() -> None:
    expected = "You are the clerk of Miramar in Bonn. Miramar has a pool."
    assert instructions(id="pmpt_hotel", variables=HOTEL) == expected
    assert instructions(id="pmpt_hotel", version="2", variables=HOTEL) == expected


def test_a_version_is_the_one_that_is_named() -> None:
    assert instructions(id="pmpt_hotel", version="1") == "Old."


def test_a_value_that_looks_like_a_variable_is_a_text() -> None:
    variables = {"hotel": "{{city}}", "city": "Bonn"}
    assert "the clerk of {{city}} in Bonn" in instructions(id="pmpt_hotel", variables=variables)


def test_instructions_beside_a_prompt_replace_its_text() -> None:
    prompt = {"id": "pmpt_plain"}
    assert updated(SETTINGS, prompt=prompt, instructions="Be kind.").instructions == "Be kind."


def test_a_prompt_is_shown_as_it_was_sent_until_null_removes_it() -> None:
    settings = updated(SETTINGS, prompt={"id": "pmpt_plain"})
    assert show_session("sess_1", settings)["prompt"] == {"id": "pmpt_plain"}
    removed = updated(settings, prompt=None)
    assert show_session("sess_1", removed)["prompt"] is None


@pytest.mark.parametrize(
    ("prompt", "param", "message"),
    [
        ({"id": "pmpt_x"}, "session.prompt.id", "'pmpt_x'; allowed: pmpt_hotel, pmpt_plain"),
        ({"id": "pmpt_hotel", "version": "3"}, "session.prompt.version", "'3'; allowed: 1, 2"),
        (
            {"id": "pmpt_plain", "variables": {"a": "b"}},
            "session.prompt.variables",
            "'a'; allowed: none",
        ),
        (
            {"id": "pmpt_hotel", "variables": {"hotel": "M", "towel": "N", "city": "B"}},
            "session.prompt.variables",
            "'towel'; allowed: hotel, city",
        ),
        (
            {"id": "pmpt_hotel", "variables": {"hotel": "M"}},
            "session.prompt.variables",
            "lacks 'city', which prompt 'pmpt_hotel' needs",
        ),
    ],
)
def test_what_does_not_exist_is_refused_with_what_does(
    prompt: dict[str, Any], param: str, message: str
) -> None:
    with pytest.raises(RequestError) as caught:
        updated(SETTINGS, prompt=prompt)
    assert caught.value.param == param
    assert message in caught.value.message
