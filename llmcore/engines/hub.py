"""Whether a model that is named, not given as a directory, can be had from the Hugging Face hub or its
cache."""

from __future__ import annotations

from pathlib import Path

from llmcore.engine import LlmError


def check_model(model: str) -> None:
    """Returns when `model` is a directory, or is in the cache or on the hub; blocking.

    Honours HF_HOME, HF_HUB_CACHE, HF_HUB_OFFLINE, HF_ENDPOINT and HF_TOKEN. Raises LlmError, which names the
    model, the cache that was looked in and the way out.
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
