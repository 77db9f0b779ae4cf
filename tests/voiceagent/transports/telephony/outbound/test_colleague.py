"""A colleague is found behind whatever answers, and briefed."""

from __future__ import annotations

import asyncio

import pytest

from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.transports.telephony.outbound import colleague as colleague_module
from voiceagent.transports.telephony.outbound import greeting_listener
from voiceagent.transports.telephony.outbound.colleague import BRIEFED, Colleague

BRIEF = ev.SpeechRequested("Ann calls about order 17.", interruptible=False)
SCREENER = "Please state your name and the reason for your call."
NEVER_S = 1_000.0


class Other:
    """The other end, and the events that are posted to the call."""

    def __init__(self) -> None:
        self.posted: list[ev.AgentEvent] = []
        self.colleague = Colleague("call_1", BRIEF.text, self.posted.append)
        self.briefing = asyncio.create_task(self.colleague.brief())

    async def say(self, words: str, length_s: float = 1.0) -> None:
        for one in (
            notify.NotifySpeechStarted("item", 0.0),
            notify.NotifySpeechStopped("item", length_s),
            notify.NotifyTranscript("item", words, True, length_s),
        ):
            self.colleague.on_notification(one)
        for _ in range(5):
            await asyncio.sleep(0)

    def hear_agent(self) -> None:
        self.colleague.on_notification(notify.NotifyResponseStarted("resp_1", "audio"))


@pytest.fixture(name="silence_never_decides", autouse=True)
def silence_never_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(greeting_listener, "NO_WORDS_S", NEVER_S)
    monkeypatch.setattr(greeting_listener, "MORE_WORDS_S", NEVER_S)


async def test_person_is_briefed() -> None:
    other = Other()
    await asyncio.sleep(0)
    await other.say("Hello?")
    assert other.posted == [BRIEF, ev.HangUpRequested(BRIEFED)]
    other.hear_agent()
    assert await other.briefing is None


async def test_voice_over_which_the_brief_cannot_begin_is_a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(colleague_module, "GREETING_S", 0.05)
    other = Other()
    await asyncio.sleep(0)
    await other.say("Hello?")
    assert await other.briefing == "voicemail"


async def test_screener_gets_the_brief_and_the_person_behind_it_too() -> None:
    other = Other()
    await asyncio.sleep(0)
    await other.say(SCREENER)
    assert other.posted == [BRIEF]
    for words in ("Thanks, please stay on the line.", "This call is being screened.", "One moment."):
        await other.say(words)
    assert other.posted == [BRIEF], "the screener asks for patience"
    await other.say("Hello, who's this?")
    assert other.posted == [BRIEF, BRIEF, ev.HangUpRequested(BRIEFED)]
    other.hear_agent()
    assert await other.briefing is None


async def test_silence_of_a_screener_that_asked_for_patience_is_no_person(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(greeting_listener, "MORE_WORDS_S", 0.01)
    other = Other()
    await asyncio.sleep(0)
    await other.say(SCREENER)
    await other.say("Please hold.")
    await asyncio.sleep(0.05)
    assert other.posted == [BRIEF]
    other.colleague.close()
    assert await other.briefing is None


async def test_screener_that_takes_a_message_is_a_voicemail() -> None:
    other = Other()
    await asyncio.sleep(0)
    await other.say(SCREENER)
    await other.say("They are not available. Please leave a message.", 4.0)
    assert await other.briefing == "voicemail"


async def test_nobody_behind_a_screener_is_a_voicemail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(colleague_module, "SCREENED_S", 0.05)
    other = Other()
    await asyncio.sleep(0)
    await other.say(SCREENER)
    assert await other.briefing == "voicemail"


async def test_end_of_the_call_ends_the_wait() -> None:
    other = Other()
    await asyncio.sleep(0)
    other.colleague.close()
    assert await other.briefing is None
    assert other.posted == []
