"""Work measured by function calls, as a clock depends more on the machine than on the code."""

from __future__ import annotations

import sys
from collections.abc import Callable


def calls(work: Callable[[], object]) -> int:
    """Return the number of functions, of Python and of C, that `work` calls; an exception ends it."""
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
