"""Text that running tools want spoken, and instructions of tools for the responses about their results."""

from __future__ import annotations

from collections.abc import Mapping

from voiceagent.conversation.unfinished_call import WORKING, UnfinishedCall


class ToolSpeech:
    """Updates and instructions of the calls that have not ended, and instructions of those that have.

    guidance: instructions of ended tools for the response about their results, "" for none.
    """

    def __init__(self, calls: Mapping[str, UnfinishedCall]) -> None:
        self._calls = calls
        self.guidance = ""

    def pop_guidance(self) -> str:
        """Return the instructions of ended tools and reset them, "" for none."""
        guidance, self.guidance = self.guidance, ""
        return guidance

    def on_ended(self, call: UnfinishedCall) -> None:
        """Add the instruction of a call that has ended."""
        self.guidance = f"{self.guidance}\n{call.guidance}".strip()

    def on_slow(self, call_id: str) -> str:
        """Record that a tool takes long, so that no response waits for it. Return the instruction that waited
        for its end, "" for none.
        """
        call = self._calls.get(call_id)
        if call is None:
            return ""
        call.slow = True
        guidance, call.guidance = call.guidance, ""
        return guidance

    @property
    def has_update(self) -> bool:
        """True if a running tool has an update that was not spoken."""
        return any(call.update for call in self._calls.values())

    def queue_update(self, call_id: str, text: str) -> None:
        """Queue text that a running tool wants spoken, in place of its earlier one. Ignore a call that has
        ended, or is being cancelled.
        """
        call = self._calls.get(call_id)
        if call is not None and call.phase in WORKING:
            call.update = text

    def pop_update(self) -> str:
        """Return the update of the tool that was called first, "" for none."""
        for call in self._calls.values():
            if call.update:
                text, call.update = call.update, ""
                return text
        return ""

    def hold_guidance(self, call_id: str, guidance: str) -> bool:
        """Hold an instruction of a running tool for the response about its result. Return False if none is to
        wait for the tool.
        """
        call = self._calls.get(call_id)
        if call is None or call.slow or call.phase not in WORKING:
            return False
        call.guidance = f"{call.guidance}\n{guidance}".lstrip()
        return True

    @property
    def guidance_due(self) -> bool:
        """True if an instruction of a running or ended tool waits for its response."""
        return bool(self.guidance) or any(call.guidance for call in self._calls.values())

    def pop_held_guidance(self) -> str:
        """Return the instructions that wait for the end of running tools and reset them, "" for none."""
        held = [call for call in self._calls.values() if call.guidance]
        guidance = "\n".join(call.guidance for call in held)
        for call in held:
            call.guidance = ""
        return guidance
