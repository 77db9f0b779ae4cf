"""The log of a call, written and read; where sound stands in its recording; its sums. Pure."""
