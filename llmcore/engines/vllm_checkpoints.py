"""Check of a vLLM engine's checkpoints before it starts: they exist and belong together."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from llmcore.engine import LlmError


def check_model(model: str) -> None:
    """Check that `model` is a directory, is in the Hugging Face cache, or can be downloaded to it; blocking.

    Honors HF_HOME, HF_HUB_CACHE, HF_HUB_OFFLINE, HF_ENDPOINT and HF_TOKEN.

    Raises:
        LlmError: it is none of these; the text names the model, the cache and the ways out.
    """
    if Path(model).is_dir():
        return
    from huggingface_hub import constants, hf_hub_download  # noqa: PLC0415 - comes with vLLM only
    from huggingface_hub.errors import HfHubHTTPError  # noqa: PLC0415

    try:
        hf_hub_download(model, "config.json")
    except (HfHubHTTPError, OSError, ValueError) as error:
        hub = "HF_HUB_OFFLINE forbids asking the hub" if constants.HF_HUB_OFFLINE else constants.ENDPOINT
        reason = str(error).splitlines()[0].rstrip(".") + "."
        raise LlmError(
            f"{model}: not a directory, not in the cache {constants.HF_HUB_CACHE}, not from {hub}: {reason} "
            f"Ways out: give a directory with the checkpoint; or run `hf download {model}` where the hub can "
            "be reached and copy the cache here (HF_HOME says where it is). A gated model wants HF_TOKEN."
        ) from error


def check_draft(model: str, speculative: Mapping[str, Any] | None) -> None:
    """Check that a draft model exists, and that an EAGLE-3 head fits the model; blocking.

    Args:
        model: the model that the draft proposes for.
        speculative: vLLM's speculative_config.

    Raises:
        LlmError: the draft is missing or does not fit.
    """
    draft = str((speculative or {}).get("model") or "")
    if not draft:
        return
    try:
        check_model(draft)
    except LlmError as error:
        raise LlmError(f"speculative.model: {error}") from error
    if (speculative or {}).get("method") == "eagle3" and Path(draft).is_dir() and Path(model).is_dir():
        _check_head(Path(model), Path(draft))


def _check_head(model: Path, head: Path) -> None:
    """Raise LlmError if the head was trained for another model.

    vLLM would fail with a matrix shape instead.
    """
    target, config = (_config(folder) for folder in (model, head))
    made_for = f"a head trained for {model}"
    if not any("Eagle3" in str(name) for name in config.get("architectures") or ()):
        raise LlmError(
            f"speculative.model: {head} is no EAGLE-3 head: its config.json has the architectures "
            f"{config.get('architectures')}; allowed: {made_for}, with LlamaForCausalLMEagle3 or its like"
        )
    for name, own in (("hidden_size", config.get("target_hidden_size")), ("vocab_size", None)):
        found = config.get(name) if own is None else own
        if found != target.get(name):
            raise LlmError(
                f"speculative.model: {head} is for another model: {name} is {found}, and "
                f"{target.get(name)} in {model}; allowed: {made_for}"
            )


def _config(folder: Path) -> dict[str, Any]:
    try:
        document = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LlmError(f"{folder}: no checkpoint, its config.json cannot be read: {error}") from error
    return document if isinstance(document, dict) else {}
