"""`voiceagent init`: a configuration to begin with, in this folder."""

from __future__ import annotations

from pathlib import Path

from voiceagent.config.shipped import shipped_configs
from voiceagent.validation.errors import CommandFailed


def init(kind: str, to: Path) -> None:
    """Write one of the configurations that come with the installation; none that is there is overwritten.

    Raises CommandFailed.
    """
    shipped = shipped_configs()
    if kind not in shipped:
        raise CommandFailed(
            f"no configuration {kind!r}; allowed: {', '.join(shipped) or 'none is installed'}"
        )
    try:
        with to.open("x", encoding="utf-8") as file:
            file.write(shipped[kind].read_text(encoding="utf-8"))
    except FileExistsError as error:
        raise CommandFailed(f"{to}: there already; nothing was written") from error
    except OSError as error:
        raise CommandFailed(f"cannot write {to}: {error}") from error
