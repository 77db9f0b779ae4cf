"""Which questions may be answered from the cache, with what, and whether that is still right. Pure."""
