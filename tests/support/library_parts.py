"""Parts of libraries that their makers may change: missing ones are named, with who needs them."""

from __future__ import annotations

from importlib.metadata import version


def assert_parts(library: str, owner: object, *names: str, user: str) -> None:
    """Fail in words if `owner`, of `library`, lacks one of `names`, which our file `user` uses."""
    missing = [name for name in names if not hasattr(owner, name)]
    where = getattr(owner, "__name__", type(owner).__name__)
    assert not missing, (
        f"{library} {version(library)} has changed: {where} has no {', '.join(missing)}. "
        f"Mend {user}, or hold {library} back in pyproject.toml."
    )
