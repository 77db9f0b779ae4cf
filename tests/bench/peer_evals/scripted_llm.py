"""OpenAI-compatible LLM that orders a taxi by a script, for evals of peers: python scripted_llm.py PORT"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def deltas(messages: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the deltas of the answer to a chat: a call of `order_taxi`, then words."""
    last = messages[-1]
    if last["role"] == "tool":
        yield {"content": "Your taxi comes at six."}
    elif "taxi" in str(last["content"]):
        function = {"name": "order_taxi", "arguments": '{"time": "six"}'}
        yield {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]}
    else:
        yield {"content": "Goodbye."}


class Handler(BaseHTTPRequestHandler):
    """Answers chat completions as a stream."""

    def do_POST(self) -> None:
        """Stream the answer."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        reason = "stop"
        for delta in deltas(request["messages"]):
            reason = "tool_calls" if "tool_calls" in delta else reason
            self._send({"index": 0, "delta": {"role": "assistant"} | delta, "finish_reason": None})
        self._send({"index": 0, "delta": {}, "finish_reason": reason})
        self.wfile.write(b"data: [DONE]\n\n")

    def _send(self, choice: dict[str, Any]) -> None:
        chunk = {
            "id": "1",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": "m",
            "choices": [choice],
        }
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
