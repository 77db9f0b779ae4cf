"""Which server speaks OpenAI's chat completions, and what it understands beside them. Pure.

A server is told by who owns its models, and TGI by its own `/info`. What stands here was read in the servers'
documentation and code: vLLM 0.32, SGLang 0.5, TGI 3.3, TensorRT-LLM 1.2, llama.cpp b8681.
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
_OPEN = {"add_generation_prompt": False, "continue_final_message": True}
"""Leaves the last message of a prompt open."""
_TELLS_AT: dict[ServerKind | None, tuple[str, ...]] = {
    "sglang": ("/server_info", "/get_server_info"),
    "tgi": ("/info",),
    "llamacpp": ("/props",),
}

_NAMED_MODELS = 20
"""Most models that an error lists."""


@dataclass(frozen=True, slots=True)
class Server:
    """What a server can do. kind: None for one that is not known, such as OpenAI's own.

    prefix_cache: it keeps what it has read. unfinished: fields of a request whose last message goes on;
    where there are none for that, it is closed, and all up to its last words is in the cache all the same.
    always: fields of every request. advice: what its operator may want to change, in words.
    """

    kind: ServerKind | None = None
    prefix_cache: bool = False
    unfinished: Mapping[str, Any] = field(default_factory=dict)
    always: Mapping[str, Any] = field(default_factory=dict)
    advice: tuple[str, ...] = ()


def kind_of(model: str, owner: str) -> ServerKind | None:
    """The server that lists `model` under this owner; TGI gives the model itself as the owner."""
    return "tgi" if owner == model else _OWNERS.get(owner)


def listed(models: Sequence[str]) -> str:
    """Return the end of an error message about a model: a list of the server's models."""
    if not models:
        return "; it lists no models: base_url is to be the address up to and with /v1"
    more = len(models) - _NAMED_MODELS
    others = f" and {more} more" if more > 0 else ""
    return f"; there are: {', '.join(models[:_NAMED_MODELS])}{others}"


def told_at(kind: ServerKind | None) -> tuple[str, ...]:
    """The paths at which such a server tells more of itself: the first that answers does."""
    return _TELLS_AT.get(kind, ())


def server_of(kind: ServerKind | None, told: Mapping[str, Any]) -> Server:
    """What a server can do, by its kind and by what it told of itself, empty where it told nothing."""
    match kind:
        case "vllm":
            return Server(kind, True, _OPEN)
        case "tensorrt_llm":  # it refuses fields that it does not know, vLLM's second among them
            return Server(kind, True, {"add_generation_prompt": False})
        case "tgi" if "max_stop_sequences" in told:
            return Server(kind, True)
        case "sglang":
            return _sglang(told)
        case "llamacpp":
            return _llamacpp(told)
        case _:  # a gateway may stand before vLLM: `prefix_cache` says so
            return Server(unfinished=_OPEN)


@dataclass(frozen=True, slots=True)
class Rendering:
    """An endpoint that renders messages to a prompt.

    more: fields in addition to messages and tools. prompt_in: extracts the prompt from the answer; raises
    KeyError, TypeError.
    """

    path: str
    more: Mapping[str, Any]
    prompt_in: Callable[[Any], str]


def rendering_of(kind: ServerKind | None) -> Rendering | None:
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


def _sglang(told: Mapping[str, Any]) -> Server:
    """It keeps no message open but the agent's own."""
    cache = not told.get("disable_radix_cache", False)
    advice = []
    if not cache:
        advice.append("it runs with --disable-radix-cache: every prompt is read from its beginning")
    elif told and not told.get("enable_cache_report", False):
        advice.append(
            "it tells no cached tokens, and the hit rate reads 0: start it with --enable-cache-report"
        )
    return Server("sglang", cache, advice=tuple(advice))


def _llamacpp(told: Mapping[str, Any]) -> Server:
    """Versions before 2025 keep a prompt only where they are told to."""
    advice = []
    slots = told.get("total_slots")
    if isinstance(slots, int):
        advice.append(
            f"it has {slots} slots: as many calls keep their prompts in its cache (--parallel), and "
            "priority.max_running had better not be more"
        )
    if (told.get("chat_template_caps") or {}).get("supports_tools") is False:
        advice.append("its chat template knows no tools: those of the agent will not be called")
    unfinished, always = {"add_generation_prompt": False}, {"cache_prompt": True}
    return Server("llamacpp", True, unfinished, always, tuple(advice))
