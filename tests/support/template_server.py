"""A chat completions server that renders a chat template and refuses requests as real ones do."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from chat_server import chunk, event, usage_chunk
from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route


@dataclass
class TemplateServer:
    """Server that renders the template `source`.

    status: of a refusal, 400 or 500. owner: of its models. model, key: the accepted ones; "" accepts any key.
    shows: True if it shows its prompts, as llama.cpp does. takes_tools: True if it accepts tools.
    fails_with: a status for all requests.
    """

    source: str
    status: int = 400
    owner: str = "somebody"
    model: str = "tiny"
    key: str = ""
    shows: bool = False
    takes_tools: bool = True
    fails_with: int = 0
    bodies: list[dict[str, Any]] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)

    def app(self) -> Starlette:
        routes = [
            Route("/v1/chat/completions", self._complete, methods=["POST"]),
            Route("/v1/models", self._models),
        ]
        if self.shows:
            routes.append(Route("/apply-template", self._show, methods=["POST"]))
        return Starlette(routes=routes)

    async def _models(self, _: HttpRequest) -> Response:
        cards = [{"id": name, "object": "model", "owned_by": self.owner} for name in (self.model, "other")]
        return JSONResponse({"object": "list", "data": cards})

    async def _complete(self, http: HttpRequest) -> Response:
        body = await http.json()
        self.bodies.append(body)
        if self.fails_with:
            return _error(self.fails_with, "something else went wrong")
        if self.key and http.headers.get("authorization") != f"Bearer {self.key}":
            return _error(401, "Incorrect API key provided")
        if body["model"] != self.model:
            return _error(404, f"The model `{body['model']}` does not exist.")
        if body.get("tools") and not self.takes_tools:
            return _error(400, '"auto" tool choice requires --enable-auto-tool-choice to be set')
        try:
            self.prompts.append(self._render(body))
        except (TemplateError, TypeError) as error:
            return _error(self.status, f"Jinja Exception: {error}")
        events = [event(chunk({"content": "Yes."}, "stop")), event(usage_chunk(9, 0, 1)), "data: [DONE]\n\n"]
        return StreamingResponse(iter(events), media_type="text/event-stream")

    async def _show(self, http: HttpRequest) -> Response:
        return JSONResponse({"prompt": self._render(await http.json())})

    def _render(self, body: dict[str, Any]) -> str:
        def refuse(message: str) -> None:
            raise TemplateError(message)

        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.globals["raise_exception"] = refuse
        environment.filters["tojson"] = json.dumps
        template = environment.from_string(self.source)
        # arguments are text in the API and objects in templates
        for message in body["messages"]:
            for call in message.get("tool_calls", ()):
                call["function"]["arguments"] = json.loads(call["function"]["arguments"])
        return template.render(messages=body["messages"], tools=body.get("tools"), add_generation_prompt=True)


def _error(status: int, message: str) -> Response:
    return JSONResponse({"error": {"message": message, "code": status}}, status)
