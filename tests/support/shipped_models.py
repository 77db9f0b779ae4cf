"""The models that come with the repository, for tests that need real ones that are small."""

from __future__ import annotations

from pathlib import Path

_WEIGHTS = Path(__file__).parents[2] / "voiceagent" / "demo" / "weights"

CHECKPOINT = _WEIGHTS / "target"
"""A Llama of 7 million parameters, for vLLM and transformers."""
DRAFT = _WEIGHTS / "draft"
"""Its draft model."""
INT8 = _WEIGHTS / "ct2"
"""The same Llama for CTranslate2."""
ADAPTER = _WEIGHTS / "recognizer" / "adapter.npz"
"""Moonshine's corrections for synthetic voices and telephones."""
