"""Less to read: a summary in place of old turns, the relevant passages of what a tool brought. Pure."""
