"""The text that the synthesizer of a running call gets while the LLM streams tokens."""

from __future__ import annotations

import re

import pytest
from call_services import call_services
from call_settings import call_settings
from fake_client import FakeClient
from scripted_llm import ScriptedLlm
from spoken_lists import Labelled, labelled
from typed_call import Mouth, ask

from voiceagent.conversation.agent_config import AgentConfig
from voiceagent.session.session import Session

_TOKEN = re.compile(r"\s?[^\W\d_]{1,6}|\s?\d{1,3}|\s?\W|\s?_")
"""Pieces as tokenizers make them: a space belongs to the text after it, and numbers are cut after three
figures.
"""


@pytest.mark.parametrize("language", ["en", "de", "es"])
async def test_a_call_speaks_what_is_written_as_people_say_it(language: str) -> None:
    rows = [row for row in labelled("spoken_kinds.tsv") if row.language == language]
    spoken = await spoken_in_a_call(rows, language)
    assert spoken == [row.spoken.casefold() for row in rows]


async def spoken_in_a_call(rows: list[Labelled], language: str) -> list[str]:
    """Return the texts of a call's responses as the synthesizer gets them."""
    mouth, client = Mouth(), FakeClient()
    llm = ScriptedLlm(*([*_TOKEN.findall(row.text)] for row in rows))
    agent = AgentConfig(language=language, filler="")
    shared = await call_services(mouth, llm, mouth, agent=agent)
    session = Session("call", shared, call_settings(), client)
    spoken = []
    for number, _ in enumerate(rows):
        mouth.texts.clear()
        await ask(session, client, number, "and now?")
        spoken.append(" ".join(mouth.texts).casefold())
    await session.close("test over")
    return spoken
