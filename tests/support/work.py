"""How much work something is: by what it calls, as a clock says more of the machine than of the code."""

from __future__ import annotations

import sys
from collections.abc import Callable


def calls(work: Callable[[], object]) -> int:
    """How many functions, of Python and of C, `work` calls; what it raises is its end."""
    count = 0

    def called(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(called)
    try:
        work()
    except Exception:
        pass
    finally:
        sys.setprofile(None)
    return count
