"""Steps of tools in a log."""

from __future__ import annotations

from voiceagent.calls.log.tool_steps import ToolCalled, ToolSteps


def test_a_held_call_belongs_to_its_response_though_another_called_meanwhile() -> None:
    call = {"call_id": "1", "name": "book", "arguments": "{}"}
    steps = ToolSteps()
    for response_id in ("resp_1", "resp_2"):
        event = {"type": "ToolCallsReady", "response_id": response_id}
        assert not list(steps.of({"event": event, "commands": []}))
    due = {"type": "CallsDue", "response_id": "resp_1"}
    called, _ = steps.of({"event": due, "commands": [{"type": "RunTool", "call": call}]})
    assert called == ToolCalled("1", "book", "{}", "resp_1")
