"""A draft model that is always wrong, with the configured one's shape and random weights, to
measure its cost.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from voiceagent.config.tables import Config
from voiceagent.validation.references import resolve_paths

DEVIATION = 0.02
"""Standard deviation of the weights, as in untrained models."""


@contextmanager
def random_draft(config: Config) -> Iterator[Path | None]:
    """Yield the folder of the draft; None if the configuration has no folder of a draft model."""
    speculative = resolve_paths(config.llm.options.get("speculative") or {}, config.source.parent)
    model = Path(str(speculative.get("model", "")))
    if speculative.get("method") != "draft_model" or not (model / "model.safetensors").is_file():
        yield None
        return
    with TemporaryDirectory(prefix="voiceagent-draft-") as folder:
        yield _randomised(model, Path(folder) / "draft")


def _randomised(model: Path, folder: Path) -> Path:
    import torch  # noqa: PLC0415 - comes with vLLM, and is slow to import
    from safetensors.torch import load_file, save_file  # noqa: PLC0415

    shutil.copytree(model, folder)
    random = torch.Generator().manual_seed(1)
    weights = {
        name: (torch.randn(weight.shape, generator=random) * DEVIATION).to(weight.dtype)
        for name, weight in load_file(model / "model.safetensors").items()
    }
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder
