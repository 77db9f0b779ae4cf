"""A logged call taken again: as it was, or as it would have been. Pure."""
