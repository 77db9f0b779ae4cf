"""What a request tells the scheduler inside vLLM's own process, by the extra arguments of its sampling."""

from __future__ import annotations

from typing import Any

from llmcore.engine import Request

YIELDS = "llmcore_yields"
"""Its prompt is not read in steps in which a caller's is."""


def marks_of(request: Request) -> dict[str, Any]:
    """The marks that a request carries, as SamplingParams takes them: its `extra_args`."""
    return {YIELDS: True} if request.lane != "turn" else {}


def marked(vllm_request: Any, mark: str) -> bool:
    """Whether a request of vLLM's scheduler carries a mark; those that are not of ours carry none."""
    arguments = getattr(vllm_request.sampling_params, "extra_args", None)
    return bool(arguments and arguments.get(mark))
