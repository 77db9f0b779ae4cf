"""Responses that reach their limit."""

from __future__ import annotations

import pytest
from call_services import call_services
from call_settings import call_settings
from fake_client import FakeClient
from scripted_llm import ScriptedLlm
from typed_call import Mouth

from llmcore.engine import Delta, Usage
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import MessageItem
from voiceagent.conversation.settings import Modality
from voiceagent.session.session import Session

LIMIT = Delta(finish_reason="length", usage=Usage(3, 0, 9))


async def response_of(
    script: list[object], modality: Modality = "audio"
) -> tuple[list[str], str, notify.NotifyResponseEnded]:
    """Return what is spoken and shown of one response, and its end."""
    mouth, client = Mouth(), FakeClient()
    settings = call_settings(output_modality=modality)
    session = Session("call", await call_services(mouth, ScriptedLlm(script), mouth), settings, client)
    mouth.texts.clear()  # without the set phrases
    session.handle(ev.ItemCreated(MessageItem("q1", "user", "tell me a story")))
    session.handle(ev.ResponseRequested())
    await client.until(lambda: client.of(notify.NotifyResponseEnded))
    await session.close("test over")
    shown = "".join(text.text for text in client.of(notify.NotifyResponseText))
    return mouth.texts, shown, client.of(notify.NotifyResponseEnded)[0]


async def test_a_spoken_response_at_its_limit_ends_with_its_last_whole_sentence() -> None:
    spoken, shown, end = await response_of(["A fox went for a walk. ", "It saw a rab", LIMIT])
    assert spoken == ["A fox went for a walk."]
    assert shown.strip() == "A fox went for a walk."
    assert (end.status, end.reason) == ("incomplete", "max_output_tokens")


async def test_a_sentence_that_ends_at_the_limit_is_spoken() -> None:
    spoken, _, _ = await response_of(["A fox went for a walk. ", "It saw a rabbit.", LIMIT])
    assert spoken == ["A fox went for a walk.", "It saw a rabbit."]


@pytest.mark.parametrize("text", ["Once upon a time a fox went", "Sure, once upon a time a fox went"])
async def test_half_a_sentence_is_spoken_where_there_is_no_whole_one(text: str) -> None:
    spoken, _, _ = await response_of([text, LIMIT])
    assert " ".join(spoken) == text


async def test_a_written_response_has_all_text_up_to_its_limit() -> None:
    _, shown, _ = await response_of(["A fox went for a walk. ", "It saw a rab", LIMIT], "text")
    assert shown == "A fox went for a walk. It saw a rab"
