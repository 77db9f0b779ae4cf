"""The conversation of a call whose words an upstream writes and speaks, and the events of an upstream."""

from __future__ import annotations

from dataclasses import replace

from call_settings import call_settings
from made_upstream import TONE, response

from llmcore.engine import Tool
from voiceagent.agents import Agent, tool
from voiceagent.conversation import events as ev
from voiceagent.conversation.history_room import HistoryLimits
from voiceagent.conversation.settings import AgentTool
from voiceagent.upstream.api import RealtimeApi
from voiceagent.upstream.conversation import UpstreamConversation
from voiceagent.upstream.messages import Action, Event, Send

TOOLS = (AgentTool(Tool("add", "Add.")), AgentTool(Tool("end", "End."), when_played=True))


class Shop(Agent):
    """An agent with two tools. told: what was said to it, and what it said."""

    instructions = "You sell pizza."

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    @tool
    async def add(self, pizza: str) -> str:
        """Add a pizza."""
        return f"{pizza} added"

    @tool(when_played=True)
    async def end(self) -> None:
        """End the call."""
        self.call.hang_up()

    async def on_turn(self, text: str) -> None:
        self.told.append(("caller", text))

    async def on_response(self, text: str, interrupted: bool) -> None:
        self.told.append(("cut" if interrupted else "agent", text))


def conversation() -> UpstreamConversation:
    numbers = iter(range(1_000))
    settings = replace(call_settings(), agent_tools=TOOLS)
    limits = HistoryLimits(
        max_items=20,
        max_item_characters=50,
        max_conversation_characters=1_000,
        max_images=1,
        cuts_outputs=True,
    )
    return UpstreamConversation(
        settings, "scribe", limits, lambda prefix: f"{prefix}_{next(numbers)}", RealtimeApi()
    )


def sent(commands: list[Action]) -> list[Event]:
    return [command.event for command in commands if isinstance(command, Send)]


def kinds(commands: list[Action]) -> list[str]:
    return [event["type"] for event in sent(commands)]


def created(number: int) -> Event:
    return {"type": "response.created", "response": response(f"resp_{number}", "in_progress")}


def words(number: int, text: str = "one two three four") -> Event:
    place = {"response_id": f"resp_{number}", "item_id": f"item_{number}"}
    return {"type": "response.output_audio_transcript.delta", **place, "delta": text}


def sound(number: int) -> Event:
    return {"type": "response.output_audio.delta", "response_id": f"resp_{number}", "delta": TONE}


def done(number: int, status: str = "completed") -> Event:
    return {"type": "response.done", "response": response(f"resp_{number}", status)}


def begun_beside(number: int) -> Event:
    begun = response(f"resp_{number}", "in_progress")
    beside = {"conversation_id": None, "output_modalities": ["text"], "metadata": {"for": "notes"}}
    return {"type": "response.created", "response": {**begun, **beside}}


OUT_OF_BAND = ev.ResponseRequested(in_conversation=False, modality="text", metadata={"for": "notes"})


def written(number: int, text: str) -> Event:
    place = {"response_id": f"resp_{number}", "item_id": f"item_{number}"}
    return {"type": "response.output_text.delta", **place, "delta": text}


def called(number: int, name: str) -> Event:
    call = {"id": f"call_item_{name}", "type": "function_call", "call_id": f"call_{name}", "name": name}
    item = {**call, "arguments": "{}"}
    return {"type": "response.output_item.done", "response_id": f"resp_{number}", "item": item}


SPEAKS: Event = {"type": "input_audio_buffer.speech_started", "item_id": "item_s", "audio_start_ms": 0}


STOPS: Event = {"type": "input_audio_buffer.speech_stopped", "item_id": "item_s", "audio_end_ms": 500}


def take(call: UpstreamConversation, *events: Event) -> list[Action]:
    return [command for event in events for command in call.on_upstream_event(event)]
