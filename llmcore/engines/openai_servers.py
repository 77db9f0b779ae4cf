"""Servers of OpenAI's chat completions: their detection and their extensions.

A server is recognized by the owner of its models, and TGI by its own `/info`. Sources: documentation and code
of vLLM 0.32, SGLang 0.5, TGI 3.3, TensorRT-LLM 1.2, llama.cpp b8681.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

ServerKind = Literal["vllm", "sglang", "tgi", "tensorrt_llm", "llamacpp"]

_OWNERS: dict[str, ServerKind] = {
    "vllm": "vllm",
    "sglang": "sglang",
    "llamacpp": "llamacpp",
    "tensorrt_llm": "tensorrt_llm",
}
_UNFINISHED = {"add_generation_prompt": False, "continue_final_message": True}
"""Request fields that leave the last message of a prompt open."""
_DESCRIPTION_PATHS: dict[ServerKind | None, tuple[str, ...]] = {
    "sglang": ("/server_info", "/get_server_info"),
    "tgi": ("/info",),
    "llamacpp": ("/props",),
}

_MAX_LISTED = 20
"""Largest number of models that an error lists."""


@dataclass(frozen=True, slots=True)
class Server:
    """Capabilities of a server. kind: None if unknown, such as OpenAI's own.

    prefix_cache: it caches prompts. unfinished: fields of a request whose last message is unfinished; if
    there are none, the message is closed, and the prompt up to its last word is cached all the same. always:
    fields of every request. advice: recommendations to its operator.
    """

    kind: ServerKind | None = None
    prefix_cache: bool = False
    unfinished: Mapping[str, Any] = field(default_factory=dict)
    always: Mapping[str, Any] = field(default_factory=dict)
    advice: tuple[str, ...] = ()


def kind_of(model: str, owner: str) -> ServerKind | None:
    """Return the kind of server that lists `model` under this owner.

    TGI lists the model itself as the owner.
    """
    return "tgi" if owner == model else _OWNERS.get(owner)


def model_list(models: Sequence[str]) -> str:
    """Return the end of an error message about a model: a list of the server's models."""
    if not models:
        return "; it lists no models: base_url is to be the address up to and with /v1"
    more = len(models) - _MAX_LISTED
    others = f" and {more} more" if more > 0 else ""
    return f"; there are: {', '.join(models[:_MAX_LISTED])}{others}"


def description_paths(kind: ServerKind | None) -> tuple[str, ...]:
    """Return the paths where such a server may describe itself; the first that answers is used."""
    return _DESCRIPTION_PATHS.get(kind, ())


def server_of(kind: ServerKind | None, description: Mapping[str, Any]) -> Server:
    """Return the capabilities of a server by its kind and its description of itself (empty if none)."""
    match kind:
        case "vllm":
            return Server(kind, True, _UNFINISHED)
        case "tensorrt_llm":  # it refuses unknown fields, such as vLLM's second one
            return Server(kind, True, {"add_generation_prompt": False})
        case "tgi" if "max_stop_sequences" in description:
            return Server(kind, True)
        case "sglang":
            return _sglang(description)
        case "llamacpp":
            return _llamacpp(description)
        case _:  # possibly a gateway in front of vLLM; `prefix_cache` is then set by hand
            return Server(unfinished=_UNFINISHED)


@dataclass(frozen=True, slots=True)
class Rendering:
    """An endpoint that renders messages to a prompt.

    more: fields in addition to messages and tools. prompt_in: extracts the prompt from the answer; raises
    KeyError, TypeError.
    """

    path: str
    more: Mapping[str, Any]
    prompt_in: Callable[[Any], str]


def rendering_endpoint(kind: ServerKind | None) -> Rendering | None:
    """Return the rendering endpoint of this kind of server; None if it has none."""
    return _RENDERINGS.get(kind)


_RENDERINGS: dict[ServerKind | None, Rendering] = {
    "llamacpp": Rendering("/apply-template", {}, lambda answer: str(answer["prompt"])),
    "vllm": Rendering(
        "/tokenize",
        {"return_token_strs": True, "add_generation_prompt": True},
        # the token texts contain the tokenizers' own space characters
        lambda answer: "".join(answer["token_strs"]).replace("\u0120", " ").replace("\u2581", " "),
    ),
}


def _sglang(description: Mapping[str, Any]) -> Server:
    """Return the capabilities of SGLang, which leaves no message open but the agent's own."""
    cache = not description.get("disable_radix_cache", False)
    advice = []
    if not cache:
        advice.append("it runs with --disable-radix-cache: every prompt is read from its beginning")
    elif description and not description.get("enable_cache_report", False):
        advice.append(
            "it tells no cached tokens, and the hit rate reads 0: start it with --enable-cache-report"
        )
    return Server("sglang", cache, advice=tuple(advice))


def _llamacpp(description: Mapping[str, Any]) -> Server:
    """Return the capabilities of llama.cpp. Versions before 2025 cache a prompt only on request."""
    advice = []
    slots = description.get("total_slots")
    if isinstance(slots, int):
        advice.append(
            f"it has {slots} slots: as many calls keep their prompts in its cache (--parallel), and "
            "priority.max_running had better not be more"
        )
    if (description.get("chat_template_caps") or {}).get("supports_tools") is False:
        advice.append("its chat template knows no tools: those of the agent will not be called")
    unfinished, always = {"add_generation_prompt": False}, {"cache_prompt": True}
    return Server("llamacpp", True, unfinished, always, tuple(advice))
